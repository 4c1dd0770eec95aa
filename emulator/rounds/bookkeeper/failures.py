"""Bookies that clients want replaced: now, by the change under way, or with the next add (docs/bookkeeper_rounds.md, 6)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import (
    CHANGING,
    LATER,
    NO_FAULT,
    NOW,
    NOWHERE,
    WRITER,
)
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.entries import move
from emulator.rounds.lists import append, every, keep_first, last


@compiled
def note_failure(lists: Lists, ledger: Ledger, client: int, when: int, index: int, slot: int, cause: int) -> None:
    """The bookie at an index is to be replaced; an index stands once."""
    found = NOWHERE
    for at in every(ledger.failures):
        failure = lists.failures[at]
        if failure.client == client and failure.when == when and failure.index == index:
            found = at
    if found == NOWHERE:
        found = append(ledger.failures)
    failure = lists.failures[found]
    failure.client = client
    failure.when = when
    failure.index = index
    failure.bookie = slot
    failure.cause = cause
    ledger.failures.changes += 1


@compiled
def cause_of_newest(lists: Lists, ledger: Ledger) -> int:
    """The fault behind the newest recovery, which is taken for who fenced the writer; NO_FAULT without one."""
    return lists.recoveries[last(ledger.recoveries)].cause if ledger.recoveries.count > 0 else NO_FAULT


@compiled
def has_failures(lists: Lists, ledger: Ledger, client: int, when: int) -> bool:
    """Whether a client wants somebody replaced."""
    found = False
    for at in every(ledger.failures):
        if lists.failures[at].client == client and lists.failures[at].when == when:
            found = True
    return found


@compiled
def forget_failures(lists: Lists, ledger: Ledger, client: int, when: int) -> None:
    """A client wants nobody replaced any more."""
    kept = ledger.failures.start
    for at in every(ledger.failures):
        if lists.failures[at].client != client or lists.failures[at].when != when:
            move(lists.failures, at, kept)
            kept += 1
    keep_first(ledger.failures, kept - ledger.failures.start)


@compiled
def merge_failures(lists: Lists, ledger: Ledger, client: int, when: int, into: int) -> None:
    """Those to be replaced at one time are to be replaced at another; of an index the newer one stays."""
    for at in every(ledger.failures):
        failure = lists.failures[at]
        if failure.client == client and failure.when == when:
            note_failure(lists, ledger, client, into, failure.index, failure.bookie, failure.cause)
    forget_failures(lists, ledger, client, when)


@compiled
def want_replaced(lists: Lists, ledger: Ledger) -> None:
    """The writer wants who failed NOW replaced: by the change under way no more, else at once, with those of LATER."""
    if ledger.changing:
        merge_failures(lists, ledger, WRITER, NOW, LATER)
        return
    ledger.changing = 1
    merge_failures(lists, ledger, WRITER, LATER, CHANGING)
    merge_failures(lists, ledger, WRITER, NOW, CHANGING)
