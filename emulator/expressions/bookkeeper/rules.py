"""The guards of the BookKeeper protocol, one flag each: all of them on is BookKeeper, one of them off is a mutant.

Scenarios of several protocols run in one job: a rule that only some of them have is a test of `feed.protocol`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.expressions.mixed_rules import holds


@dataclass(frozen=True)
class Rules:
    """Which guards hold; the numbers are the steps of docs/bookkeeper_rounds.md.

    recovery_reads_fence (6): a bookie that a recovery asks for an entry is fenced by the question. Off (BookKeeper 4.13): only
    the first question, for the LAC, fences.
    no_is_an_answer (6): NoSuchEntry counts towards the end of the log. Off: it counts as unknown.
    unknown_is_no_answer (6): an error or silence counts for nothing. Off: it counts as NoSuchEntry.
    lac_floor (2, 6): a recovery starts no lower than the last fragment does. Off (BookKeeper 4.13): at the LAC that it heard.
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


MUTANT_PREFIX = "bookkeeper-mutant-"

RULES: dict[str, Rules] = {
    "bookkeeper": Rules(),
    MUTANT_PREFIX + "recovery-reads-do-not-fence": Rules(recovery_reads_fence=False),
    MUTANT_PREFIX + "no-such-entry-as-unknown": Rules(no_is_an_answer=False),
    MUTANT_PREFIX + "unknown-as-no-such-entry": Rules(unknown_is_no_answer=False),
    MUTANT_PREFIX + "no-lac-floor": Rules(lac_floor=False),
    MUTANT_PREFIX + "close-at-lac": Rules(recover_tail=False),
    MUTANT_PREFIX + "ack-quorum-as-fence-quorum": Rules(enough_missing=False),
    MUTANT_PREFIX + "limbo-says-no": Rules(limbo_is_unknown=False),
    MUTANT_PREFIX + "damaged-not-fenced": Rules(damaged_are_fenced=False),
    MUTANT_PREFIX + "list-not-checked": Rules(list_is_checked=False),
}
"""Protocol name -> rules; a protocol's place here is `feed.protocol`."""

PROTOCOL_NUMBERS = {name: number for number, name in enumerate(RULES)}


@dataclass(frozen=True)
class LedgerRules:
    """The rules of all protocols in a run, and which optional parts of a round it has: no expression speaks of the others.

    `racks`: a ledger asks for racks. `repairs`: copies are made (docs/bookkeeper_rounds.md, Limbo and Repair). `topics`: there
    are topics with lists of ledgers (Topics). `offloads`: some of them go to a remote store (Offloading).
    """

    protocols: tuple[str, ...] = field(default=("bookkeeper",))
    racks: bool = True
    repairs: bool = False
    topics: bool = False
    offloads: bool = False

    @property
    def nested_counters(self) -> tuple[str, ...]:
        """What is copied, and how far."""
        return ("copies", "replacements") if self.repairs else ()

    @property
    def works_in_functions(self) -> bool:
        """Its arrays are as small as the ensembles."""
        return False

    def holds(self, rule: str) -> str:
        """SQL text: whether the row's protocol has the rule; a constant where all or none of the run's have it."""
        return holds(RULES, self.protocols, rule)
