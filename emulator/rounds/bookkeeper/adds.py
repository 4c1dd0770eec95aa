"""Adds in flight, of the writer and of recoveries alike: what is sent, to whom, and sent again (docs/bookkeeper_rounds.md)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.acknowledge import acknowledge
from emulator.rounds.bookkeeper.bookies import bookie_at, is_dead
from emulator.rounds.bookkeeper.client_records import Request
from emulator.rounds.bookkeeper.constants import (
    DROP_ADDS,
    GAVE_UP,
    NEVER,
    NO_ANSWER,
    NO_FAULT,
    WRITER,
)
from emulator.rounds.bookkeeper.fragments import own_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.quorums import holds, write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import move
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
    add.heard_round = NEVER
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


@compiled_into_callers
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
def resend(lists: Lists, inputs: Inputs, ledger: Ledger, client: int, replaced: int, sent_round: int) -> int:
    """Some indices of the client's ensemble have other bookies: what is pending goes to them, too, and only to them.

    At an index that an add doesn't go to the client looks whether it and those before it are completed, and acknowledges these,
    though a further index may take an answer from one of them (PendingAddOp.unsetSuccessAndSendWriteRequest). Returns how many.
    """
    settings, acknowledged = inputs.settings[ledger.settings], 0
    for at in every(ledger.requests):
        one = lists.requests[at]
        if one.client == client and has(replaced, one.index):
            one.awaited = 0
    for at in every(ledger.adds):
        add = lists.adds[at]
        if add.client != client or add.acknowledged:
            continue
        for index in range(settings.ensemble_size):
            if has(replaced, index) and not holds(settings, index, add.entry):
                acknowledged += acknowledge(lists, ledger, client)
            if not has(replaced, index) or not holds(settings, index, add.entry) or add.acknowledged:
                continue
            add.acked &= ~(1 << index)
            add.failed &= ~(1 << index)
            if size(add.acked) < settings.ack_quorum:
                add.completed = 0
            request(lists, inputs, ledger, client, add.entry, add.lac, index, sent_round)
            if client == WRITER:
                ledger.adds_resent += 1
    return acknowledged


@compiled_into_callers
def add_of(lists: Lists, ledger: Ledger, client: int, entry: int) -> int:
    """Where a client's add of an entry is; there must be one while an answer is awaited."""
    for at in every(ledger.adds):
        if lists.adds[at].client == client and lists.adds[at].entry == entry:
            return at
    return last(ledger.adds)


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
