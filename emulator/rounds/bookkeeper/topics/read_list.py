"""A reader of a topic: all ledgers of the list, offloaded ones from the remote store (docs/bookkeeper_rounds.md, Readers)."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.held import bytes_up_to
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.read_entries import serve_reader
from emulator.rounds.bookkeeper.records import Lists
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import entries_of_ledger, is_listed
from emulator.rounds.lists import every


@compiled
def read_list(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """What the remote store has comes from there, as long as it is up (managedLedgerDataReadPriority: tiered-storage-first)."""
    remote = inputs.remote_spans[topic.remote_span]
    for at in every(topic.ledgers):
        ledger = topics.ledgers[at]
        if not is_listed(topics.parts[at]):
            continue
        if not ledger.offloaded:
            serve_reader(lists, inputs, ledger)
        elif remote.up:
            ledger.reader_remote_bytes += bytes_up_to(inputs, ledger, entries_of_ledger(ledger))
