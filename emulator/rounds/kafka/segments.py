"""A replica's segments on its own disk: the closed ones in a list, the active one in its own fields (LogSegments).

Closed segments are kept only where something may delete one (`Partition.keeps_segments`). A segment's records below the log
start count in its bytes until it goes as a whole (docs/tiered_rounds.md, Segments).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.entries import remove
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import Run, Segment
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.lists import append, clear, every, keep_first, last
from emulator.rounds.records import Rows


@compiled
def base_of_first(segments: Rows[Segment], replica: Replica) -> int:
    """Base offset of the first segment, where segments are kept."""
    return segments[replica.segments.start].base_offset if replica.segments.count else replica.active_base


@compiled
def end_of_segment(segments: Rows[Segment], replica: Replica, at: int) -> int:
    """Where the closed segment at a place ends."""
    return replica.active_base if at == last(replica.segments) else segments[at + 1].base_offset


@compiled
def disk_bytes(segments: Rows[Segment], replica: Replica) -> int:
    """Bytes of all segments, where segments are kept."""
    total = replica.active_bytes
    for at in every(replica.segments):
        total += segments[at].size_bytes
    return total


@compiled
def round_of(runs: Rows[Run], inputs: Inputs, replica: Replica, offset: int) -> int:
    """The round in which a leader appended the record at an offset; 0 for what was there at the start."""
    at = replica.runs.start + replica.runs.count - 1
    while at > replica.runs.start and runs[at].start_offset > offset:
        at -= 1
    if at < replica.runs.start or runs[at].first_round < 0:
        return 0
    run = runs[at]
    return run.first_round + (run.phase + offset - run.start_offset) // inputs.patterns[run.pattern].records


@compiled
def first_of_newest_round(runs: Rows[Run], inputs: Inputs, replica: Replica) -> int:
    """The first record on the replica's disk of the round of its newest one (ListOffsets -3); UNKNOWN: it has none."""
    if replica.leo <= replica.local_start or replica.runs.count == 0:
        return UNKNOWN
    at = last(replica.runs)
    if runs[at].first_round < 0:  # what was there at the start is of one round
        return replica.local_start
    run = runs[at]
    records = inputs.patterns[run.pattern].records
    place = run.phase + replica.leo - 1 - run.start_offset
    return max(replica.local_start, run.start_offset, replica.leo - 1 - place % records)


@compiled
def newest_of_active(runs: Rows[Run], inputs: Inputs, replica: Replica) -> int:
    """The round of the newest record of the active segment, UNKNOWN if it is empty."""
    return round_of(runs, inputs, replica, replica.leo - 1) if replica.leo > replica.active_base else UNKNOWN


@compiled
def close_segment(lists: Lists, inputs: Inputs, part: Partition, replica: Replica) -> None:
    """A new segment begins at the LEO; what is before it is flushed (UnifiedLog.roll)."""
    if part.keeps_segments:
        segment = lists.segments[append(replica.segments)]
        segment.base_offset = replica.active_base
        segment.size_bytes = replica.active_bytes
        segment.first_round = replica.active_round
        segment.newest_round = newest_of_active(lists.runs, inputs, replica)
    replica.active_base = replica.leo
    replica.active_bytes = 0
    replica.flushed = max(replica.flushed, replica.leo)


@compiled
def cut_segments(segments: Rows[Segment], replica: Replica, offset: int, gone_bytes: int) -> None:
    """A cut at or above the first segment's base: the segment that it meets is active again, with its old age.

    `gone_bytes`: of what is cut, the bytes of that segment: those below `segment_cut_at`.
    """
    if offset < replica.active_base:
        kept = replica.segments.count
        while segments[replica.segments.start + kept - 1].base_offset > offset:
            kept -= 1
        held = segments[replica.segments.start + kept - 1]
        replica.active_base = held.base_offset
        replica.active_bytes = held.size_bytes
        replica.active_round = held.first_round
        keep_first(replica.segments, kept - 1)
    replica.active_bytes = max(replica.active_bytes - gone_bytes, 0)
    if offset == replica.active_base:
        replica.active_bytes = 0


@compiled
def segment_cut_at(segments: Rows[Segment], replica: Replica, offset: int) -> int:
    """Where the segment ends that a cut at an offset meets."""
    end = replica.leo
    if offset < replica.active_base:
        end = replica.active_base
        for at in every(replica.segments):
            if segments[at].base_offset > offset:
                return segments[at].base_offset
    return end


@compiled
def forget_segments(segments: Rows[Segment], replica: Replica, count: int) -> None:
    """The first closed segments go; the others move up, so that the list needs no more room than it ever has entries."""
    remove(segments, replica.segments, replica.segments.start, count)


@compiled
def start_segment_at(replica: Replica, offset: int) -> None:
    """The disk has one empty segment."""
    clear(replica.segments)
    replica.active_base = offset
    replica.active_bytes = 0
