"""Retention: whole ledgers go from the front of the list, never the last."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import LEDGER_DELETED, NEVER
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Lists
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import bytes_of, is_listed, listed_before, tell_of_part
from emulator.rounds.compiled import compiled


@compiled
def delete_old(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """CLOSED ledgers that are too old, or more than there may be with what is behind them. Owners that knew the list still do."""
    settings = inputs.topics[topic.topic_settings]
    total = 0
    for number in range(topic.ledgers.count):
        if is_listed(topics.parts[topic.ledgers.start + number]):
            total += bytes_of(inputs, topic, topics.ledgers[topic.ledgers.start + number])
    newest = listed_before(topics, topic, topic.ledgers.count)
    for number in range(newest):
        part = topics.parts[topic.ledgers.start + number]
        if not is_listed(part):
            continue
        if part.closed_round == NEVER:
            return
        size = bytes_of(inputs, topic, topics.ledgers[topic.ledgers.start + number])
        expired = settings.retention_rounds >= 0 and topic.now - part.closed_round > settings.retention_rounds
        too_much = settings.retention_bytes >= 0 and total - size >= settings.retention_bytes
        if not expired and not too_much:
            return
        part.deleted_round = topic.now
        tell_of_part(lists, topic, LEDGER_DELETED, number)
        total -= size
        topic.version += 1
        for at in range(topic.owners.start, topic.owners.start + topic.owners.count):
            if topics.owners[at].version == topic.version - 1:
                topics.owners[at].version = topic.version
