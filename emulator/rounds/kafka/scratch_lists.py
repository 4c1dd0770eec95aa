"""The scratch arrays of one partition, and how far those of what a block tells are filled."""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.kafka.list_records import EpochEntry, News, RecordRange, Run, Segment, Sent
from emulator.rounds.kafka.tier.records import (
    Chosen,
    Known,
    KnownState,
    Pin,
    Reach,
    RemoteEvent,
    RemoteSegment,
    StartedCopy,
    TierPartition,
    TierReplica,
)
from emulator.rounds.kafka.told_records import Event, PartitionTraceRow, TraceRow, Traffic, Violation
from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, part_of


class Spans(Record):
    """How far the arrays of outputs are filled."""

    events: List = part_of(List, "rows of events")
    trace_rows: List = part_of(List, "rows of trace")
    trace_epochs: List = part_of(List, "epoch caches of traced rows, one after the other")
    trace_segments: List = part_of(List, "segments of traced rows, one after the other")
    trace_partitions: List = part_of(List, "rows of trace_partitions")
    violations: List = part_of(List, "rows of violations")
    witness_epochs: List = part_of(List, "epoch caches of witnesses, one after the other")
    held: List = part_of(List, "in Lists.work: records that a leader held")
    lost: List = part_of(List, "in Lists.work: records that are lost")
    expired: List = part_of(List, "in Lists.expired: remote segments that go")
    reads: List = part_of(List, "in ReaderLists.reads: remote reads of this round")
    pieces: List = part_of(List, "in ReaderLists.pieces: what they are of, read by read")
    unread: List = part_of(List, "in ReaderLists.unread: rows of unread")


class Lists(NamedTuple):
    """Scratch arrays that hold one partition's lists, and the arrays that a block writes to."""

    runs: Rows[Run]
    epochs: Rows[EpochEntry]
    segments: Rows[Segment]
    ranges: Rows[RecordRange]
    sent: Rows[Sent]
    news: Rows[News]
    work: Rows[RecordRange]
    events: Rows[Event]
    trace: Rows[TraceRow]
    trace_epochs: Rows[EpochEntry]
    trace_segments: Rows[Segment]
    trace_partitions: Rows[PartitionTraceRow]
    violations: Rows[Violation]
    witness_epochs: Rows[EpochEntry]
    traffic: Rows[Traffic]
    filled: Rows[Spans]


class TierLists(NamedTuple):
    """Scratch arrays of what one partition has of tiered storage; without it none has any room."""

    whole: Rows[TierPartition]
    replicas: Rows[TierReplica]
    remote: Rows[RemoteSegment]
    remote_epochs: Rows[EpochEntry]
    remote_events: Rows[RemoteEvent]
    pins: Rows[Pin]
    starts: Rows[StartedCopy]
    aux_epochs: Rows[EpochEntry]
    known: Rows[Known]
    known_states: Rows[KnownState]
    reaches: Rows[Reach]
    expired: Rows[Chosen]
