"""BookKeeper's invariants as data: name, SQL predicate that finds a violation, what it says, source.

`EVERY_ROUND` are looked at after every round in which a ledger was busy (check_invariants.py); an ordinary round, in which all
bookies that are asked store and answer, breaks none. `unreadable`: the first acknowledged entry that no bookie of its write set
has, `missing`: the first such entry within a closed ledger, null if there is none; both are looked for among the entries that
this round may have changed. `AT_THE_END` are looked at in what a run leaves (outcomes/ledger_violations.py). What bookies lost
to a fault (`impaired`) is no fault of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass

from emulator.expressions.bookkeeper.state import CLOSED, DONE, FAILED, OPEN, WRITING
from emulator.expressions.bookkeeper.texts import last_of

_SPEC = "Vanlightly/bookkeeper-tlaplus, BookKeeperProtocol"
_CLOSED = f"ledger_state = {CLOSED}"


@dataclass(frozen=True)
class LedgerInvariant:
    """One invariant. `violated`: SQL, true where it is broken; `says`: what must hold; `source`: who says so."""

    name: str
    says: str
    violated: str
    source: str


_LAST_START = "coalesce(array_max(transform(recoveries, r_ -> r_.started_round)), 0)"
_HIGHER = "get(fragments, i_).first_entry > get(fragments, i_ - 1).first_entry"
_RISE = f"aggregate(sequence(1, size(fragments) - 1), true, (ok_, i_) -> ok_ AND {_HIGHER})"
_WROTE_ELSEWHERE = f"exists(recoveries, r_ -> r_.closed_round = round AND r_.ensemble != {last_of('fragments')}.ensemble)"

EVERY_ROUND: tuple[LedgerInvariant, ...] = (
    LedgerInvariant(
        "AllAckedEntriesAreReadable",
        "every acknowledged entry is within the ledger and on a bookie of its write set, whether or not that one is up",
        f"({_CLOSED} AND lac > last_entry) OR (NOT impaired AND unreadable IS NOT NULL)",
        f"{_SPEC}: AllAckedEntriesAreReadable; shared protocol rules, section 6",
    ),
    LedgerInvariant(
        "OnlyValidFragments",
        "fragments start at 0 and then ever higher, at most one above the last entry; an ensemble has E bookies",
        f"get(fragments, 0).first_entry != 0 OR (size(fragments) > 1 AND NOT {_RISE})"
        f" OR ({_CLOSED} AND {last_of('fragments')}.first_entry > last_entry + 1)"
        " OR exists(fragments, p_ -> size(array_distinct(p_.ensemble)) != feed.ensemble_size)",
        f"{_SPEC}: OnlyValidFragments",
    ),
    LedgerInvariant(
        "NoOutOfOrderEntries",
        "a closed ledger has no gap, and nothing that was not written",
        f"{_CLOSED} AND ((NOT impaired AND missing IS NOT NULL) OR last_entry >= next_entry)",
        f"{_SPEC}: NoOutOfOrderEntries",
    ),
    LedgerInvariant(
        "NoDivergenceBetweenClientAndMetaData",
        "no client thinks otherwise of the ledger than the metadata: neither of its end nor of the ensemble that it writes to",
        f"({_CLOSED} AND lac > last_entry) OR (ledger_state = {OPEN} AND writer_state = {WRITING} AND changing IS NULL"
        f" AND ensemble != {last_of('fragments')}.ensemble) OR {_WROTE_ELSEWHERE}"
        f" OR exists(recoveries, r_ -> r_.phase = {DONE} AND r_.lac != last_entry)",
        f"{_SPEC}: NoDivergenceBetweenClientAndMetaData",
    ),
    LedgerInvariant(
        "RecoveredLacCoversAcked",
        "a ledger that a recovery closed has what was acknowledged, and what Qa bookies had when it was done fencing",
        f"{_CLOSED} AND closed_by >= 0 AND greatest(lac, coalesce(get(recoveries, closed_by).written, -1L)) > last_entry",
        "shared protocol rules, section 6",
    ),
)

OF_TOPICS: tuple[LedgerInvariant, ...] = (
    LedgerInvariant(
        "AckedMessagesAreListed",
        "a topic's acknowledged messages stand in ledgers of its list, until retention deletes these",
        "coalesce(dropped_round IS NOT NULL AND deleted_round IS NULL AND lac >= 0, false)",
        "Pulsar, ManagedLedgerImpl: the list of ledgers is written by compare-and-set; shared notes on logs from ledgers",
    ),
)
"""Looked at every round as well, in runs with topics that are lists of ledgers."""

AT_THE_END: tuple[LedgerInvariant, ...] = (
    LedgerInvariant(
        "RecoveryEnds",
        "a ledger that is to be recovered is closed, if nothing happened for long enough",
        f"NOT {_CLOSED} AND greatest(quiet_from, {_LAST_START}) + feed.add_timeout + feed.read_timeout + 8"
        " + 2 * greatest(next_entry, coalesce(array_max(transform(recoveries, r_ -> r_.lac + 1)), 0L)) < round"
        f" AND exists(recoveries, r_ -> r_.retry AND r_.phase NOT IN ({DONE}, {FAILED}))",
        f"{_SPEC}: liveness",
    ),
)

INVARIANTS = EVERY_ROUND + OF_TOPICS + AT_THE_END
