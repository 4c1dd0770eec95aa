"""What comes from outside to a topic in a round: takeovers, crashes of who serves it, messages that are due."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import (
    FOREVER,
    NO_FAULT,
    NOBODY,
    READ_TOPIC,
    RECOVER,
    STOPPED,
    TAKE_OVER,
    TAKE_OVER_EVENT,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Lists
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import tell_of_part
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append, last


@compiled
def take_topic_inputs(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """Takeovers first, then a crash, then messages, which are the last owner's."""
    topic.readers = 0
    while inputs.commands[topic.command].at_round <= topic.now:
        if inputs.commands[topic.command].kind == TAKE_OVER:
            take_over(lists, topics, topic)
        elif inputs.commands[topic.command].kind == READ_TOPIC:
            topic.readers += 1
        topic.command += 1
    while inputs.crashes[topic.crash].at_round <= topic.now:
        owner = topics.owners[last(topic.owners)]
        if inputs.crashes[topic.crash].at_round == topic.now:
            topic.crash_cause = inputs.crashes[topic.crash].fault
            if owner.part == NOBODY:
                owner.phase = STOPPED  # it writes no ledger, and adds none
        topic.crash += 1
    while inputs.workload[topic.workload + 1].from_round <= topic.now:
        topic.workload += 1
    while inputs.store_spans[topic.store_span + 1].from_round <= topic.now:
        topic.store_span += 1
    while inputs.remote_spans[topic.remote_span + 1].from_round <= topic.now:
        topic.remote_span += 1
    topic.messages += inputs.workload[topic.workload].entries


@compiled
def take_over(lists: Lists, topics: TopicLists, topic: Topic) -> None:
    """Another broker serves the topic; messages that are due from this round on go to it."""
    topics.owners[last(topic.owners)].to_message = topic.messages
    owner = topics.owners[append(topic.owners)]
    owner.phase = RECOVER
    owner.version = 0
    owner.known_parts = 0
    owner.part = NOBODY
    owner.from_message = topic.messages
    owner.to_message = FOREVER
    owner.waits_for = NOBODY
    owner.waits_for_too = NOBODY
    owner.cause = topic.crash_cause
    topic.crash_cause = NO_FAULT
    tell_of_part(lists, topic, TAKE_OVER_EVENT, NOBODY, owner.cause)
