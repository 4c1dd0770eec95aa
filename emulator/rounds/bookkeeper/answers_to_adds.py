"""Step 6 of adds, of the writer and of recoveries alike: failures, answers, what is completed and acknowledged.

An add is completed with Qa answers; it is acknowledged when every earlier one of its client is and no ensemble change is under
way. Requests of acknowledged adds that are still unanswered are watched on: whoever fails one is replaced with the next add.
"""

from __future__ import annotations

from emulator.rounds.bookkeeper.adds import add_of
from emulator.rounds.bookkeeper.bookies import bookie_at, is_dead
from emulator.rounds.bookkeeper.client_records import Request
from emulator.rounds.bookkeeper.constants import (
    LATER,
    NO_ANSWER,
    NOW,
    NOWHERE,
    REFUSED,
    TAKEN,
)
from emulator.rounds.bookkeeper.failures import cause_of_newest, has_failures, note_failure
from emulator.rounds.bookkeeper.fragments import own_ensemble
from emulator.rounds.bookkeeper.inputs import Settings
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
from emulator.rounds.lists import every, keep_first
from emulator.rounds.slots import has, size


@compiled_into_callers
def next_failure(lists: Lists, settings: Settings, ledger: Ledger, client: int) -> bool:
    """Give up on requests to dead bookies, and on those that timed out, in the order in which bookies take them.

    It stops at the first for which somebody is to be replaced NOW; False: there is none any more.
    """
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client != client or not one.awaited or one.sent_round > ledger.now:
            continue
        if is_dead(lists, ledger, one.bookie) or ledger.now - one.sent_round >= settings.add_timeout_rounds:
            one.awaited = 0
            cause = bookie_at(lists, ledger, one.bookie).cause if is_dead(lists, ledger, one.bookie) else one.cause
            fail(lists, settings, ledger, client, one.entry, one.index, cause)
            if has_failures(lists, ledger, client, NOW):
                return True
    return False


@compiled
def fail(lists: Lists, settings: Settings, ledger: Ledger, client: int, entry: int, index: int, cause: int) -> None:
    """A bookie failed one add: of a completed one it is replaced LATER, of another NOW."""
    row = own_ensemble(ledger, client)
    add = lists.adds[add_of(lists, ledger, client, entry)]
    add.heard_round = ledger.now
    if not settings.delay_ensemble_change:
        note_failure(lists, ledger, client, LATER if add.completed else NOW, index, lists.own[row, index], cause)
    elif not add.completed:
        add.failed |= 1 << index
        if size(add.failed) > settings.write_quorum - settings.ack_quorum:
            for one in range(settings.ensemble_size):
                if has(add.failed, one):
                    note_failure(lists, ledger, client, NOW, one, lists.own[row, one], cause)


@compiled
def take_answers_of(lists: Lists, settings: Settings, ledger: Ledger, client: int) -> bool:
    """Note this round's answers; whether one says that the client is fenced off, of an add that isn't completed."""
    fenced_off = False
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client != client or one.answer == NO_ANSWER:
            continue
        asked = at if one.awaited else asked_again(lists, ledger, one)
        if asked == NOWHERE:
            continue
        lists.requests[asked].awaited = 0
        add = lists.adds[add_of(lists, ledger, client, one.entry)]
        add.heard_round = ledger.now
        if one.answer == TAKEN:
            add.acked |= 1 << one.index
        elif one.answer == REFUSED and not add.completed:
            fenced_off = True
        elif not settings.delay_ensemble_change:
            note_failure(lists, ledger, client, LATER, one.index, one.bookie, cause_of_newest(lists, ledger))
    return fenced_off


@compiled
def asked_again(lists: Lists, ledger: Ledger, request: Request) -> int:
    """An answer to an earlier request counts if the bookie is back at its index, and is asked again (PendingAddOp): where."""
    for at in every(ledger.requests):
        one = lists.requests[at]
        is_same = one.client == request.client and one.entry == request.entry and one.index == request.index
        if is_same and one.bookie == request.bookie and one.awaited:
            return at
    return NOWHERE


@compiled
def complete(lists: Lists, settings: Settings, ledger: Ledger, client: int) -> bool:
    """Adds with Qa answers are completed. Whether the client looks at these: one has an answer, or a failure, of this round.

    Only then are adds acknowledged that were completed while an ensemble change was under way (PendingAddOp.writeComplete).
    """
    looks = False
    for at in every(ledger.adds):
        add = lists.adds[at]
        if add.client == client and size(add.acked) >= settings.ack_quorum:
            add.completed = 1
        if add.client == client and add.completed and add.heard_round == ledger.now:
            looks = True
    return looks


@compiled_into_callers
def forget_answered(lists: Lists, ledger: Ledger) -> None:
    """Requests that arrived and that nobody waits for are over, and so are acknowledged adds of which nothing is awaited."""
    kept = ledger.requests.start
    for at in every(ledger.requests):
        one = lists.requests[at]
        one.answer = NO_ANSWER
        if one.on_the_way or one.awaited or one.late_answer != NO_ANSWER:
            move(lists.requests, at, kept)
            kept += 1
    keep_first(ledger.requests, kept - ledger.requests.start)
    kept = ledger.adds.start
    for at in every(ledger.adds):
        add = lists.adds[at]
        if not add.acknowledged or is_awaited(lists, ledger, add.client, add.entry):
            move(lists.adds, at, kept)
            kept += 1
    keep_first(ledger.adds, kept - ledger.adds.start)


@compiled_into_callers
def is_awaited(lists: Lists, ledger: Ledger, client: int, entry: int) -> bool:
    """Whether a client waits for an answer to an add."""
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client == client and one.entry == entry and one.awaited:
            return True
    return False
