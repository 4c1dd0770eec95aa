"""A replica's log as segments: what is rolled, cut off its end, and deleted from its front.

Choices where docs/tiered_rounds.md is silent:

* A truncation goes back into the segment it cuts, which is active again with its old age (LocalLog.truncateTo). The plain
  round starts an empty segment there instead; without tiered storage and retention nobody can tell.
* A truncation below the first segment empties the log, and takes the log start to the offset (UnifiedLog.truncateTo).
* The records of a segment that lie below the log start count in its bytes until it goes as a whole.
* Initial records were written in round 0. Without `segments` they are one segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..log import EpochCache, Log, Record, bytes_of, initial_log


@dataclass
class Segment:
    """One segment on a replica's disk; `last_round` is that of its newest record, None: it is empty."""

    base_offset: int
    size_bytes: int = 0
    first_round: int = 0
    last_round: int | None = None


@dataclass
class TieredLog(Log):
    """A log whose front may have gone from the replica's own disk; `segments` are those still there, the last is active."""

    segments: list[Segment] = field(default_factory=lambda: [Segment(0)])
    rounds_below: dict[int, int] = field(default_factory=dict)
    """Of records that are no longer in the log the round: they may still date a segment that is cut back to them."""

    @property
    def local_log_start(self) -> int:
        """The first offset on disk that is not below the log start."""
        base, start = self.segments[0].base_offset, self.log_start
        return base if base > start else start

    @property
    def size_bytes(self) -> int:
        """Bytes on the replica's disk."""
        return sum(segment.size_bytes for segment in self.segments)

    def end_of(self, at: int) -> int:
        """Where the segment at this place in `segments` ends (exclusive)."""
        return self.segments[at + 1].base_offset if at + 1 < len(self.segments) else self.leo

    def append(self, chunk: Sequence[Record], size_bytes: int, round_: int) -> None:
        """Append records that continue the log; the newest of them dates the segment."""
        super().append(chunk, size_bytes, round_)
        active = self.segments[-1]
        active.size_bytes, active.first_round = self.segment_bytes, self.segment_first_round
        written = max((max(record.batch[0], 0) for record in chunk), default=0)
        active.last_round = written if active.last_round is None else max(active.last_round, written)

    def roll(self) -> None:
        """Start a new segment at the LEO; what is before it gets flushed."""
        self._start_segment(self.leo)
        self.flushed = max(self.flushed, self.leo)

    def truncate_to(self, offset: int) -> int:
        """Cut everything from `offset` on, in the cache also at the LEO. Returns records cut."""
        if offset < self.segments[0].base_offset:
            return self.restart_at(offset)
        self.cache.truncate_from_end(offset)
        if offset >= self.leo:
            return 0
        cut = self.slice(offset, self.leo)
        del self.records[len(self.records) - len(cut) :]
        end = self.leo
        while self.segments[-1].base_offset > offset:
            end = self.segments.pop().base_offset
        self.leo = offset
        self.log_start, self.flushed = min(self.log_start, offset), min(self.flushed, offset)
        self._resume_segment(bytes_of(record for record in cut if record.offset < end))
        return len(cut)

    def restart_at(self, offset: int, log_start: int | None = None) -> int:
        """Empty the log and start it anew at `offset`, with another log start if some of it is tiered. Returns records cut."""
        self.segments = []
        cut = super().restart_at(offset)
        self.log_start = offset if log_start is None else log_start
        return cut

    def raise_log_start(self, offset: int) -> None:
        """Forget records below `offset`; their segments stay until they are deleted."""
        self._forget_below(offset)
        self.log_start = offset
        self.cache.truncate_from_start(offset)

    def delete_first_segments(self, count: int) -> list[Record]:
        """Delete whole segments from the front. Returns the records that went, without those below the log start."""
        assert 0 < count < len(self.segments), "the active segment stays"
        base = self.segments[count].base_offset
        gone = self.slice(self.local_log_start, base)
        self._forget_below(base)
        del self.segments[:count]
        return gone

    def is_tiered_or_expired(self, epoch: int, offset: int) -> bool:
        """Tell whether the record is below the log start, or remote if anywhere: the epoch cache says whose it is."""
        if offset < self.log_start:
            return True
        return offset < self.segments[0].base_offset and self.cache.epoch_of(offset) == epoch

    def _forget_below(self, offset: int) -> None:
        gone = self.records[: max(0, offset - self.local_log_start)]
        self.rounds_below |= {record.offset: max(record.batch[0], 0) for record in gone}
        del self.records[: len(gone)]

    def _start_segment(self, base: int) -> None:
        super()._start_segment(base)
        if self.segments and self.segments[-1].base_offset == base:
            self.segments.pop()
        self.segments.append(Segment(base))

    def _resume_segment(self, cut_bytes: int) -> None:
        """The last segment is active again, without the bytes that were cut off it."""
        active = self.segments[-1]
        active.size_bytes -= cut_bytes
        rounds = [max(record.batch[0], 0) for record in self.slice(active.base_offset, self.leo)]
        active.last_round = max(rounds, default=self.rounds_below.get(self.leo - 1, active.last_round))
        if self.leo == active.base_offset:
            active.size_bytes, active.last_round = 0, None
        self.segment_base, self.segment_bytes = active.base_offset, active.size_bytes
        self.segment_first_round = active.first_round


def tiered_initial_log(
    log_start: int,
    local_log_start: int,
    leo: int,
    epochs: Sequence[Sequence[int]],
    flushed: int | None,
    record_bytes: int,
    bases: Sequence[int] | None,
) -> TieredLog:
    """A log as a scenario gives it: records from the local log start on, in segments that begin at `bases`."""
    plain = initial_log(local_log_start, leo, epochs, flushed, record_bytes)
    starts = [local_log_start, *(base for base in bases or () if base > local_log_start)]
    segments = []
    for base, end in zip(starts, [*starts[1:], leo], strict=True):
        segments.append(Segment(base, (end - base) * record_bytes, 0, 0 if end > base else None))
    return TieredLog(
        log_start=log_start,
        leo=leo,
        records=plain.records,
        cache=EpochCache(epochs),
        flushed=plain.flushed,
        segment_base=segments[-1].base_offset,
        segment_bytes=segments[-1].size_bytes,
        segments=segments,
    )
