"""A block of topics: each plays its own rounds to its end, its ledgers and all their lists in scratch arrays; leaps included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.check_invariants import check_end
from emulator.rounds.bookkeeper.constants import NOBODY
from emulator.rounds.bookkeeper.finish import finish
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.leap import Probe
from emulator.rounds.bookkeeper.ledger_lists import Words, is_full, load_lists, store_lists
from emulator.rounds.bookkeeper.play_ledgers import CHECK_ROUNDS, outputs_full
from emulator.rounds.bookkeeper.records import Lists
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.bookkeeper.told_records import Spans
from emulator.rounds.bookkeeper.topics.leap import TopicProbe, busy_ledger, horizon, is_quiet, leap
from emulator.rounds.bookkeeper.topics.play_topic_round import play_topic_round
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.bookkeeper.topics.the_list import is_on_bookies
from emulator.rounds.bookkeeper.traffic import is_bucket_end, know_what_is_there, next_bucket_end, tell_traffic
from emulator.rounds.calls import DONE, OUTPUT_FULL, SCRATCH_FULL
from emulator.rounds.compiled import compiled, entry_point, merged_into_caller
from emulator.rounds.packed import load, store

SEATS_FULL = OUTPUT_FULL + 1
"""Why a call stopped: a topic has more ledgers, or owners, than there are seats."""


class TopicWords(NamedTuple):
    """Scratch arrays of topics, and the topics' records, as words."""

    ledgers: np.ndarray
    parts: np.ndarray
    owners: np.ndarray
    old_topics: np.ndarray
    topics: np.ndarray


@merged_into_caller
def play_topic(
    lists: Lists,
    topics: TopicLists,
    inputs: Inputs,
    topic: Topic,
    words: Words,
    empty: State,
    number: int,
    topic_words: TopicWords,
    probe: TopicProbe,
    ledger_probe: Probe,
) -> None:
    """A topic's rounds up to its end; they stop short where a list was full."""
    if topic.now >= topic.end:
        return
    spans, own = lists.filled[0], topic_words.topics[number]
    leaps = inputs.scenarios[topic.scenario].leaps
    in_a_row, rounds_of_proof, before = 0, inputs.settings[topic.settings].ensemble_size + 1, NOBODY
    if topic.now == 0:
        for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
            know_what_is_there(lists, inputs, topics.ledgers[at])
    while topic.now < topic.end and not topic.ledgers.full and not topic.owners.full:
        told = spans.events.count
        play_topic_round(lists, topics, inputs, topic, words, empty)
        tell_traffic_of(lists, topics, inputs, topic)
        if topic.now % CHECK_ROUNDS == 0 and any_full(topics, topic, spans):
            return
        if not leaps:
            continue
        busy = busy_ledger(lists, topics, inputs, topic) if spans.events.count == told else NOBODY
        if busy == NOBODY or busy != before or is_full(topics.ledgers[topic.ledgers.start + busy]):
            in_a_row, before = 0, busy
            continue
        owners, ledgers = topic_words.owners, topic_words.ledgers
        quiet = is_quiet(topics, topic, busy, own, owners, ledgers, words, probe, ledger_probe)
        in_a_row = in_a_row + 1 if quiet else 0
        if in_a_row >= rounds_of_proof:
            then = horizon(lists, topics, inputs, topic, busy, probe, ledger_probe)
            while then > topic.now:
                stop = next_bucket_end(inputs, topic.scenario, topic.now, then)
                leap(lists, topics, inputs, topic, busy, own, owners, ledgers, words, probe, ledger_probe, stop)
                tell_traffic_of(lists, topics, inputs, topic)
    if topic.now == inputs.scenarios[topic.scenario].rounds and not any_full(topics, topic, lists.filled[0]):
        for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
            check_end(lists, inputs, topics.ledgers[at])
            finish(lists, inputs, topics.ledgers[at])


@compiled
def tell_traffic_of(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """Where a time bucket ends: of all ledgers, also of those that were deleted in it."""
    if not is_bucket_end(inputs, topic.scenario, topic.now):
        return
    for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
        tell_traffic(lists, inputs, topics.ledgers[at], topic.now, is_on_bookies(topics.parts[at]))


@compiled
def any_full(topics: TopicLists, topic: Topic, spans: Spans) -> bool:
    """Whether a list of some ledger, or an output, had no room."""
    full = outputs_full(spans)
    for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
        full = full or is_full(topics.ledgers[at])
    return full


@compiled
def load_topic(old: TopicState, topics: TopicLists, topic: Topic, number: int, words: Words, topic_words: TopicWords) -> None:
    """A topic's ledgers, and all their lists, into the scratch arrays."""
    seats = len(topic_words.ledgers)
    load(topic.ledgers, old.parts, number, topic_words.parts, 0, seats)
    load(topic.ledgers, old.ledgers, number, topic_words.ledgers, 0, seats)
    load(topic.owners, old.owners, number, topic_words.owners, 0, len(topic_words.owners))
    first = old.ledgers.offsets[number]
    for seat in range(topic.ledgers.count):
        load_lists(old.lists, topics.ledgers[seat], first + seat, words, seat, seats)


@compiled
def store_topic(new: TopicState, topics: TopicLists, topic: Topic, number: int, words: Words, topic_words: TopicWords) -> bool:
    """Pack what `load_topic` loaded. False: there is no room."""
    fits = store(topic.ledgers, new.parts, number, topic_words.parts)
    fits = fits and store(topic.ledgers, new.ledgers, number, topic_words.ledgers)
    fits = fits and store(topic.owners, new.owners, number, topic_words.owners)
    if not fits:
        return False
    first = new.ledgers.offsets[number]
    for seat in range(topic.ledgers.count):
        fits = fits and store_lists(new.lists, topics.ledgers[seat], first + seat, words)
    return fits


@entry_point
def play_topics(
    old: TopicState,
    new: TopicState,
    empty: State,
    inputs: Inputs,
    lists: Lists,
    topics: TopicLists,
    words: Words,
    topic_words: TopicWords,
    probe: TopicProbe,
    ledger_probe: Probe,
    first: int,
    last: int,
    is_played: bool,
) -> tuple[int, int]:
    """Topics [first, last), the first of which may be played and only lack room in the new state; `empty`: of a new ledger.

    Returns (where it stopped, why).
    """
    spans = lists.filled[0]
    for number in range(first, last):
        topic = new.topics[number]
        if not is_played:
            events, violations, witness = spans.events.count, spans.violations.count, spans.witness.count
            traffic, asked = spans.traffic.count, spans.asked.count
            for word in range(topic_words.topics.shape[1]):
                topic_words.topics[number, word] = topic_words.old_topics[number, word]
            load_topic(old, topics, topic, number, words, topic_words)
            if not topic.ledgers.full and not topic.owners.full and not any_full(topics, topic, spans):
                play_topic(lists, topics, inputs, topic, words, empty, number, topic_words, probe, ledger_probe)
            seats_full = topic.ledgers.full or topic.owners.full
            if seats_full or any_full(topics, topic, spans):
                spans.events.count, spans.violations.count, spans.witness.count = events, violations, witness
                spans.traffic.count, spans.asked.count = traffic, asked
                return number, SEATS_FULL if seats_full else SCRATCH_FULL
        if not store_topic(new, topics, topic, number, words, topic_words):
            return number, OUTPUT_FULL
        is_played = False
    return last, DONE
