"""Writing down what happened: rows of `events`."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import ACKED_LOST, ALL_BETWEEN, NO_ENTRY, NOBODY
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import append


@compiled
def tell(lists: Lists, ledger: Ledger, kind: int, broker: int, from_entry: int, to_entry: int, cause: int) -> int:
    """Write an event of this round, and return its place; NO_ENTRY, NOBODY and NO_FAULT are null in the table."""
    place = append(lists.filled[0].events)
    event = lists.events[place]
    event.ledger = ledger.place
    event.in_list = ledger.in_list
    event.at_round = ledger.now
    event.kind = kind
    event.broker = broker
    event.from_entry = from_entry
    event.to_entry = to_entry
    event.entries = ALL_BETWEEN
    event.cause = cause
    return place


@compiled
def tell_of_bookie(lists: Lists, ledger: Ledger, kind: int, slot: int, cause: int) -> None:
    """Something about a bookie of the ledger."""
    tell(lists, ledger, kind, lists.bookies[ledger.bookies.start + slot].broker, NO_ENTRY, NO_ENTRY, cause)


@compiled
def tell_of_entries(lists: Lists, ledger: Ledger, kind: int, from_entry: int, to_entry: int, cause: int) -> None:
    """Something about entries, or the whole ledger."""
    tell(lists, ledger, kind, NOBODY, from_entry, to_entry, cause)


@compiled
def tell_lost(lists: Lists, ledger: Ledger, broker: int, from_entry: int, to_entry: int, entries: int, cause: int) -> None:
    """So many acknowledged entries of a range are lost; `broker`: who had the last copies, NOBODY."""
    place = tell(lists, ledger, ACKED_LOST, broker, from_entry, to_entry, cause)
    if entries != to_entry - from_entry:
        lists.events[place].entries = entries
