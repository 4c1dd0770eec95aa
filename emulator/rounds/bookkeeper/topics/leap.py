"""Leaps over quiet rounds of a topic: one ledger at most is busy, and that one only drifts; nobody is about the list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.bookkeeper import leap as of_ledger
from emulator.rounds.bookkeeper.constants import FOREVER, NEVER, NOBODY, STOPPED, WRITE_LEDGER
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.ledger_lists import Words
from emulator.rounds.bookkeeper.play_round import is_idle
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.topics.records import Owner, Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import bytes_of, entries_of_ledger, is_listed, is_on_bookies, is_read_on
from emulator.rounds.compiled import compiled
from emulator.rounds.leaps import move_counters, next_due, remember, sum_of_drift, take_drift
from emulator.rounds.lists import every
from emulator.rounds.records import kinds_of, word_of

TOPIC_KINDS = np.array(kinds_of(Topic), np.int64)
OWNER_KINDS = np.array(kinds_of(Owner), np.int64)
MESSAGES, TOPIC_UNACKED = word_of(Topic, "messages"), word_of(Topic, "unacked")
FROM_MESSAGE, LAC = word_of(Owner, "from_message"), word_of(Ledger, "lac")
"""Places of fields among the words of their records."""


class TopicProbe(NamedTuple):
    """What leaps compare of a topic: words of the round before, and drifts."""

    topic: np.ndarray
    topic_drift: np.ndarray
    owners: np.ndarray
    owner_drifts: np.ndarray


@compiled
def busy_ledger(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> int:
    """The number of the only ledger in which something may happen, NOBODY: there is none, or there are several."""
    found, count = NOBODY, 0
    for number in range(topic.ledgers.count):
        at = topic.ledgers.start + number
        is_busy = is_on_bookies(topics.parts[at]) and not is_idle(lists, inputs, topics.ledgers[at])
        if is_busy or is_read_on(topics.parts[at], topics.ledgers[at]):
            found = number
            count += 1
    return found if count == 1 else NOBODY


@compiled
def is_quiet(
    topics: TopicLists,
    topic: Topic,
    busy: int,
    topic_words: np.ndarray,
    owner_words: np.ndarray,
    ledger_words: np.ndarray,
    words: Words,
    probe: TopicProbe,
    ledger_probe: of_ledger.Probe,
) -> bool:
    """Whether the round just played did nothing but what the round before did."""
    quiet = take_drift(TOPIC_KINDS, topic_words, probe.topic, probe.topic_drift)
    for at in every(topic.owners):
        if topics.owners[at].phase not in (WRITE_LEDGER, STOPPED):
            quiet = False
        if not take_drift(OWNER_KINDS, owner_words[at], probe.owners[at], probe.owner_drifts[at]):
            quiet = False
    ledger = topics.ledgers[topic.ledgers.start + busy]
    return of_ledger.is_quiet(ledger, ledger_words[topic.ledgers.start + busy], words, ledger_probe) and quiet


@compiled
def horizon(
    lists: Lists,
    topics: TopicLists,
    inputs: Inputs,
    topic: Topic,
    busy: int,
    probe: TopicProbe,
    ledger_probe: of_ledger.Probe,
) -> int:
    """The next round, from `topic.now` on, that has to be played."""
    if topic.offloading != NOBODY:
        return topic.now
    written = topics.ledgers[topic.ledgers.start + busy]
    due = min(topic.end, of_ledger.horizon(lists, inputs, written, ledger_probe.ledger_drift))
    due = min(due, inputs.workload[topic.workload + 1].from_round, inputs.commands[topic.command].at_round)
    due = min(due, inputs.crashes[topic.crash].at_round, inputs.store_spans[topic.store_span + 1].from_round)
    due = min(due, inputs.remote_spans[topic.remote_span + 1].from_round)
    for number in range(topic.ledgers.count):
        at = topic.ledgers.start + number
        if number != busy and is_on_bookies(topics.parts[at]):
            due = min(due, topics.ledgers[at].next_change)
    due = min(due, until_rollover(topics, inputs, topic, busy, ledger_probe.ledger_drift[LAC]))
    due = min(due, until_messages_are_out(topics, topic, probe))
    due = min(due, until_retention(topics, inputs, topic, ledger_probe.ledger_drift[LAC]))
    due = min(due, until_offloading(topics, inputs, topic))
    return max(due, topic.now)


@compiled
def until_rollover(topics: TopicLists, inputs: Inputs, topic: Topic, busy: int, acked: int) -> int:
    """The round in which a ledger that an owner writes may be full, or old: also that of one who doesn't know of its end yet."""
    due = FOREVER
    for at in every(topic.owners):
        owner = topics.owners[at]
        if owner.phase == WRITE_LEDGER:
            due = min(due, until_full_or_old(topics, inputs, topic, owner.part, acked if owner.part == busy else 0))
    return due


