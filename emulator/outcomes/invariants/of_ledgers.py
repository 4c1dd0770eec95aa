"""What runs of ledgers are held against."""

from __future__ import annotations

from emulator.outcomes.invariants.invariant import Invariant

OF_LEDGERS: tuple[Invariant, ...] = (
    Invariant(
        "AllAckedEntriesAreReadable",
        "every acknowledged entry is within the ledger and on a bookie of its write set, whether or not that one is up",
        "(ledger_state = 2 AND lac > last_entry) OR (NOT impaired AND unreadable IS NOT NULL)",
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: AllAckedEntriesAreReadable; shared protocol rules, section 6",
    ),
    Invariant(
        "OnlyValidFragments",
        "fragments start at 0 and then ever higher, at most one above the last entry; an ensemble has E bookies",
        (
            "get(fragments, 0).first_entry != 0 OR (size(fragments) > 1 AND NOT aggregate(sequence(1, size(fragments)"
            " - 1), true, (ok_, i_) -> ok_ AND get(fragments, i_).first_entry > get(fragments, i_ - 1).first_entry))"
            " OR (ledger_state = 2 AND element_at(fragments, -1).first_entry > last_entry + 1) OR exists(fragments,"
            " p_ -> size(array_distinct(p_.ensemble)) != feed.ensemble_size)"
        ),
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: OnlyValidFragments",
    ),
    Invariant(
        "NoOutOfOrderEntries",
        "a closed ledger has no gap, and nothing that was not written",
        "ledger_state = 2 AND ((NOT impaired AND missing IS NOT NULL) OR last_entry >= next_entry)",
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: NoOutOfOrderEntries",
    ),
    Invariant(
        "NoDivergenceBetweenClientAndMetaData",
        "no client thinks otherwise of the ledger than the metadata: neither of its end nor of the ensemble that it writes to",
        (
            "(ledger_state = 2 AND lac > last_entry) OR (ledger_state = 0 AND writer_state = 0 AND changing IS NULL"
            " AND ensemble != element_at(fragments, -1).ensemble) OR exists(recoveries, r_ -> r_.closed_round = round"
            " AND r_.ensemble != element_at(fragments, -1).ensemble) OR exists(recoveries, r_ -> r_.phase = 5 AND"
            " r_.lac != last_entry)"
        ),
        "every round",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: NoDivergenceBetweenClientAndMetaData",
    ),
    Invariant(
        "RecoveredLacCoversAcked",
        "a ledger that a recovery closed has what was acknowledged, and what Qa bookies had when it was done fencing",
        "ledger_state = 2 AND closed_by >= 0 AND greatest(lac, coalesce(get(recoveries, closed_by).written, -1L)) > last_entry",
        "every round",
        "shared protocol rules, section 6",
    ),
    Invariant(
        "AckedMessagesAreListed",
        "a topic's acknowledged messages stand in ledgers of its list, until retention deletes these",
        "coalesce(dropped_round IS NOT NULL AND deleted_round IS NULL AND lac >= 0, false)",
        "every round",
        "Pulsar, ManagedLedgerImpl: the list of ledgers is written by compare-and-set; shared notes on logs from ledgers",
    ),
    Invariant(
        "RecoveryEnds",
        "a ledger that is to be recovered is closed, if nothing happened for long enough",
        (
            "NOT ledger_state = 2 AND greatest(quiet_from, coalesce(array_max(transform(recoveries, r_ ->"
            " r_.started_round)), 0)) + feed.add_timeout + feed.read_timeout + 8 + 2 * greatest(next_entry,"
            " coalesce(array_max(transform(recoveries, r_ -> r_.lac + 1)), 0L)) < round AND exists(recoveries, r_ ->"
            " r_.retry AND r_.phase NOT IN (5, 6))"
        ),
        "end",
        "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol: liveness",
    ),
)
"""BookKeeper's."""
