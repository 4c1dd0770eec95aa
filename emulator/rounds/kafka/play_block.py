"""A block of partitions from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from emulator.rounds.calls import Rooms, play_in_calls
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import EpochEntry, News, RecordRange, Run, Segment, Sent
from emulator.rounds.kafka.play_partitions import play_partitions, play_tiered_partitions
from emulator.rounds.kafka.probe import new_probe
from emulator.rounds.kafka.reading.records import (
    CAUSES,
    CachedIndex,
    Piece,
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
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, Spans, TierLists
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


class Scratch(Rooms):
    """Rooms for the lists of one partition, and for what a block tells until it is handed over; kept from block to block."""

    TOLD = Told._fields[:-1]
    SPANS = {"trace": "trace_rows"}
    WORK = ("held", "lost", "reads", "pieces")
    """Spans of what rules work with, and do not tell."""

    def __init__(self, inputs: Inputs, room: int = 16, rows_told: int = 16_384) -> None:
        self.has_tiers, self.has_readers = False, False
        most = max((inputs.scenarios[at].buckets for at in range(len(inputs.scenarios))), default=1)
        self._buckets = MAX_SLOTS * int(most)
        self.probe = new_probe()
        super().__init__(room, rows_told)

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
        for name in self.TOLD:
            self.span(name).limit = len(self.told(name)) - 1
        spans = self.lists.filled[0]
        spans.held.limit = 2 * room - 1
        spans.expired.limit = len(self.tiers.expired) - 1
        spans.reads.limit = len(self.readers.reads) - 1
        spans.pieces.limit = len(self.readers.pieces) - 1
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
            "pieces": (Piece, (4 * room + 2,)),
            "unread": (Unread, (self.rows_told if self.has_readers else 2,)),
        }

    def told(self, name: str) -> Any:
        """One of the arrays that are told."""
        return self.readers.unread if name == "unread" else super().told(name)

    def is_crowded(self) -> bool:
        """As of any room; what rules work with is never handed over."""
        for name in self.WORK:
            self.span(name).full = 0
        return super().is_crowded()


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
    rooms = scratch or Scratch(inputs)
    if bool(len(state.tier)) > rooms.has_tiers or bool(len(state.reading)) > rooms.has_readers:
        rooms.has_tiers, rooms.has_readers = bool(len(state.tier)), bool(len(state.reading))
        rooms.make()
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

    def call(new: State, first: int, until: int, is_played: bool) -> tuple[int, int]:
        rest = (_words(state, new, rooms), rooms.probe, traffic, first, until, is_played)
        if len(state.tier):
            return play_tiered_partitions(state, new, inputs, rooms.lists, rooms.tiers, rooms.readers, *rest)
        return play_partitions(state, new, inputs, rooms.lists, *rest)

    def kept(told: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return told | {"events": written(told["events"])}

    new, told = play_in_calls(rooms, new, len(state.partitions), partitions_a_call, call, _grown, kept)
    return _cut(new), Told(**told, traffic=traffic)


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
