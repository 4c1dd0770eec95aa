"""Adds in flight, of the writer and of recoveries alike: sent, answered, failed, completed (docs/bookkeeper_rounds.md, Words).

An add is completed with Qa answers; it is acknowledged when every earlier one of its client is and no ensemble change is under
way. Requests of acknowledged adds that are still unanswered are watched on: whoever fails one is replaced with the next
add.
"""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.bookies import bookie_at, is_dead
from emulator.rounds.bookkeeper.constants import (
    CHANGING,
    DROP_ADDS,
    GAVE_UP,
    LATER,
    NEVER,
    NO_ANSWER,
    NO_FAULT,
    NOW,
    NOWHERE,
    REFUSED,
    TAKEN,
    WRITER,
)
from emulator.rounds.bookkeeper.entries import move
from emulator.rounds.bookkeeper.fragments import own_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import holds, write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists, Request
from emulator.rounds.lists import append, every, keep_first, last
from emulator.rounds.slots import has, size


@compiled
def send_add(lists: Lists, inputs: Inputs, ledger: Ledger, client: int, entry: int, lac: int) -> None:
    """A client sends a new entry to its write set."""
    settings = inputs.settings[ledger.settings]
    add = lists.adds[append(ledger.adds)]
    add.client = client
    add.entry = entry
    add.lac = lac
    add.acked = 0
    add.failed = 0
    add.completed = 0
    add.acknowledged = 0
    for place in range(settings.write_quorum):
        request(lists, inputs, ledger, client, entry, lac, write_index(settings, entry, place), ledger.now)


@compiled
def request(lists: Lists, inputs: Inputs, ledger: Ledger, client: int, entry: int, lac: int, index: int, sent_round: int) -> None:
    """Send an add to the bookie at an index of the client's ensemble. What goes to a dead one, or is dropped, doesn't arrive."""
    slot = lists.own[own_ensemble(ledger, client), index]
    # A place in the order in which bookies take adds: the writer's first, the oldest first, then by entry.
    at = append(ledger.requests)
    while at > ledger.requests.start and is_before(client, entry, index, sent_round, lists.requests[at - 1]):
        move(lists.requests, at - 1, at)
        at -= 1
    one = lists.requests[at]
    one.client = client
    one.entry = entry
    one.index = index
    one.bookie = slot
    one.lac = lac
    one.sent_round = sent_round
    one.awaited = 1
    one.answer = NO_ANSWER
    one.late_answer = NO_ANSWER
    one.answer_round = NEVER
    one.on_the_way = 1
    one.cause = NO_FAULT
    if is_dead(lists, ledger, slot):
        one.on_the_way = 0
        one.cause = bookie_at(lists, ledger, slot).cause
    elif client == WRITER:
        dropped_by = fault_on_the_way(inputs, ledger, DROP_ADDS, bookie_at(lists, ledger, slot).place, entry)
        if dropped_by != NO_FAULT:
            one.on_the_way = 0
            one.cause = dropped_by


@compiled
def is_before(client: int, entry: int, index: int, sent_round: int, other: Request) -> bool:
    """Whether a bookie takes an add before another one."""
    if (client == WRITER) != (other.client == WRITER):
        return client == WRITER
    if sent_round != other.sent_round:
        return sent_round < other.sent_round
    if entry != other.entry:
        return entry < other.entry
    return index < other.index


@compiled
def fault_on_the_way(inputs: Inputs, ledger: Ledger, kind: int, place: int, entry: int) -> int:
    """The fault that drops an add of the writer to a bookie, or holds it up, in this round; NO_FAULT: none."""
    for at in range(ledger.first_on_the_way, ledger.first_on_the_way + ledger.on_the_way):
        fault = inputs.on_the_way[at]
        if fault.kind != kind or fault.place != place or not fault.from_round <= ledger.now < fault.to_round:
            continue
        if fault.from_entry <= entry < fault.to_entry:
            return fault.fault
    return NO_FAULT


