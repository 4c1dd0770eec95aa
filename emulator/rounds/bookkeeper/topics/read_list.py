"""A reader of a topic: all ledgers of the list, offloaded ones from the remote store (docs/bookkeeper_rounds.md, Readers)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Lists
from emulator.rounds.bookkeeper.serve_readers import read_remotely
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import entries_of_ledger, is_listed
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def read_list(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """A reader begins all ledgers: offloaded ones in the store (managedLedgerDataReadPriority: tiered-storage-first)."""
    remote = inputs.remote_spans[topic.remote_span]
    for at in every(topic.ledgers):
        ledger = topics.ledgers[at]
        if not is_listed(topics.parts[at]):
            continue
        if not ledger.offloaded:
            ledger.new_readers += 1
        else:
            read_remotely(lists, inputs, ledger, entries_of_ledger(ledger), topic.now, remote.up)
