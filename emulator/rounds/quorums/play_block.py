"""A block of groups from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emulator.rounds.calls import Rooms, play_in_calls
from emulator.rounds.packed import Packed, cut, grown, roomy, width_of
from emulator.rounds.quorums.constants import MAX_SERVERS
from emulator.rounds.quorums.drift import Words as GroupWords
from emulator.rounds.quorums.meet import most_points
from emulator.rounds.quorums.play_groups import ENTRY_POINTS, Words
from emulator.rounds.quorums.records import (
    Appends,
    Configuration,
    Event,
    Group,
    Latency,
    Leadership,
    Lists,
    Message,
    Peer,
    Run,
    Server,
    Spans,
    Violation,
)
from emulator.rounds.quorums.state import State
from emulator.rounds.records import rows, words_of

OF_GROUPS = ("leaderships", "configurations", "messages", "appends", "latencies")
PACKED = ("runs", *OF_GROUPS)
"""Fields of State that are lists; of these a group has one each."""
LEAPT = ("leaderships", "messages", "latencies")
"""Those of which something moves in quiet rounds."""


class Told(NamedTuple):
    """Rows in the order in which they were told: records.Event, records.Violation."""

    events: Any
    violations: Any


class Scratch(Rooms):
    """Rooms for the lists of the group that is played, and for what a block tells until it is handed over."""

    TOLD = Told._fields

    def __init__(self, room: int = 32, rows_told: int = 16_384) -> None:
        super().__init__(room, rows_told)

    def make(self) -> None:
        """Arrays of the present sizes."""
        self.lists = Lists(
            servers=rows(Server, MAX_SERVERS),
            peers=rows(Peer, MAX_SERVERS * MAX_SERVERS),
            runs=rows(Run, MAX_SERVERS * self.room),
            leaderships=rows(Leadership, self.room),
            configurations=rows(Configuration, self.room),
            messages=rows(Message, self.room),
            appends=rows(Appends, self.room),
            latencies=rows(Latency, self.room),
            events=rows(Event, self.rows_told),
            violations=rows(Violation, self.rows_told),
            filled=rows(Spans, 1),
        )
        for name in self.TOLD:
            self.span(name).limit = self.rows_told - 1
        self.before, self.drift = self.likewise(), self.likewise()
        self.points = np.zeros((most_points(MAX_SERVERS, self.room), 2), np.int64)

    def likewise(self) -> GroupWords:
        """Words of as much as a group has at most."""
        of_groups = [np.zeros_like(words_of(getattr(self.lists, name))) for name in OF_GROUPS]
        of_servers = [np.zeros_like(words_of(records)) for records in (self.lists.servers, self.lists.peers)]
        return GroupWords(np.zeros(width_of(Group), np.int64), *of_servers, *(of_groups[OF_GROUPS.index(n)] for n in LEAPT))

    def words(self, old: State, new: State) -> Words:
        """All of it, and the states' records, as words."""
        lists = self.lists
        of_groups = [getattr(lists, name) for name in OF_GROUPS]
        own = [words_of(records) for records in (lists.runs, *of_groups, lists.servers, lists.peers)]
        states = [words_of(records) for state in (old, new) for records in (state.groups, state.servers, state.peers)]
        every: list[Any] = [*own, self.before, self.drift, self.points, *states]
        return Words(*every)


def play(state: State, inputs: Any, scratch: Scratch | None = None, groups_a_call: int = 64) -> tuple[State, Told]:
    """Play every group of a block to its run's end. Returns the state then, and what was told. What is given stays as it is.

    Calls of compiled code release the GIL.
    """
    rooms = scratch or Scratch()
    count, servers = len(state.groups), len(state.servers)
    new = State(
        rows(Group, count),
        rows(Server, servers),
        rows(Peer, len(state.peers)),
        **{name: roomy(getattr(state, name)) for name in PACKED},
    )
    groups: Any = state.groups
    protocols = np.asarray(groups.protocol)

    def call(new: State, first: int, until: int, is_played: bool) -> tuple[int, int]:
        of_another = np.flatnonzero(protocols[first:until] != protocols[first])
        until = first + int(of_another[0]) if len(of_another) else until
        words, play_each = rooms.words(state, new), ENTRY_POINTS[int(protocols[first])]
        return play_each(state, new, inputs, rooms.lists, words, rooms.room, first, until, is_played)

    def with_more_room(new: State) -> State:
        return with_lists(new, {name: grown(getattr(new, name)) for name in PACKED})

    new, told = play_in_calls(rooms, new, count, groups_a_call, call, with_more_room)
    counts = {"runs": servers, **dict.fromkeys(OF_GROUPS, count)}
    return with_lists(new, {name: cut(getattr(new, name), counts[name]) for name in PACKED}), Told(**told)


def with_lists(state: State, lists: dict[str, Packed]) -> State:
    """The same records with other lists."""
    return State(state.groups, state.servers, state.peers, **lists)
