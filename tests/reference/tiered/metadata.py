"""Remote segments and what brokers know of them: the remote log metadata manager and its cache.

Events are written to one log, in the order of tasks and then of replicas. A broker knows what it wrote itself at once, and
what others wrote in a later round. `SegmentIndex` is what it makes of that (RemoteLogMetadataCache,
RemoteLogLeaderEpochState).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from .lineage import Epochs, end_in_segment

COPY_STARTED, COPY_FINISHED = "COPY_STARTED", "COPY_FINISHED"
DELETE_STARTED, DELETE_FINISHED = "DELETE_STARTED", "DELETE_FINISHED"

TRANSITIONS: dict[str | None, tuple[str, ...]] = {
    None: (COPY_STARTED,),
    COPY_STARTED: (COPY_STARTED, COPY_FINISHED, DELETE_STARTED),
    COPY_FINISHED: (COPY_FINISHED, DELETE_STARTED),
    DELETE_STARTED: (DELETE_STARTED, DELETE_FINISHED),
    DELETE_FINISHED: (DELETE_FINISHED,),
}
REMOVER = -1
"""Who deletes what is left of a whole partition."""
MARKED, STARTED, FINISHED = "DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED"


@dataclass
class RemoteSegment:
    """One attempt to copy a segment. `epochs` are those inside it, `checkpoint` all of its log up to its end.

    `state` is that of the last event, whoever knows of it; `stored_bytes` is what lies in the store, `moved_bytes` what got
    there; while a copy of before the run goes on, what it had moved then.
    """

    id: int
    base_offset: int
    end_offset: int
    epochs: Epochs
    checkpoint: Epochs
    size_bytes: int
    last_round: int
    broker: int
    leader_epoch: int
    state: str | None = None
    stored_bytes: int = 0
    moved_bytes: int = 0
    started_round: int | None = None
    copied_round: int | None = None
    deleted_round: int | None = None
    was_finished: bool = False

    def covers(self, epoch: int, offset: int) -> bool:
        """Tell whether the segment has the record of this epoch at this offset."""
        span = self.spans.get(epoch)
        return span is not None and span[0] <= offset <= span[1]

    @cached_property
    def spans(self) -> dict[int, tuple[int, int]]:
        """The first and the last offset that the segment has of each epoch."""
        return {epoch: (start, end_in_segment(self.epochs, epoch, self.end_offset)) for epoch, start in self.epochs}


@dataclass(frozen=True)
class Event:
    """A segment enters a state; `broker` says so."""

    round: int
    segment: RemoteSegment
    state: str
    broker: int


@dataclass
class EpochIndex:
    """The segments of one epoch: those that are served, by where the epoch starts in them, and the others."""

    served: dict[int, RemoteSegment] = field(default_factory=dict)
    unreferenced: list[RemoteSegment] = field(default_factory=list)
    highest_offset: int | None = None

    def listed(self) -> list[RemoteSegment]:
        """All segments by base offset; at the same one those that are served come first."""
        ordered = [self.served[start] for start in sorted(self.served)]
        return sorted(ordered + self.unreferenced, key=lambda segment: segment.base_offset)

    def finish(self, segment: RemoteSegment, start: int, end: int) -> None:
        """A copy is done: what starts at or after it and reaches no further is served no more (KAFKA-15168).

        A segment at the same start that reaches further is forgotten, as Kafka does; it stays in `SegmentIndex.segments`.
        """
        while self.served and max(self.served) >= start and (self.highest_offset or 0) <= end:
            self._put_aside(self.served.pop(max(self.served)))
        self.served[start] = segment
        self.unreferenced = [one for one in self.unreferenced if one is not segment]
        if self.highest_offset is None or end > self.highest_offset:
            self.highest_offset = end

    def start_delete(self, segment: RemoteSegment, start: int) -> None:
        """The segment is served no more; how far the epoch is tiered does not change."""
        if self.served.get(start) is segment:
            del self.served[start]
        self._put_aside(segment)

    def forget(self, segment: RemoteSegment) -> None:
        """The segment is deleted."""
        self.unreferenced = [one for one in self.unreferenced if one is not segment]

    def _put_aside(self, segment: RemoteSegment) -> None:
        if not any(one is segment for one in self.unreferenced):
            self.unreferenced.append(segment)


class SegmentIndex:
    """What one broker knows of a partition's remote segments."""

    def __init__(self, check_transitions: bool = True) -> None:
        self.check_transitions = check_transitions
        self.states: dict[int, str] = {}
        self.segments: dict[int, RemoteSegment] = {}
        self.epochs: dict[int, EpochIndex] = {}

    def apply(self, segment: RemoteSegment, state: str) -> bool:
        """Take one event. Returns whether its transition is valid; what isn't changes nothing."""
        if state not in TRANSITIONS[self.states.get(segment.id)] and self.check_transitions:
            return False
        if state == self.states.get(segment.id) and state != DELETE_STARTED:
            return True
        self.states[segment.id] = state
        self.segments[segment.id] = segment
        for epoch, (start, end) in segment.spans.items():
            index = self.epochs.setdefault(epoch, EpochIndex())
            if state == COPY_STARTED:
                index.unreferenced.append(segment)
            elif state == COPY_FINISHED:
                index.finish(segment, start, end)
            elif state == DELETE_STARTED:
                index.start_delete(segment, start)
            else:
                index.forget(segment)
        if state == DELETE_FINISHED:
            self.segments.pop(segment.id, None)
        return True

    def state_of(self, segment: RemoteSegment) -> str | None:
        """The segment's state, as far as the broker knows."""
        return self.states.get(segment.id)

    def lookup(self, epoch: int, offset: int) -> RemoteSegment | None:
        """The copied segment that serves the offset in this epoch."""
        index = self.epochs.get(epoch)
        floor = None if index is None else max((start for start in index.served if start <= offset), default=None)
        if index is None or floor is None:
            return None
        segment = index.served[floor]
        return segment if offset <= segment.spans[epoch][1] else None

    def listed(self) -> list[RemoteSegment]:
        """All segments that are not deleted."""
        return list(self.segments.values())

    def listed_of(self, epoch: int) -> list[RemoteSegment]:
        """The segments of an epoch that are not deleted, by base offset."""
        return self.epochs.get(epoch, EpochIndex()).listed()

    def highest_offset(self, epoch: int) -> int | None:
        """How far the epoch was ever tiered; deleting does not lower it."""
        return self.epochs.get(epoch, EpochIndex()).highest_offset

    def first_offset(self, epoch: int) -> int | None:
        """Base offset of the first segment of the epoch."""
        listed = self.listed_of(epoch)
        return listed[0].base_offset if listed else None