@compiled
def until_full_or_old(topics: TopicLists, inputs: Inputs, topic: Topic, number: int, acked: int) -> int:
    """The round in which a ledger of the list may be, which gets so many entries a round."""
    settings = inputs.topics[topic.topic_settings]
    part, ledger = topics.parts[topic.ledgers.start + number], topics.ledgers[topic.ledgers.start + number]
    due = FOREVER
    for age in (settings.min_age_rounds, settings.max_age_rounds):
        if part.created_round + age - 1 >= topic.now:
            due = min(due, part.created_round + age - 1)
    if acked > 0:
        entries = entries_of_ledger(ledger)
        if entries < settings.max_entries:
            due = min(due, topic.now + max(0, (settings.max_entries - entries) // acked - 1))
        size = bytes_of(inputs, topic, ledger)
        if size < settings.max_bytes and settings.entry_bytes > 0:
            due = min(due, topic.now + max(0, (settings.max_bytes - size) // (acked * settings.entry_bytes) - 1))
    return due


@compiled
def until_messages_are_out(topics: TopicLists, topic: Topic, probe: TopicProbe) -> int:
    """The round in which an owner may have handed over all that it has."""
    due = FOREVER
    for at in every(topic.owners):
        owner, moved = topics.owners[at], probe.owner_drifts[at, FROM_MESSAGE]
        end, end_moved = topic.messages, probe.topic_drift[MESSAGES]
        if owner.to_message != FOREVER:
            end, end_moved = owner.to_message, 0
        if owner.phase == WRITE_LEDGER and moved > end_moved:
            due = min(due, topic.now + max(0, (end - owner.from_message) // (moved - end_moved) - 2))
    return due


@compiled
def until_retention(topics: TopicLists, inputs: Inputs, topic: Topic, acked: int) -> int:
    """The round in which retention may delete the first ledger of the list."""
    settings = inputs.topics[topic.topic_settings]
    front, total, listed = NOBODY, 0, 0
    for number in range(topic.ledgers.count):
        if is_listed(topics.parts[topic.ledgers.start + number]):
            front = number if front == NOBODY else front
            total += bytes_of(inputs, topic, topics.ledgers[topic.ledgers.start + number])
            listed += 1
    if listed < 2 or topics.parts[topic.ledgers.start + front].closed_round == NEVER:
        return FOREVER
    due = FOREVER
    if settings.retention_rounds >= 0:
        due = topics.parts[topic.ledgers.start + front].closed_round + settings.retention_rounds + 1
    if settings.retention_bytes >= 0:
        left = settings.retention_bytes - total + bytes_of(inputs, topic, topics.ledgers[topic.ledgers.start + front])
        if left <= 0:
            due = topic.now
        elif acked > 0 and settings.entry_bytes > 0:
            due = min(due, topic.now + max(0, left // (acked * settings.entry_bytes) - 1))
    return FOREVER if due == FOREVER else next_due(max(due, topic.now), settings.round_ms, settings.check_ms)


@compiled
def until_offloading(topics: TopicLists, inputs: Inputs, topic: Topic) -> int:
    """The round in which bookies may delete a ledger that is offloaded."""
    settings = inputs.topics[topic.topic_settings]
    due = FOREVER
    for at in every(topic.ledgers):
        part = topics.parts[at]
        if is_listed(part) and part.offloaded_round != NEVER and part.freed_round == NEVER:
            free = max(topic.now, part.offloaded_round + settings.lag_rounds + 1)
            due = min(due, next_due(free, settings.round_ms, settings.check_ms))
    return due


@compiled
def leap(
    lists: Lists,
    topics: TopicLists,
    inputs: Inputs,
    topic: Topic,
    busy: int,
    topic_words: np.ndarray,
    owner_words: np.ndarray,
    ledger_words: np.ndarray,
    words: Words,
    probe: TopicProbe,
    ledger_probe: of_ledger.Probe,
    then: int,
) -> None:
    """Go on to round `then` at once."""
    rounds = then - topic.now
    for number in range(topic.ledgers.count):
        at = topic.ledgers.start + number
        if number == busy:
            of_ledger.leap(lists, inputs, topics.ledgers[at], ledger_words[at], words, ledger_probe, then)
        elif is_on_bookies(topics.parts[at]):
            topics.ledgers[at].now = then
    topic.unacked_rounds += sum_of_drift(topic.unacked, probe.topic_drift[TOPIC_UNACKED], rounds)
    for at in every(topic.owners):
        move_counters(OWNER_KINDS, owner_words[at], probe.owner_drifts[at], rounds)
        remember(owner_words[at], probe.owners[at])
    move_counters(TOPIC_KINDS, topic_words, probe.topic_drift, rounds)
    topic.now = then
    remember(topic_words, probe.topic)
