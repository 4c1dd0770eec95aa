"""The guards of the BookKeeper protocol, one flag each: all of them on is BookKeeper, one of them off is a mutant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """Which guards hold; the numbers are the steps of docs/bookkeeper_rounds.md.

    recovery_reads_fence (4): a bookie that a recovery asks for an entry is fenced by the question. Off (BookKeeper 4.13):
    only the first question, for the LAC, fences.

    no_is_an_answer (6): NoSuchEntry counts towards the end of the log. Off: it counts as unknown.

    unknown_is_no_answer (6): an error or silence counts for nothing. Off: it counts as NoSuchEntry.

    lac_floor (6): a recovery starts no lower than the last fragment does. Off (BookKeeper 4.13): at the LAC that it heard.

    recover_tail (6): entries above the LAC are looked for. Off: the ledger is closed at the LAC that was heard.

    enough_missing (6): Qf = Qw - Qa + 1 answers of every write set end fencing, Qf explicit `no`s end the log. Off: Qa.

    limbo_is_unknown (1): a damaged bookie that is back doesn't say no of what it may have lost. Off: it does.

    damaged_are_fenced (1): a damaged bookie that is back is fenced, since it may have lost a fence. Off: it isn't.

    list_is_checked (Topics): a ledger is added to the list only if it is the list that the owner knows. Off: the owner writes the
    list that it knows, with its own ledger at the end, over what is there.
    """

    recovery_reads_fence: bool = True
    no_is_an_answer: bool = True
    unknown_is_no_answer: bool = True
    lac_floor: bool = True
    recover_tail: bool = True
    enough_missing: bool = True
    limbo_is_unknown: bool = True
    damaged_are_fenced: bool = True
    list_is_checked: bool = True


REAL = Rules()

MUTANTS: dict[str, Rules] = {
    "recovery-reads-do-not-fence": Rules(recovery_reads_fence=False),
    "no-such-entry-as-unknown": Rules(no_is_an_answer=False),
    "unknown-as-no-such-entry": Rules(unknown_is_no_answer=False),
    "no-lac-floor": Rules(lac_floor=False),
    "close-at-lac": Rules(recover_tail=False),
    "ack-quorum-as-fence-quorum": Rules(enough_missing=False),
    "limbo-says-no": Rules(limbo_is_unknown=False),
    "damaged-not-fenced": Rules(damaged_are_fenced=False),
    "list-not-checked": Rules(list_is_checked=False),
}

OF_DAMAGE = ("limbo-says-no", "damaged-not-fenced")
"""Mutants that differ only where bookies lose something (schedules.py: lossy_schedule)."""

OF_TOPICS = ("list-not-checked",)
"""Mutants that differ only where a topic has several ledgers (topics.py)."""
