"""The metadata of one ledger, as the metadata store has it. Every change is a compare-and-set on what it says now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

OPEN, IN_RECOVERY, CLOSED = "OPEN", "IN_RECOVERY", "CLOSED"


@dataclass
class Fragment:
    """From its first entry on, until the next fragment's, entries go to this ensemble. `cause`: the fault behind a change."""

    first_entry: int
    ensemble: list[int]
    cause: int | None = None


@dataclass
class Metadata:
    """State, fragments in the order in which they were added, the last entry once closed, and how often it was written."""

    fragments: list[Fragment]
    state: str = OPEN
    last_entry: int | None = None
    writes: int = 0
    closed_by: str | None = None
    close_cause: int | None = None
    recovering: list[str] = field(default_factory=list)

    @property
    def last(self) -> Fragment:
        """The fragment added last."""
        return self.fragments[-1]

    def copy_of_fragments(self) -> list[Fragment]:
        """The fragments as a client that opens the ledger now knows them."""
        return [Fragment(fragment.first_entry, list(fragment.ensemble)) for fragment in self.fragments]

    def put_ensemble(self, first_entry: int, ensemble: Sequence[int], cause: int | None = None) -> None:
        """Entries from `first_entry` on go to this ensemble: a new fragment, or another ensemble of that very fragment."""
        put_ensemble(self.fragments, first_entry, ensemble, cause)
        self.writes += 1

    def mark_in_recovery(self) -> None:
        """OPEN becomes IN_RECOVERY; another recovery may have done it."""
        if self.state == OPEN:
            self.state = IN_RECOVERY
            self.writes += 1

    def close(self, last_entry: int, by: str, cause: int | None = None) -> None:
        """CLOSED for good."""
        self.state, self.last_entry, self.closed_by, self.close_cause = CLOSED, last_entry, by, cause
        self.writes += 1


def put_ensemble(fragments: list[Fragment], first_entry: int, ensemble: Sequence[int], cause: int | None = None) -> None:
    """Add a fragment at the end, or replace the ensemble of the one that starts at this entry."""
    for fragment in fragments:
        if fragment.first_entry == first_entry:
            fragment.ensemble, fragment.cause = list(ensemble), cause
            return
    fragments.append(Fragment(first_entry, list(ensemble), cause))


def fragment_of(fragments: Sequence[Fragment], entry: int) -> Fragment:
    """The fragment that the entry lies in."""
    return max((one for one in fragments if one.first_entry <= entry), key=lambda one: one.first_entry)


def fragment_end(fragments: Sequence[Fragment], fragment: Fragment, end: int) -> int:
    """The exclusive end of a fragment, in a ledger of `end` entries."""
    return min((one.first_entry for one in fragments if one.first_entry > fragment.first_entry), default=end)
