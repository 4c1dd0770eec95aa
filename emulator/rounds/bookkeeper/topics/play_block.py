"""A block of topics from its start to its end: scratch arrays, calls of compiled code, what is told."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.play_block import Scratch, Told, joined
from emulator.rounds.bookkeeper.play_ledgers import OUTPUT_FULL, SCRATCH_FULL
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import LIST_RECORDS, WIDTHS, State, start_ledgers
from emulator.rounds.bookkeeper.topics.leap import OWNER_KINDS, TOPIC_KINDS, TopicProbe
from emulator.rounds.bookkeeper.topics.play_topics import SEATS_FULL, TopicWords, play_topics
from emulator.rounds.bookkeeper.topics.records import Owner, Part, Topic, TopicLists
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.packed import cut, grown, packed_empty, roomy, with_places
from emulator.rounds.records import rows, words_of


def empty_ledgers(count: int) -> State:
    """So many ledgers that have nothing."""
    ledgers = rows(Ledger, count)
    start_ledgers(ledgers)
    return State(ledgers, **{name: packed_empty(WIDTHS[name], count) for name in LIST_RECORDS})


class TopicScratch:
    """Rooms for one topic: `seats` for its ledgers, of which it may have one less."""

    def __init__(self, room: int = 8, rows_told: int = 16_384, seats: int = 8) -> None:
        self.scratch = Scratch(room, rows_told, seats)
        self.make_seats(seats)

    def make_seats(self, seats: int) -> None:
        """As many seats, with the same room for each."""
        self.scratch.seats = seats
        self.scratch.make()
        self.topics = TopicLists(rows(Ledger, seats), rows(Part, seats), rows(Owner, seats))
        topic, owner = len(TOPIC_KINDS), len(OWNER_KINDS)
        self.probe = TopicProbe(*(np.zeros(shape, np.int64) for shape in (topic, topic, (seats, owner), (seats, owner))))

    def words(self, old: TopicState, new: TopicState) -> TopicWords:
        """All of it, and the topics, as words."""
        lists = self.topics
        return TopicWords(
            words_of(lists.ledgers), words_of(lists.parts), words_of(lists.owners), words_of(old.topics), words_of(new.topics)
        )


def play(
    state: TopicState, inputs: Inputs, scratch: TopicScratch | None = None, topics_a_call: int = 16
) -> tuple[TopicState, Told]:
    """Play every topic of a block to its `end`. Returns the state then, and what was told. What is given stays as it is."""
    scratch = scratch or TopicScratch()
    count, empty = len(state.topics), empty_ledgers(1)
    lists = State(rows(Ledger, 0), **{name: roomy(getattr(state.lists, name)) for name in LIST_RECORDS})
    new = TopicState(rows(Topic, count), roomy(state.ledgers), roomy(state.parts), roomy(state.owners), lists)
    told: list[dict[str, np.ndarray]] = []
    first, is_played = 0, False
    while first < count:
        until = min(first + topics_a_call, count)
        inner = scratch.scratch
        words, topic_words = inner.words(state.lists, new.lists), scratch.words(state, new)
        rest = (inputs, inner.lists, scratch.topics, words, topic_words, scratch.probe, inner.probe, first, until, is_played)
        first, why = play_topics(state, new, empty, *rest)
        is_played = why == OUTPUT_FULL
        if why == OUTPUT_FULL:
            new = _grown(new, inner.seats)
        elif why in (SCRATCH_FULL, SEATS_FULL):
            is_crowded = inner.is_crowded()
            told.append(inner.hand_over())
            if why == SEATS_FULL:
                scratch.make_seats(2 * inner.seats)
            elif not is_crowded:
                inner.grow()
    told.append(scratch.scratch.hand_over())
    return _cut(new), joined(told)


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
