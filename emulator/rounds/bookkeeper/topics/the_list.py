"""What a topic's list of ledgers says: which are in it, what they have, what it tells."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import ALL_BETWEEN, CLOSED, NEVER, NO_ENTRY, NO_FAULT, NOBODY
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.topics.records import Part, Topic, TopicLists
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import append


@compiled_into_callers
def is_listed(part: Part) -> bool:
    """Whether the list has a ledger: it isn't deleted, and nobody wrote a list without it over the one that had it."""
    return part.deleted_round == NEVER and part.dropped_round == NEVER


@compiled_into_callers
def is_on_bookies(part: Part) -> bool:
    """Whether bookies have a ledger: neither retention nor offloading deleted it."""
    return part.deleted_round == NEVER and part.freed_round == NEVER


@compiled_into_callers
def is_read_on(part: Part, ledger: Ledger) -> bool:
    """Whether somebody still reads a ledger that was deleted: bookies keep it until they collect garbage (gcWaitTime)."""
    return not is_on_bookies(part) and ledger.reads.count > 0


@compiled
def listed_before(topics: TopicLists, topic: Topic, number: int) -> int:
    """The number of the last ledger of the list below a number, NOBODY if there is none."""
    for earlier in range(number - 1, -1, -1):
        if is_listed(topics.parts[topic.ledgers.start + earlier]):
            return earlier
    return NOBODY


@compiled_into_callers
def entries_of_ledger(ledger: Ledger) -> int:
    """So many entries a ledger has, acknowledged or recovered."""
    return (ledger.last_entry if ledger.state == CLOSED else ledger.lac) + 1


@compiled_into_callers
def bytes_of(inputs: Inputs, topic: Topic, ledger: Ledger) -> int:
    """Bytes of a ledger's entries, as rollover, retention and offloading count them."""
    own = entries_of_ledger(ledger) - ledger.first_own_entry
    return ledger.given_bytes + own * inputs.topics[topic.topic_settings].entry_bytes


@compiled
def tell_of_part(lists: Lists, topic: Topic, kind: int, number: int, cause: int = NO_FAULT, message: int = NO_ENTRY) -> None:
    """An event of the topic, about one of its ledgers or, NOBODY, about itself; `message`: the one that it is about."""
    event = lists.events[append(lists.filled[0].events)]
    event.ledger = topic.place
    event.in_list = number
    event.at_round = topic.now
    event.kind = kind
    event.broker = NOBODY
    event.from_entry = message
    event.to_entry = NO_ENTRY
    event.entries = ALL_BETWEEN
    event.cause = cause
