"""One round of one topic: its list, the rounds of its ledgers, what became of its messages."""

from __future__ import annotations

from emulator.rounds.bookkeeper.check_invariants import witness
from emulator.rounds.bookkeeper.constants import CLOSED, NEVER, NO_ENTRY, NOBODY
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.invariants import ACKED_ARE_LISTED
from emulator.rounds.bookkeeper.ledger_lists import Words
from emulator.rounds.bookkeeper.play_round import play_round, read_on
from emulator.rounds.bookkeeper.records import Lists
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.bookkeeper.topics.delete_old import delete_old
from emulator.rounds.bookkeeper.topics.offload import offload
from emulator.rounds.bookkeeper.topics.read_list import read_list
from emulator.rounds.bookkeeper.topics.records import Topic, TopicLists
from emulator.rounds.bookkeeper.topics.serve_list import serve_list
from emulator.rounds.bookkeeper.topics.take_results import hand_over, take_results
from emulator.rounds.bookkeeper.topics.take_topic_inputs import take_topic_inputs
from emulator.rounds.bookkeeper.topics.the_list import is_on_bookies, is_read_on
from emulator.rounds.compiled import compiled
from emulator.rounds.leaps import is_due
from emulator.rounds.lists import last


@compiled
def play_topic_round(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic, words: Words, empty: State) -> None:
    """Play round `topic.now`."""
    rules = inputs.rules[inputs.scenarios[topic.scenario].rules]
    take_topic_inputs(lists, topics, inputs, topic)
    is_store_up = inputs.store_spans[topic.store_span].up
    if is_store_up:
        serve_list(lists, topics, inputs, topic, rules, words, empty)
    hand_over(lists, topics, topic)
    acked_before = acked_of(topics, topic)
    for _ in range(topic.readers):
        read_list(lists, topics, inputs, topic)
    play_ledgers_of(lists, topics, inputs, topic)
    take_results(lists, topics, inputs, topic)
    count_messages(topics, topic, acked_before)
    check_list(lists, topics, topic)
    settings = inputs.topics[topic.topic_settings]
    checks = is_due(topic.now, settings.round_ms, settings.check_ms) or goes_on_to_a_new_ledger(topics, topic)
    checks = checks and is_store_up == 1
    if checks:
        delete_old(lists, topics, inputs, topic)
    offload(lists, topics, inputs, topic, checks)
    topic.now += 1


@compiled
def goes_on_to_a_new_ledger(topics: TopicLists, topic: Topic) -> bool:
    """Whether the last owner put a ledger into the list in this round that is not the topic's first: subscriptions go on to it.

    Source: ManagedLedgerImpl.createComplete, onCursorMarkDeletePositionUpdated, upon which it looks for what may go.
    """
    found = False
    for number in range(1, topic.ledgers.count):
        part = topics.parts[topic.ledgers.start + number]
        if part.created_round == topic.now and part.owner == topic.owners.count - 1:
            found = True
    return found


@compiled
def play_ledgers_of(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """The rounds of all ledgers that bookies have. Of others those end that are being read; nothing else happens to them."""
    for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
        part, ledger = topics.parts[at], topics.ledgers[at]
        if is_read_on(part, ledger):
            read_on(lists, inputs, ledger)
        if not is_on_bookies(part):
            continue
        play_round(lists, inputs, ledger)
        if ledger.state == CLOSED and part.closed_round == NEVER:
            part.closed_round = topic.now


@compiled
def acked_of(topics: TopicLists, topic: Topic) -> int:
    """Entries of all ledgers that are acknowledged."""
    count = 0
    for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
        count += topics.ledgers[at].lac + 1
    return count


@compiled
def count_messages(topics: TopicLists, topic: Topic, acked_before: int) -> None:
    """Unwritable is a round at whose end messages of the last owner wait, and in which nobody acknowledged any."""
    owner = topics.owners[last(topic.owners)]
    unacked = topic.messages - owner.from_message
    if owner.part != NOBODY:
        at = topic.ledgers.start + owner.part
        unacked = topic.messages - topics.parts[at].first_message - topics.ledgers[at].lac - 1
    topic.unacked = unacked
    topic.unacked_rounds += unacked
    if unacked > 0 and acked_of(topics, topic) == acked_before:
        topic.unwritable_rounds += 1


@compiled
def check_list(lists: Lists, topics: TopicLists, topic: Topic) -> None:
    """AckedMessagesAreListed: acknowledged messages stand in ledgers of the list, until retention deletes these."""
    for at in range(topic.ledgers.start, topic.ledgers.start + topic.ledgers.count):
        part, ledger = topics.parts[at], topics.ledgers[at]
        if part.dropped_round == NEVER or part.deleted_round != NEVER or part.unlisted or ledger.lac < 0:
            continue
        part.unlisted = 1
        now = ledger.now
        ledger.now = topic.now  # its own round is over
        witness(lists, ledger, ACKED_ARE_LISTED, NO_ENTRY)
        ledger.now = now
