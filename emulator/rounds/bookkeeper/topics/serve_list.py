"""What owners do with the list in the metadata store: read it and recover its end, add a ledger to it (before step 2)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import (
    CLOSED,
    CREATE,
    LEDGER_CREATED,
    NEVER,
    NO_FAULT,
    NOBODY,
    NOT_YET,
    OWNERS,
    RECOVER,
    STOPPED,
    WAIT,
    WRITE_LEDGER,
)
from emulator.rounds.bookkeeper.inputs import Inputs, Rules
from emulator.rounds.bookkeeper.ledger_lists import Words, load_lists
from emulator.rounds.bookkeeper.placement import new_ensemble
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import start_recovery
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.bookkeeper.topics.records import Owner, Part, Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import is_listed, listed_before, tell_of_part
from emulator.rounds.compiled import compiled
from emulator.rounds.entries import copy_record
from emulator.rounds.lists import append, keep_first


@compiled
def serve_list(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic, rules: Rules, words: Words, empty: State) -> None:
    """Each owner's turn with the list, in their order; the store is up. `empty`: what a new ledger starts with."""
    for number in range(topic.owners.count):
        owner = topics.owners[topic.owners.start + number]
        if owner.phase == RECOVER:
            read_list(lists, topics, topic, owner, number)
        elif owner.phase == WAIT and is_closed(topics, topic, owner.waits_for) and is_closed(topics, topic, owner.waits_for_too):
            owner.phase = CREATE
        if owner.phase != CREATE:
            continue
        if rules.list_is_checked and owner.version != topic.version:
            # Somebody else changed the list: who serves the topic looks again, an old owner gives up.
            owner.phase = RECOVER if number == topic.owners.count - 1 else STOPPED
            continue
        add_ledger(lists, topics, inputs, topic, owner, number, words, empty)


@compiled
def read_list(lists: Lists, topics: TopicLists, topic: Topic, owner: Owner, number: int) -> None:
    """A takeover reads the list and recovers its last two ledgers, those that bookies still have."""
    owner.version = topic.version
    owner.known_parts = topic.ledgers.count
    owner.waits_for = listed_before(topics, topic, topic.ledgers.count)
    owner.waits_for_too = listed_before(topics, topic, owner.waits_for) if owner.waits_for != NOBODY else NOBODY
    for waited in (owner.waits_for_too, owner.waits_for):
        if waited != NOBODY and topics.parts[topic.ledgers.start + waited].freed_round == NEVER:
            start_recovery(lists, topics.ledgers[topic.ledgers.start + waited], OWNERS - number, 1, owner.cause)
    owner.phase = WAIT


@compiled
def is_closed(topics: TopicLists, topic: Topic, number: int) -> bool:
    """Whether a ledger that an owner waits for is CLOSED."""
    return number == NOBODY or topics.ledgers[topic.ledgers.start + number].state == CLOSED


@compiled
def add_ledger(
    lists: Lists,
    topics: TopicLists,
    inputs: Inputs,
    topic: Topic,
    owner: Owner,
    owner_number: int,
    words: Words,
    empty: State,
) -> None:
    """Create a ledger and put it into the list, by one compare-and-set; without an ensemble it is tried again.

    A mutant doesn't check: what is in the list and not in the one that the owner knows isn't in the new one.
    """
    number = topic.ledgers.count
    at = append(topic.ledgers)
    ledger = topics.ledgers[at]
    copy_record(empty.ledgers, 0, topics.ledgers, at)
    set_of_topic(inputs, topic, ledger, number)
    load_lists(empty, ledger, 0, words, at, len(topics.ledgers))
    fragment, row = append(ledger.fragments), append(ledger.own)
    lists.fragments[fragment].first_entry = 0
    if not new_ensemble(lists, inputs, ledger, lists.ensembles, fragment, topic.first_bookie + number):
        keep_first(topic.ledgers, number)
        return
    for index in range(lists.own.shape[1]):
        lists.own[row, index] = lists.ensembles[fragment, index]
    if owner.version != topic.version:
        for earlier in range(owner.known_parts, number):
            part = topics.parts[topic.ledgers.start + earlier]
            if is_listed(part):
                part.dropped_round = topic.now
    note_part(topics.parts[at], owner, owner_number, topic.now)
    ledger.first_message = owner.from_message
    tell_of_part(lists, topic, LEDGER_CREATED, number, owner.cause, owner.from_message)
    owner.cause = NO_FAULT
    topic.version += 1
    owner.version = topic.version
    owner.known_parts = topic.ledgers.count
    owner.part = number
    owner.phase = WRITE_LEDGER


@compiled
def set_of_topic(inputs: Inputs, topic: Topic, ledger: Ledger, number: int) -> None:
    """What a ledger has of its topic; it gets its entries from its owner."""
    ledger.number = topic.number
    ledger.place = topic.place
    ledger.in_list = number
    ledger.scenario = topic.scenario
    ledger.settings = topic.settings
    ledger.first_on_the_way = topic.first_on_the_way
    ledger.on_the_way = topic.on_the_way
    ledger.crash_round = inputs.crashes[topic.crash].at_round
    ledger.crash_fault = inputs.crashes[topic.crash].fault
    ledger.first_size = topic.first_size
    ledger.size_count = topic.size_count
    ledger.end = topic.end
    ledger.now = topic.now
    ledger.next_change = topic.now
    ledger.workload = topic.no_workload
    ledger.command = first_command(inputs, topic)
    ledger.store_span = topic.store_span
    ledger.store_up = 1
    ledger.max_in_flight = topic.max_in_flight


@compiled
def first_command(inputs: Inputs, topic: Topic) -> int:
    """The place of the first of this round's commands, which a ledger that is created in it obeys, too."""
    command = topic.command
    while command > topic.first_command and inputs.commands[command - 1].at_round == topic.now:
        command -= 1
    return command


@compiled
def note_part(part: Part, owner: Owner, owner_number: int, now: int) -> None:
    """What the topic knows of a ledger that an owner just created."""
    part.owner = owner_number
    part.first_message = owner.from_message
    part.created_round = now
    part.closed_round = NEVER
    part.rolled_over = NOT_YET
    part.deleted_round = NEVER
    part.dropped_round = NEVER
    part.copied_bytes = 0
    part.is_to_be_copied = 0
    part.copy_errors = 0
    part.given_up_bytes = 0
    part.offload_started_round = NEVER
    part.offloaded_round = NEVER
    part.freed_round = NEVER
    part.unlisted = 0
