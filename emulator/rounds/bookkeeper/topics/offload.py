"""Offloading: closed ledgers go to a remote store, whole ones, and later from the bookies (PIP-17)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import (
    BOOKIES_FREED,
    NEVER,
    NO_LIMIT,
    NOBODY,
    OFFLOAD_FAILED,
    OFFLOAD_STARTED,
    OFFLOADED,
    WRITER,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.lost_entries import next_edge, readable_copies
from emulator.rounds.bookkeeper.read_entries import read_entries
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import bytes_of, entries_of_ledger, is_listed, tell_of_part
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def offload(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic, checks: bool) -> None:
    """The copy under way, those that are due, one after the other, and in rounds of retention what bookies may delete."""
    if a_writer_closed(topics, topic):
        topic.looks_for_due = 1
    if topic.offloading != NOBODY:
        go_on_copying(lists, topics, inputs, topic)
    if topic.offloading == NOBODY:
        begin_copies(lists, topics, inputs, topic)
        if topic.looks_for_due and topic.offloading == NOBODY:
            find_due(topics, inputs, topic)
            begin_copies(lists, topics, inputs, topic)
    if checks:
        free_bookies(lists, topics, inputs, topic)


@compiled
def a_writer_closed(topics: TopicLists, topic: Topic) -> bool:
    """Whether a writer closed its ledger in this round, upon which it looks for what is to be copied.

    Source: ManagedLedgerImpl.ledgerClosed; who opens a topic does not (triggerOffloadOnTopicLoad).
    """
    found = False
    for at in every(topic.ledgers):
        if topics.parts[at].closed_round == topic.now and topics.ledgers[at].closed_by == WRITER:
            found = True
    return found


@compiled
def find_due(topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """All ledgers that are to be copied now (ManagedLedgerImpl.maybeOffload)."""
    for number in range(topic.ledgers.count):
        topics.parts[topic.ledgers.start + number].is_to_be_copied = int(is_due(topics, inputs, topic, number))
    topic.looks_for_due = 0


@compiled
def begin_copies(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """The next copy of those that are due is begun. While the remote store is away each fails at once (offloadLoop)."""
    for number in range(topic.ledgers.count):
        part = topics.parts[topic.ledgers.start + number]
        if topic.offloading != NOBODY or not part.is_to_be_copied:
            continue
        part.is_to_be_copied = 0
        if not is_listed(part):
            continue
        if inputs.remote_spans[topic.remote_span].up:
            topic.offloading = number
            part.offload_started_round = topic.now
            tell_of_part(lists, topic, OFFLOAD_STARTED, number)
        else:
            part.copy_errors += 1


@compiled
def go_on_copying(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """As many bytes as the store takes. In an outage, or when retention deleted the ledger, nothing of the copy stays."""
    number, remote = topic.offloading, inputs.remote_spans[topic.remote_span]
    part, ledger = topics.parts[topic.ledgers.start + number], topics.ledgers[topic.ledgers.start + number]
    if part.deleted_round != NEVER or not remote.up:
        part.given_up_bytes += part.copied_bytes
        part.copied_bytes = 0
        topic.offloading = NOBODY
        if part.deleted_round == NEVER:
            part.copy_errors += 1
            tell_of_part(lists, topic, OFFLOAD_FAILED, number, remote.outage)
        return
    if not is_readable(lists, inputs, ledger):
        return
    size, read_before = bytes_of(inputs, topic, ledger), part.copied_bytes
    part.copied_bytes = size if remote.copy_bytes == NO_LIMIT else min(size, part.copied_bytes + remote.copy_bytes)
    read_copied(lists, inputs, ledger, read_before, part.copied_bytes, size)
    if part.copied_bytes == size:
        part.offloaded_round = topic.now
        ledger.offloaded = 1
        topic.offloading = NOBODY
        tell_of_part(lists, topic, OFFLOADED, number)


@compiled
def read_copied(lists: Lists, inputs: Inputs, ledger: Ledger, from_bytes: int, to_bytes: int, size: int) -> None:
    """What is copied is read: the entries whose part of the ledger's bytes has been moved."""
    entries = entries_of_ledger(ledger)
    first = from_bytes * entries // max(1, size)
    end = entries if to_bytes == size else to_bytes * entries // size
    ledger.offload_read_bytes += read_entries(lists, inputs, ledger, first, end)


@compiled
def is_readable(lists: Lists, inputs: Inputs, ledger: Ledger) -> bool:
    """Whether every entry is on some heard bookie of its write set."""
    settings, end, entry = inputs.settings[ledger.settings], ledger.last_entry + 1, 0
    while entry < end:
        edge = next_edge(lists, ledger, entry, end)
        for near in range(entry, min(entry + settings.ensemble_size, edge)):
            if readable_copies(lists, settings, ledger, near) == 0:
                return False
        entry = edge
    return True


@compiled
def is_due(topics: TopicLists, inputs: Inputs, topic: Topic, number: int) -> bool:
    """Whether a ledger is to be copied: closed, not empty, and there is too much from it on, or it was closed long enough ago."""
    settings = inputs.topics[topic.topic_settings]
    part = topics.parts[topic.ledgers.start + number]
    if not is_listed(part) or part.closed_round == NEVER or part.offloaded_round != NEVER:
        return False
    if entries_of_ledger(topics.ledgers[topic.ledgers.start + number]) == 0:
        return False
    if settings.offload_rounds >= 0 and topic.now - part.closed_round >= settings.offload_rounds:
        return True
    if settings.offload_bytes < 0:
        return False
    size = 0
    for other in range(number, topic.ledgers.count):
        one = topics.parts[topic.ledgers.start + other]
        if is_listed(one) and one.closed_round != NEVER and one.offloaded_round == NEVER:
            size += bytes_of(inputs, topic, topics.ledgers[topic.ledgers.start + other])
    return size > settings.offload_bytes


@compiled
def free_bookies(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """What was offloaded for longer than the lag goes from the bookies."""
    settings = inputs.topics[topic.topic_settings]
    for number in range(topic.ledgers.count):
        part = topics.parts[topic.ledgers.start + number]
        if not is_listed(part) or part.offloaded_round == NEVER or part.freed_round != NEVER:
            continue
        if topic.now - part.offloaded_round > settings.lag_rounds:
            part.freed_round = topic.now
            tell_of_part(lists, topic, BOOKIES_FREED, number)
