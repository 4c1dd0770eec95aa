"""Who holds an entry, and how many answers are enough: the arithmetic of ensemble size E, write quorum Qw, ack quorum Qa.

Indices are places in an ensemble, not bookie ids.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

FOUND, NO, UNKNOWN = "found", "no", "unknown"
"""Answers to a read. `no` is said by a bookie (NoSuchEntry, NoSuchLedger); anything else that isn't the entry is unknown."""

RECOVERED, END, RETRY = "recovered", "end", "retry"


@dataclass(frozen=True)
class Quorums:
    """The three sizes of a ledger."""

    ensemble: int
    write: int
    ack: int

    def __post_init__(self) -> None:
        if not self.ensemble >= self.write >= self.ack >= 1:
            raise ValueError(f"E >= Qw >= Qa >= 1, not {self.ensemble}/{self.write}/{self.ack}")

    @property
    def missing(self) -> int:
        """So many bookies of a write set without an entry, and it can't have been acknowledged: Qf."""
        return self.write - self.ack + 1

    def write_set(self, entry: int) -> list[int]:
        """The indices that get the entry, in the order in which a recovery asks them."""
        return [(entry + i) % self.ensemble for i in range(self.write)]

    def holds(self, index: int, entry: int) -> bool:
        """Tell whether the bookie at `index` gets the entry."""
        return (index - entry) % self.ensemble < self.write

    def covered(self, heard: Collection[int], needed: int | None = None) -> bool:
        """Tell whether no entry can be acknowledged any more, or has been, without one of `heard` having it.

        `needed` of every Qw neighbours must have been heard: Qf of them, unless a mutant says otherwise.
        """
        needed = self.missing if needed is None else needed
        return all(sum(index in heard for index in self.write_set(entry)) >= needed for entry in range(self.ensemble))

    def covered_subsets(self) -> tuple[int, int]:
        """How many subsets of the ensemble are covered, and the size of the smallest of them."""
        subsets = [heard for size in range(self.ensemble + 1) for heard in combinations(range(self.ensemble), size)]
        covered = [heard for heard in subsets if self.covered(heard)]
        return len(covered), min(len(heard) for heard in covered)


def read_verdict(answers: Sequence[str], needed: int) -> tuple[str, int]:
    """What a recovery concludes from the answers of a write set, in its order, and how many it had to ask.

    The first copy found is enough; so are `needed` explicit `no`s. Everything else has to be tried again.
    """
    said_no = 0
    for asked, answer in enumerate(answers, start=1):
        if answer == FOUND:
            return RECOVERED, asked
        said_no += answer == NO
        if said_no >= needed:
            return END, asked
    return RETRY, len(answers)
