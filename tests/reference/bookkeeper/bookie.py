"""What one bookie has of one ledger, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from .quorums import FOUND, NO, UNKNOWN

OK, FENCED = "OK", "LedgerFenced"
NO_LAC = -1


@dataclass
class Bookie:
    """Entries with the LAC that their headers carry, the fence, and what of both is on disk without the journal.

    In limbo (BP-46) the bookie doesn't know what it lost: where it would say no it says that it doesn't know. `beside`: ids that
    were copied to it though they aren't of its share; they lie on its disk, and nobody asks for them.
    """

    broker: int
    entries: dict[int, int] = field(default_factory=dict)
    fenced: bool = False
    explicit_lac: int = NO_LAC
    limbo: bool = False
    flushed_entries: dict[int, int] = field(default_factory=dict)
    flushed_fence: bool = False
    beside: set[int] = field(default_factory=set)

    @property
    def on_disk(self) -> set[int]:
        """The ids of all that lies on its disk."""
        return self.beside.union(self.entries)

    @property
    def knows_ledger(self) -> bool:
        """It has an entry or a fence of the ledger; a bookie that doesn't answers NoSuchLedger, which is a no."""
        return bool(self.entries) or self.fenced

    @property
    def last_entry(self) -> int | None:
        """The largest entry that it has, whatever is missing below."""
        return max(self.entries, default=None)

    @property
    def header_lac(self) -> int:
        """The LAC in the header of its last entry."""
        return NO_LAC if self.last_entry is None else self.entries[self.last_entry]

    @property
    def lac(self) -> int:
        """What it knows to be confirmed: the header of its last entry, or an explicit LAC above that."""
        return max(self.header_lac, self.explicit_lac)

    def add(self, entry: int, lac: int, recovery: bool) -> str:
        """Take an entry; what it has already it keeps, header and all. Only recovery adds pass the fence."""
        if self.fenced and not recovery:
            return FENCED
        self.entries.setdefault(entry, lac)
        return OK

    def read(self, entry: int) -> str:
        """Answer a read."""
        if entry in self.entries:
            return FOUND
        return UNKNOWN if self.limbo else NO

    def flush(self) -> None:
        """Everything it has now survives without a journal too."""
        self.flushed_entries, self.flushed_fence = dict(self.entries), self.fenced

    def lose_unflushed(self) -> list[int]:
        """Fall back to what was flushed; return the entries that are gone."""
        gone = sorted(set(self.entries) - set(self.flushed_entries))
        self.entries, self.fenced = dict(self.flushed_entries), self.flushed_fence
        self.explicit_lac = NO_LAC
        return gone

    def lose_everything(self) -> list[int]:
        """The disk is gone; return the entries that are gone with it."""
        self.flushed_entries, self.flushed_fence = {}, False
        self.beside.clear()
        return self.lose_unflushed()
