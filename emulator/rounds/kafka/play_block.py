"""A block of partitions from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.play_partitions import OUTPUT_FULL, SCRATCH_FULL, play_partitions, play_tiered_partitions
from emulator.rounds.kafka.probe import new_probe
from emulator.rounds.kafka.reading.records import (
    CAUSES,
    CachedIndex,
    Reader,
    ReaderLists,
    ReadPartition,
    ReadRange,
    ReadReplica,
    ReadWords,
    RemoteRead,
    Unread,
    Waited,
)
from emulator.rounds.kafka.records import (
    EpochEntry,
    Lists,
    News,
    Partition,
    RecordRange,
    Replica,
    Run,
    Segment,
    Sent,
    Spans,
    TierLists,
)
from emulator.rounds.kafka.state import LIST_RECORDS, RANGE_LISTS, State
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
from emulator.rounds.kafka.told import Told
from emulator.rounds.kafka.told_records import Event, PartitionTraceRow, TraceRow, Traffic, Violation
from emulator.rounds.kafka.words import Words
from emulator.rounds.packed import Packed, cut, grown, roomy
from emulator.rounds.records import rows, words_of
from emulator.rounds.slots import MAX_SLOTS

__all__ = ["Scratch", "play", "play_partitions"]


class Scratch:
    """Rooms for the lists of one partition, and for what a block tells until it is handed over; kept from block to block."""

    def __init__(self, inputs: Inputs, room: int = 16, rows_told: int = 16_384) -> None:
        self.room, self.rows_told, self.has_tiers, self.has_readers = room, rows_told, False, False
        most = max((inputs.scenarios[at].buckets for at in range(len(inputs.scenarios))), default=1)
        self._buckets = MAX_SLOTS * int(most)
        self.probe = new_probe()
        self.make()

    def make(self) -> None:
        """Arrays of the present sizes."""
        room, told = self.room, self.rows_told
        self.lists = Lists(
            runs=rows(Run, 2 * MAX_SLOTS * room),
            epochs=rows(EpochEntry, MAX_SLOTS * room),
            segments=rows(Segment, MAX_SLOTS * room),
            ranges=rows(RecordRange, len(RANGE_LISTS) * room),
            sent=rows(Sent, room),
            news=rows(News, room),
            work=rows(RecordRange, 4 * room),
            events=rows(Event, told),
            trace=rows(TraceRow, told),
            trace_epochs=rows(EpochEntry, 2 * told),
            trace_segments=rows(Segment, 2 * told),
            trace_partitions=rows(PartitionTraceRow, told),
            violations=rows(Violation, told),
            witness_epochs=rows(EpochEntry, 2 * told),
            traffic=rows(Traffic, self._buckets),
            filled=rows(Spans, 1),
        )
        self.tiers = TierLists(**{name: rows(record, *shape) for name, (record, shape) in self._tier_shapes().items()})
        readers = {name: rows(record, *shape) for name, (record, shape) in self._reader_shapes().items()}
        words = [words_of(readers[name]) for name in ReadWords._fields]
        self.readers = ReaderLists(
            **readers,
            words=ReadWords(*words),
            before=ReadWords(*(np.zeros_like(one) for one in words)),
            drift=ReadWords(*(np.zeros_like(one) for one in words)),
        )
        for name in TOLD:
            self._span(SPANS.get(name, name)).limit = len(self._told(name)) - 1
        spans = self.lists.filled[0]
        spans.held.limit = 2 * room - 1
        spans.expired.limit = len(self.tiers.expired) - 1
        spans.reads.limit = len(self.readers.reads) - 1
        spans.lost.start, spans.lost.limit = 2 * room, 4 * room - 1

    def _tier_shapes(self) -> dict[str, tuple[type, tuple[int, ...]]]:
        """Records and sizes of the arrays of tiered storage; without it next to nothing."""
        room = self.room if self.has_tiers else 0
        return {
            "whole": (TierPartition, (1,)),
            "replicas": (TierReplica, (MAX_SLOTS,)),
            "remote": (RemoteSegment, (room + 2,)),
            "remote_epochs": (EpochEntry, (4 * room + 2,)),
            "remote_events": (RemoteEvent, (4 * room + 2,)),
            "pins": (Pin, (room + 2,)),
            "starts": (StartedCopy, (MAX_SLOTS * room,)),
            "aux_epochs": (EpochEntry, (MAX_SLOTS * room,)),
            "known": (Known, (MAX_SLOTS * room,)),
            "known_states": (KnownState, (MAX_SLOTS * room,)),
            "reaches": (Reach, (MAX_SLOTS * room,)),
            "expired": (Chosen, (room + 2,)),
        }

    def _reader_shapes(self) -> dict[str, tuple[type, tuple[int, ...]]]:
        """Likewise of readers."""
        room = self.room if self.has_readers else 0
        return {
            "whole": (ReadPartition, (1,)),
            "served": (ReadReplica, (MAX_SLOTS,)),
            "readers": (Reader, (room + 2,)),
            "waits": (Waited, (len(CAUSES) * (room + 2),)),
            "read_ranges": (ReadRange, (2 * room + 2,)),
            "cached": (CachedIndex, (MAX_SLOTS * room,)),
            "reads": (RemoteRead, (room + 2,)),
            "unread": (Unread, (self.rows_told if self.has_readers else 2,)),
        }

    def _span(self, name: str) -> Any:
        return getattr(self.lists.filled[0], name)

    def _told(self, name: str) -> Any:
        return self.readers.unread if name == "unread" else getattr(self.lists, name)

    def hand_over(self, written: Callable[[np.ndarray], np.ndarray]) -> dict[str, np.ndarray]:
        """What was told since the last time, copied, of events those that are `written`; the arrays are empty again."""
        told = {}
        for name in TOLD:
            span = self._span(SPANS.get(name, name))
            rows_told = self._told(name)[: span.count]
            told[name] = (written(rows_told) if name == "events" else rows_told).copy()
            span.count = 0
        return told

    def forget_full(self) -> bool:
        """Take back that outputs were full; whether one was, or holds anything."""
        filled = False
        for name in (*(SPANS.get(name, name) for name in TOLD), *WORK):
            span = self._span(name)
            filled = filled or (name not in WORK and bool(span.full) and span.count > 0)
            span.full = 0
        return filled


TOLD = ("events", "trace", "trace_epochs", "trace_segments", "trace_partitions", "violations", "witness_epochs", "unread")
SPANS = {"trace": "trace_rows"}
WORK = ("held", "lost", "reads")
"""Spans of what rules work with, and do not tell."""


def play(
    state: State,
    inputs: Inputs,
    traffic_size: int,
    scratch: Scratch | None = None,
    partitions_a_call: int = 256,
    written: Callable[[np.ndarray], np.ndarray] = lambda events: events,
) -> tuple[State, Told]:
    """Play every partition of a block to its `end`.

    Returns the state then, and what was told: rows of Told, `traffic` with `traffic_size` rows. `written`: of events that were
    told, once for each of them, those that are kept. Calls of compiled code take about a second at most and release the GIL. What
    is given stays as it is.
    """
    scratch = scratch or Scratch(inputs)
    if bool(len(state.tier)) > scratch.has_tiers or bool(len(state.reading)) > scratch.has_readers:
        scratch.has_tiers, scratch.has_readers = bool(len(state.tier)), bool(len(state.reading))
        scratch.make()
    new = State(
        rows(Partition, len(state.partitions)),
        rows(Replica, len(state.replicas)),
        tier=rows(TierPartition, len(state.tier)),
        tiers=rows(TierReplica, len(state.tiers)),
        reading=rows(ReadPartition, len(state.reading)),
        served=rows(ReadReplica, len(state.served)),
        **{name: roomy(getattr(state, name)) for name in LIST_RECORDS},
    )
    traffic = rows(Traffic, traffic_size)
    told: list[dict[str, np.ndarray]] = []
    first, is_played, count = 0, False, len(state.partitions)
    while first < count:
        until = min(first + partitions_a_call, count)
        words = _words(state, new, scratch)
        rest = (words, scratch.probe, traffic, first, until, is_played)
        if len(state.tier):
            first, why = play_tiered_partitions(state, new, inputs, scratch.lists, scratch.tiers, scratch.readers, *rest)
        else:
            first, why = play_partitions(state, new, inputs, scratch.lists, *rest)
        is_played = why == OUTPUT_FULL
        if why == OUTPUT_FULL:
            new = _grown(new)
            continue
        if why == SCRATCH_FULL:
            outputs_full = scratch.forget_full()
            told.append(scratch.hand_over(written))
            if not outputs_full:
                scratch.room, scratch.rows_told = 2 * scratch.room, 2 * scratch.rows_told
                scratch.make()
            continue
    told.append(scratch.hand_over(written))
    whole = {name: np.concatenate([part[name] for part in told]).view(np.recarray) for name in TOLD}
    return _cut(new), Told(**whole, traffic=traffic)


def _words(old: State, new: State, scratch: Scratch) -> Words:
    lists, tiers, readers = scratch.lists, scratch.tiers, scratch.readers
    arrays = lists._asdict() | tiers._asdict() | readers._asdict()
    return Words(
        **{name: words_of(arrays[name]) for name in LIST_RECORDS},
        old_partitions=words_of(old.partitions),
        old_replicas=words_of(old.replicas),
        partitions=words_of(new.partitions),
        replicas=words_of(new.replicas),
        tier=words_of(tiers.whole),
        tiers=words_of(tiers.replicas),
        old_tier=words_of(old.tier),
        old_tiers=words_of(old.tiers),
        new_tier=words_of(new.tier),
        new_tiers=words_of(new.tiers),
        reading=words_of(readers.whole),
        served=words_of(readers.served),
        old_reading=words_of(old.reading),
        old_served=words_of(old.served),
        new_reading=words_of(new.reading),
        new_served=words_of(new.served),
    )


def _grown(state: State) -> State:
    """The same with twice the room for packed lists."""
    lists: dict[str, Any] = {name: grown(getattr(state, name)) for name in LIST_RECORDS}
    return state._replace(**lists)


def _cut(state: State) -> State:
    """The same without the room that is left."""
    lists: dict[str, Any] = {}
    for name in LIST_RECORDS:
        packed: Packed = getattr(state, name)
        lists[name] = cut(packed, len(packed.offsets) - 1)
    return state._replace(**lists)