class MetadataLog:
    """The partition's events, and what each broker knows of them; `complete` knows all."""

    def __init__(self, check_transitions: bool = True) -> None:
        self.check_transitions = check_transitions
        self.events: list[Event] = []
        self.complete = SegmentIndex(check_transitions)
        self._known: dict[int, list[int]] = {}
        self._indexes: dict[int, SegmentIndex] = {}

    def index_of(self, broker: int) -> SegmentIndex:
        """What the broker knows."""
        return self._indexes.setdefault(broker, SegmentIndex(self.check_transitions))

    def read(self, broker: int, before_round: int) -> None:
        """The broker learns what was written in the rounds before `before_round`."""
        count = len(self.events)
        while count > 0 and self.events[count - 1].round >= before_round:
            count -= 1
        if len(self._known.setdefault(broker, [])) < count or not self._knows_first(broker, count):
            self._learn(broker, range(count))

    def write(self, round_: int, segment: RemoteSegment, state: str, broker: int) -> None:
        """The broker writes an event, and has read what was written in the rounds before when that is done."""
        self.events.append(Event(round_, segment, state, broker))
        if self.complete.apply(segment, state):
            segment.state = state
            segment.was_finished = segment.was_finished or state == COPY_FINISHED
            segment.copied_round = round_ if state == COPY_FINISHED else segment.copied_round
            segment.deleted_round = round_ if state == DELETE_FINISHED else segment.deleted_round
        self.read(broker, round_)
        self._learn(broker, [len(self.events) - 1])

    def _knows_first(self, broker: int, count: int) -> bool:
        """Tell whether the broker, which knows at least as many events, knows the first `count` (they are in order)."""
        return count == 0 or self._known[broker][count - 1] == count - 1

    def _learn(self, broker: int, places: Sequence[int]) -> None:
        """Take events into what the broker knows; if one comes late, all of them anew, in the order of the log."""
        known = self._known.setdefault(broker, [])
        new = sorted(set(places) - set(known))
        if not new:
            return
        if known and new[0] < known[-1]:
            new = sorted([*known, *new])
            known.clear()
            self._indexes[broker] = SegmentIndex(self.check_transitions)
        index = self.index_of(broker)
        for at in new:
            index.apply(self.events[at].segment, self.events[at].state)
        known += new