@compiled
def pending(lists: Lists, ledger: Ledger, client: int) -> int:
    """How many adds of a client are unacknowledged."""
    count = 0
    for at in every(ledger.adds):
        if lists.adds[at].client == client and not lists.adds[at].acknowledged:
            count += 1
    return count


@compiled
def resend(lists: Lists, inputs: Inputs, ledger: Ledger, client: int, replaced: int, sent_round: int) -> None:
    """Some indices of the client's ensemble have other bookies: what is pending goes to them, too, and only to them."""
    settings = inputs.settings[ledger.settings]
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client == client and has(replaced, one.index):
            one.awaited = 0
    for at in every(ledger.adds):
        add = lists.adds[at]
        if add.client != client or add.acknowledged:
            continue
        for index in range(settings.ensemble_size):
            if not has(replaced, index) or not holds(settings, index, add.entry):
                continue
            add.acked &= ~(1 << index)
            add.failed &= ~(1 << index)
            if size(add.acked) < settings.ack_quorum:
                add.completed = 0
            request(lists, inputs, ledger, client, add.entry, add.lac, index, sent_round)
            if client == WRITER:
                ledger.adds_resent += 1


@compiled
def next_failure(lists: Lists, settings: Settings, ledger: Ledger, client: int) -> bool:
    """Give up on requests to dead bookies, and on those that timed out, in the order in which bookies take them.

    It stops at the first for which somebody is to be replaced NOW; False: there is none any more.
    """
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client != client or not one.awaited:
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
    if not settings.delay_ensemble_change:
        note_failure(lists, ledger, client, LATER if add.completed else NOW, index, lists.own[row, index], cause)
    elif not add.completed:
        add.failed |= 1 << index
        if size(add.failed) > settings.write_quorum - settings.ack_quorum:
            for one in range(settings.ensemble_size):
                if has(add.failed, one):
                    note_failure(lists, ledger, client, NOW, one, lists.own[row, one], cause)


@compiled
def add_of(lists: Lists, ledger: Ledger, client: int, entry: int) -> int:
    """Where a client's add of an entry is; there must be one while an answer is awaited."""
    for at in every(ledger.adds):
        if lists.adds[at].client == client and lists.adds[at].entry == entry:
            return at
    return last(ledger.adds)


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
def complete(lists: Lists, settings: Settings, ledger: Ledger, client: int) -> None:
    """Adds with Qa answers are completed."""
    for at in every(ledger.adds):
        add = lists.adds[at]
        if add.client == client and size(add.acked) >= settings.ack_quorum:
            add.completed = 1


@compiled
def acknowledge(lists: Lists, ledger: Ledger, client: int) -> int:
    """Acknowledge the completed adds at the front, in order; how many."""
    count = 0
    for at in every(ledger.adds):
        add = lists.adds[at]
        if add.client != client or add.acknowledged:
            continue
        if not add.completed:
            break
        add.acknowledged = 1
        count += 1
    return count


@compiled
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


@compiled
def is_awaited(lists: Lists, ledger: Ledger, client: int, entry: int) -> bool:
    """Whether a client waits for an answer to an add."""
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client == client and one.entry == entry and one.awaited:
            return True
    return False


@compiled
def forget_adds(lists: Lists, ledger: Ledger, client: int) -> int:
    """A client gives up all its adds; what is on its way arrives all the same. Returns how many were unacknowledged."""
    unacknowledged = pending(lists, ledger, client)
    for at in every(ledger.requests):
        if lists.requests[at].client == client:
            lists.requests[at].awaited = 0
            if client != WRITER:
                lists.requests[at].client = GAVE_UP
    kept = ledger.adds.start
    for at in every(ledger.adds):
        if lists.adds[at].client != client:
            move(lists.adds, at, kept)
            kept += 1
    keep_first(ledger.adds, kept - ledger.adds.start)
    return unacknowledged
