"""The guards of the BookKeeper protocol, one flag each: all of them on is BookKeeper, one of them off is a mutant.

Scenarios of several protocols run in one job: a rule that only some of them have is a test of `feed.protocol`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.rounds.mixed_rules import holds


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
    """

    recovery_reads_fence: bool = True
    no_is_an_answer: bool = True
    unknown_is_no_answer: bool = True
    lac_floor: bool = True
    recover_tail: bool = True
    enough_missing: bool = True


MUTANT_PREFIX = "bookkeeper-mutant-"

RULES: dict[str, Rules] = {
    "bookkeeper": Rules(),
    MUTANT_PREFIX + "recovery-reads-do-not-fence": Rules(recovery_reads_fence=False),
    MUTANT_PREFIX + "no-such-entry-as-unknown": Rules(no_is_an_answer=False),
    MUTANT_PREFIX + "unknown-as-no-such-entry": Rules(unknown_is_no_answer=False),
    MUTANT_PREFIX + "no-lac-floor": Rules(lac_floor=False),
    MUTANT_PREFIX + "close-at-lac": Rules(recover_tail=False),
    MUTANT_PREFIX + "ack-quorum-as-fence-quorum": Rules(enough_missing=False),
}
"""Protocol name -> rules; a protocol's place here is `feed.protocol`."""

PROTOCOL_NUMBERS = {name: number for number, name in enumerate(RULES)}


@dataclass(frozen=True)
class LedgerRules:
    """The rules of all protocols in a run; `racks`: a ledger of it asks for racks. Else no expression speaks of them."""

    protocols: tuple[str, ...] = field(default=("bookkeeper",))
    racks: bool = True

    @property
    def nested_counters(self) -> tuple[str, ...]:
        """None: no column of a ledger has counters within."""
        return ()

    def holds(self, rule: str) -> str:
        """SQL text: whether the row's protocol has the rule; a constant where all or none of the run's have it."""
        return holds(RULES, self.protocols, rule)
