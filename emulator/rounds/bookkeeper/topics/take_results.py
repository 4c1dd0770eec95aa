"""What owners make of their ledgers' rounds: messages handed over (step 3), acknowledged, ledgers rolled over (step 6)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.adds import pending
from emulator.rounds.bookkeeper.constants import (
    BY_AGE,
    BY_ENTRIES,
    BY_FAILURE,
    BY_SIZE,
    CLOSE_LEDGER_FIRST,
    CREATE,
    FENCED_OFF,
    LEDGER_ROLLED_OVER,
    NEVER,
    NO_FAULT,
    NOBODY,
    NOT_YET,
    SHUT,
    STOPPED,
    WRITE_LEDGER,
    WRITER,
    WRITER_CRASHED,
    WRITING,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.take_inputs import ask_to_close
from emulator.rounds.bookkeeper.topics.records import Owner, Part, Topic, TopicLists
from emulator.rounds.bookkeeper.topics.the_list import bytes_of, entries_of_ledger, tell_of_part
from emulator.rounds.compiled import compiled


@compiled
def hand_over(lists: Lists, topics: TopicLists, topic: Topic) -> None:
    """Messages go to the ledger that their owner writes, as many as it can send; the others wait."""
    for number in range(topic.owners.count):
        owner = topics.owners[topic.owners.start + number]
        if owner.phase != WRITE_LEDGER or topics.parts[topic.ledgers.start + owner.part].deleted_round != NEVER:
            continue
        ledger = topics.ledgers[topic.ledgers.start + owner.part]
        if ledger.writer != WRITING:
            continue
        room = max(0, ledger.max_in_flight - pending(lists, ledger, WRITER))
        count = min(room, min(owner.to_message, topic.messages) - owner.from_message)
        owner.from_message += count
        ledger.queued += count


@compiled
def take_results(lists: Lists, topics: TopicLists, inputs: Inputs, topic: Topic) -> None:
    """Each owner looks at the ledger that it writes."""
    for number in range(topic.owners.count):
        owner = topics.owners[topic.owners.start + number]
        if owner.part == NOBODY:
            continue
        part, ledger = topics.parts[topic.ledgers.start + owner.part], topics.ledgers[topic.ledgers.start + owner.part]
        if part.deleted_round == NEVER:
            look_at(lists, inputs, topic, owner, part, ledger, number == topic.owners.count - 1)


@compiled
def look_at(lists: Lists, inputs: Inputs, topic: Topic, owner: Owner, part: Part, ledger: Ledger, serves: bool) -> None:
    """Go on to the next ledger when this one is full or failed, with what wasn't acknowledged. A fenced old owner stops.

    Source: ManagedLedgerImpl.currentLedgerIsFull, which is false while the store is away.
    """
    taken_over = not serves and ledger.told_fenced
    if ledger.writer == WRITER_CRASHED or taken_over:
        leave(owner, part, ledger, STOPPED)
    elif ledger.writer in (SHUT, FENCED_OFF):
        roll_over(lists, topic, part, owner.part, BY_FAILURE, ledger.stop_cause)
        owner.cause = ledger.stop_cause
        leave(owner, part, ledger, CREATE)
    elif ledger.writer == WRITING:
        why = why_full(inputs, topic, part, ledger)
        if why != NOT_YET and (inputs.store_spans[topic.store_span].up or owner.phase == CLOSE_LEDGER_FIRST):
            roll_over(lists, topic, part, owner.part, why, NO_FAULT)
            owner.phase = CLOSE_LEDGER_FIRST  # nothing new; what is in flight gets done
            if pending(lists, ledger, WRITER) == 0:
                ask_to_close(lists, ledger)


@compiled
def leave(owner: Owner, part: Part, ledger: Ledger, phase: int) -> None:
    """The owner writes the ledger no more; what wasn't acknowledged it hands over again, to the next one."""
    owner.from_message = part.first_message + ledger.lac + 1
    owner.part = NOBODY
    owner.phase = phase


@compiled
def roll_over(lists: Lists, topic: Topic, part: Part, number: int, why: int, cause: int) -> None:
    """Note why, once."""
    if part.rolled_over == NOT_YET:
        part.rolled_over = why
        tell_of_part(lists, topic, LEDGER_ROLLED_OVER, number, cause)


@compiled
def why_full(inputs: Inputs, topic: Topic, part: Part, ledger: Ledger) -> int:
    """By entries or bytes, but not before the least age; by the largest age, if it has any entry."""
    settings = inputs.topics[topic.topic_settings]
    age, entries = topic.now + 1 - part.created_round, entries_of_ledger(ledger)
    if age >= settings.max_age_rounds:
        return BY_AGE if entries > 0 else NOT_YET
    if age < settings.min_age_rounds:
        return NOT_YET
    if entries >= settings.max_entries:
        return BY_ENTRIES
    return BY_SIZE if bytes_of(inputs, topic, ledger) >= settings.max_bytes else NOT_YET
