"""A replica's log, record by record, with its leader-epoch cache and its active segment.

Choices where docs/kafka_rounds.md is silent (each is what Kafka does, unless said otherwise):

* When the log start rises, the epoch cache is truncated from its start: the floor entry is rewritten to the new log
  start (LeaderEpochFileCache.truncateFromStart).
* A truncation below the log start takes the log start along (UnifiedLog.truncateTo).
* A truncation into the active segment takes the bytes of the cut records off it; one at or below its base leaves an
  empty active segment at the new LEO (a simplification: Kafka would go back into the segment before).
* A truncation lowers the flushed offset to the new LEO if above.
* Initial records lie flushed in one segment that began in round 0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

UNDEFINED = (-1, -1)


class Record(NamedTuple):
    """One record; `batch` is the same for the records of one batch and for no others."""

    epoch: int
    offset: int
    batch: tuple[int, int, int]
    size_bytes: int

    @property
    def key(self) -> tuple[int, int]:
        """What a record is: (epoch, offset)."""
        return self.epoch, self.offset


key_of = itemgetter(0, 1)
"""`Record.key` of a record, for many of them: without a call of Python for each."""
_size_bytes = itemgetter(3)


def bytes_of(records: Iterable[Record]) -> int:
    """How large some records are together."""
    return sum(map(_size_bytes, records))


class EpochCache:
    """A list of (epoch, start offset), both strictly rising (LeaderEpochFileCache)."""

    def __init__(self, entries: Iterable[Sequence[int]] = ()) -> None:
        self.entries: list[tuple[int, int]] = [(epoch, start) for epoch, start in entries]

    @property
    def latest(self) -> int | None:
        """The last epoch, or None when the cache is empty."""
        return self.entries[-1][0] if self.entries else None

    def assign(self, epoch: int, start: int) -> None:
        """Add an epoch, removing entries at the same or a higher epoch or offset; a last epoch keeps its start."""
        if self.entries and self.entries[-1][0] == epoch and start >= self.entries[-1][1]:
            return
        self.entries = [entry for entry in self.entries if entry[0] < epoch and entry[1] < start]
        self.entries.append((epoch, start))

    def truncate_from_end(self, offset: int) -> None:
        """Drop entries that start at or above `offset`."""
        self.entries = [entry for entry in self.entries if entry[1] < offset]

    def truncate_from_start(self, offset: int) -> None:
        """Drop entries that start at or below `offset`; the last of them comes back with `offset` as its start."""
        dropped = [entry for entry in self.entries if entry[1] <= offset]
        if dropped:
            self.entries = [(dropped[-1][0], offset), *self.entries[len(dropped) :]]

    def end_offset_for(self, epoch: int, leo: int) -> tuple[int, int]:
        """Answer (largest epoch <= `epoch`, where it ends); UNDEFINED above the last epoch or without entries."""
        if not self.entries or epoch > self.entries[-1][0]:
            return UNDEFINED
        if epoch == self.entries[-1][0]:
            return epoch, leo
        if epoch < self.entries[0][0]:
            return epoch, self.entries[0][1]
        at = bisect_right([known for known, _ in self.entries], epoch)
        return self.entries[at - 1][0], self.entries[at][1]

    def epoch_of(self, offset: int) -> int | None:
        """The epoch that the cache gives to the record at `offset`."""
        for epoch, start in reversed(self.entries):
            if start <= offset:
                return epoch
        return None


@dataclass
class Log:
    """Records from `log_start` to `leo` (exclusive), all of them, and what was flushed of them."""

    log_start: int = 0
    leo: int = 0
    records: list[Record] = field(default_factory=list)
    cache: EpochCache = field(default_factory=EpochCache)
    flushed: int = 0
    segment_base: int = 0
    segment_bytes: int = 0
    segment_first_round: int = 0

    @property
    def local_log_start(self) -> int:
        """First offset that the replica has itself: the log start, unless older segments are tiered (tiered/)."""
        return self.log_start

    def record_at(self, offset: int) -> Record | None:
        """The record at `offset`, or None outside of what the replica has itself."""
        first = self.local_log_start
        return self.records[offset - first] if first <= offset < self.leo else None

    def holds(self, record: Record) -> bool:
        """Tell whether this log has the record: the same epoch at its offset."""
        mine = self.record_at(record.offset)
        return self.is_tiered_or_expired(*record.key) if mine is None else mine.epoch == record.epoch

    def is_tiered_or_expired(self, epoch: int, offset: int) -> bool:
        """Tell whether a record that the replica does not have itself is in remote storage, or was there and expired."""
        return False

    def whole(self, from_offset: int = 0) -> list[Record]:
        """All records from `from_offset` on; of those that are in remote storage only it has no more than what they are."""
        remote = range(max(from_offset, self.log_start), self.local_log_start)
        epochs = [(self.cache.epoch_of(offset), offset) for offset in remote]
        known = [Record(epoch, offset, (-1, epoch, offset), 0) for epoch, offset in epochs if epoch is not None]
        return known + self.slice(from_offset, self.leo)

    def slice(self, from_offset: int, to_offset: int) -> list[Record]:
        """Records in [from_offset, to_offset), as far as the log has them."""
        local = self.local_log_start
        first, end = from_offset - local, to_offset - local
        return self.records[first if first > 0 else 0 : end if end > 0 else 0]

    def batches_from(self, offset: int) -> list[list[Record]]:
        """The batches at and after `offset`; of a batch that began below it, the rest."""
        return [list(batch) for _, batch in groupby(self.slice(offset, self.leo), attrgetter("batch"))]

    def roll_if_due(self, chunk_bytes: int, round_: int, segment_bytes: int, segment_rounds: int) -> bool:
        """Start a new segment for a chunk that is too big for the active one, or came too late for it."""
        if self.leo == self.segment_base:
            return False
        too_big = self.segment_bytes + chunk_bytes > segment_bytes
        if not too_big and round_ - self.segment_first_round < segment_rounds:
            return False
        self._start_segment(self.leo)
        self.flushed = max(self.flushed, self.leo)
        return True

    def append(self, chunk: Sequence[Record], size_bytes: int, round_: int) -> None:
        """Append records that continue the log, so many bytes together, and take their epochs into the cache."""
        if self.leo == self.segment_base:
            self.segment_first_round = round_
        epoch = None
        for offset, record in enumerate(chunk, self.leo):
            assert record.offset == offset, "a log has no gaps"
            if record.epoch != epoch:
                epoch = record.epoch
                self.cache.assign(epoch, offset)
        self.leo += len(chunk)
        self.segment_bytes += size_bytes
        self.records += chunk

    def truncate_to(self, offset: int) -> int:
        """Cut everything from `offset` on, in the cache also at the LEO. Returns records cut."""
        self.cache.truncate_from_end(offset)
        if offset >= self.leo:
            return 0
        cut = self.slice(offset, self.leo)
        del self.records[len(self.records) - len(cut) :]
        self.leo = offset
        self.log_start = min(self.log_start, offset)
        self.flushed = min(self.flushed, offset)
        if offset > self.segment_base:
            self.segment_bytes -= bytes_of(cut)
        else:
            self._start_segment(offset)
        return len(cut)

    def lose_unflushed(self) -> int:
        """Power loss: keep what was flushed, and never less than the log start. Returns records cut."""
        return self.truncate_to(max(min(self.leo, self.flushed), self.local_log_start))

    def restart_at(self, offset: int) -> int:
        """Empty the log and start it anew at `offset`. Returns records cut."""
        cut = len(self.records)
        self.records.clear()
        self.cache = EpochCache()
        self.log_start = self.leo = self.flushed = offset
        self._start_segment(offset)
        return cut

    def raise_log_start(self, offset: int) -> None:
        """Forget records below `offset`."""
        del self.records[: offset - self.log_start]
        self.log_start = offset
        self.cache.truncate_from_start(offset)

    def _start_segment(self, base: int) -> None:
        self.segment_base = base
        self.segment_bytes = 0


def initial_log(log_start: int, leo: int, epochs: Sequence[Sequence[int]], flushed: int | None, record_bytes: int) -> Log:
    """A log as a scenario gives it: every record a batch of its own."""
    cache = EpochCache(epochs)
    records = []
    for offset in range(log_start, leo):
        epoch = cache.epoch_of(offset)
        assert epoch is not None, "an initial record without an epoch"
        records.append(Record(epoch, offset, (-1, epoch, offset), record_bytes))
    return Log(
        log_start=log_start,
        leo=leo,
        records=records,
        cache=cache,
        flushed=leo if flushed is None else flushed,
        segment_base=log_start,
        segment_bytes=record_bytes * len(records),
    )
