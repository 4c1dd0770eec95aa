"""A block of topics from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.play_block import Scratch, Told
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import LIST_RECORDS, WIDTHS, State, start_ledgers
from emulator.rounds.bookkeeper.topics.leap import OWNER_KINDS, TOPIC_KINDS, TopicProbe
from emulator.rounds.bookkeeper.topics.play_topics import SEATS_FULL, TopicWords, play_topics
from emulator.rounds.bookkeeper.topics.records import Owner, Part, Topic, TopicLists
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.calls import play_in_calls
from emulator.rounds.packed import cut, grown, packed_empty, roomy, with_places
from emulator.rounds.records import rows, words_of


def empty_ledgers(count: int) -> State:
    """So many ledgers that have nothing."""
    ledgers = rows(Ledger, count)
    start_ledgers(ledgers)
    return State(ledgers, **{name: packed_empty(WIDTHS[name], count) for name in LIST_RECORDS})


class TopicScratch(Scratch):
    """Rooms for one topic: `seats` for its ledgers, of which it may have one less."""

    def __init__(self, room: int = 8, rows_told: int = 16_384, seats: int = 8) -> None:
        super().__init__(room, rows_told, seats)

    def make(self) -> None:
        """Arrays of the present sizes."""
        super().make()
        seats = self.seats
        self.topics = TopicLists(rows(Ledger, seats), rows(Part, seats), rows(Owner, seats))
        topic, owner = len(TOPIC_KINDS), len(OWNER_KINDS)
        self.topic_probe = TopicProbe(*(np.zeros(shape, np.int64) for shape in (topic, topic, (seats, owner), (seats, owner))))

    def grow(self, why: int) -> None:
        """Twice the seats, or twice the room."""
        if why == SEATS_FULL:
            self.seats *= 2
            self.make()
        else:
            super().grow(why)

    def topic_words(self, old: TopicState, new: TopicState) -> TopicWords:
        """What is of topics, and the topics, as words."""
        lists = self.topics
        return TopicWords(
            words_of(lists.ledgers), words_of(lists.parts), words_of(lists.owners), words_of(old.topics), words_of(new.topics)
        )


def play(
    state: TopicState, inputs: Inputs, scratch: TopicScratch | None = None, topics_a_call: int = 16
) -> tuple[TopicState, Told]:
    """Play every topic of a block to its `end`. Returns the state then, and what was told. What is given stays as it is."""
    rooms = scratch or TopicScratch()
    count, empty = len(state.topics), empty_ledgers(1)
    lists = State(rows(Ledger, 0), **{name: roomy(getattr(state.lists, name)) for name in LIST_RECORDS})
    new = TopicState(rows(Topic, count), roomy(state.ledgers), roomy(state.parts), roomy(state.owners), lists)

    def call(new: TopicState, first: int, until: int, is_played: bool) -> tuple[int, int]:
        words, topic_words = rooms.words(state.lists, new.lists), rooms.topic_words(state, new)
        rest = (inputs, rooms.lists, rooms.topics, words, topic_words, rooms.topic_probe, rooms.probe, first, until, is_played)
        return play_topics(state, new, empty, *rest)

    new, told = play_in_calls(rooms, new, count, topics_a_call, call, lambda state: _grown(state, rooms.seats))
    return _cut(new), Told(**told)


def _grown(state: TopicState, seats: int) -> TopicState:
    """More room: for lists of ledgers where one more topic's may not have a place, else for entries."""
    places = int(state.ledgers.offsets.max()) + seats
    if places >= len(state.lists.openings.offsets):
        more = {name: with_places(getattr(state.lists, name), 2 * places) for name in LIST_RECORDS}
        return state._replace(lists=State(state.lists.ledgers, **more))
    lists = State(state.lists.ledgers, **{name: grown(getattr(state.lists, name)) for name in LIST_RECORDS})
    return TopicState(state.topics, grown(state.ledgers), grown(state.parts), grown(state.owners), lists)


def _cut(state: TopicState) -> TopicState:
    topics = len(state.topics)
    ledgers = int(state.ledgers.offsets[topics])
    lists = State(state.lists.ledgers, **{name: cut(getattr(state.lists, name), ledgers) for name in LIST_RECORDS})
    return TopicState(state.topics, cut(state.ledgers, topics), cut(state.parts, topics), cut(state.owners, topics), lists)
