"""The bookies of a ledger: who they are, what the faults say of them, who may come into an ensemble."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import (
    DEAD,
    DECOMMISSIONED,
    FENCE_EVENT,
    NO_ENTRY,
    NO_FAULT,
    NO_LAC,
    NO_LIMIT,
    NOWHERE,
    UNHEARD,
    UNREGISTERED,
)
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Bookie, Ledger, Lists
from emulator.rounds.bookkeeper.tell import tell
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import append, every


@compiled_into_callers
def bookie_at(lists: Lists, ledger: Ledger, slot: int) -> Bookie:
    """A bookie of the ledger."""
    return lists.bookies[ledger.bookies.start + slot]


@compiled_into_callers
def is_dead(lists: Lists, ledger: Ledger, slot: int) -> bool:
    """Whether connections to it break."""
    return bookie_at(lists, ledger, slot).status & DEAD != 0


@compiled_into_callers
def is_heard(lists: Lists, ledger: Ledger, slot: int) -> bool:
    """Whether it gets what clients send, and they get its answers."""
    return bookie_at(lists, ledger, slot).status & UNHEARD == 0


@compiled
def span_of(inputs: Inputs, ledger: Ledger, place: int) -> int:
    """The place of what is in force of any bookie of the cluster in this round."""
    row = inputs.bookies[inputs.scenarios[ledger.scenario].first_bookie + place]
    low, high = row.first_span, row.first_span + row.spans - 1
    while low < high:
        middle = (low + high + 1) // 2
        if inputs.bookie_spans[middle].from_round <= ledger.now:
            low = middle
        else:
            high = middle - 1
    return low


@compiled
def is_registered(inputs: Inputs, ledger: Ledger, place: int) -> bool:
    """Whether an ensemble may take a bookie of the cluster."""
    status = inputs.bookie_spans[span_of(inputs, ledger, place)].status
    return status & (UNREGISTERED | DECOMMISSIONED) == 0


@compiled_into_callers
def is_registered_here(lists: Lists, ledger: Ledger, slot: int) -> bool:
    """Whether an ensemble may take a bookie of the ledger."""
    return bookie_at(lists, ledger, slot).status & (UNREGISTERED | DECOMMISSIONED) == 0


@compiled_into_callers
def note_slowness(inputs: Inputs, ledger: Ledger, span: int) -> None:
    """Of a span in force of one of the ledger's bookies."""
    if inputs.bookie_spans[span].link_bytes != NO_LIMIT or inputs.bookie_spans[span].disk_bytes != NO_LIMIT:
        ledger.slowed = 1


@compiled
def slot_of(lists: Lists, inputs: Inputs, ledger: Ledger, place: int) -> int:
    """The slot of a bookie of the cluster; a new one, if the ledger hadn't to do with it yet."""
    for at in every(ledger.bookies):
        if lists.bookies[at].place == place:
            return at - ledger.bookies.start
    row = inputs.bookies[inputs.scenarios[ledger.scenario].first_bookie + place]
    at = append(ledger.bookies)
    bookie = lists.bookies[at]
    bookie.place = place
    bookie.broker = row.broker
    bookie.rack = row.rack
    bookie.span = span_of(inputs, ledger, place)
    bookie.status = inputs.bookie_spans[bookie.span].status
    bookie.cause = inputs.bookie_spans[bookie.span].cause
    bookie.lag = inputs.bookie_spans[bookie.span].lag
    bookie.lag_cause = inputs.bookie_spans[bookie.span].lag_cause
    bookie.fenced = 0
    bookie.flushed_fence = 0
    bookie.explicit_lac = NO_LAC
    bookie.limbo = 0
    bookie.filling = 0
    bookie.damaged = 0
    bookie.damage_cause = NO_FAULT
    bookie.filling_cause = NO_FAULT
    bookie.is_missed = 0
    bookie.open_run = NOWHERE
    bookie.has_to = 0
    bookie.flushed_to = 0
    bookie.entries_beside = 0
    bookie.bytes_beside = 0
    bookie.known_bytes = 0
    bookie.bytes_taken = 0
    bookie.bytes_in = 0
    bookie.bytes_out = 0
    bookie.cross_rack_bytes_out = 0
    bookie.may_take = NO_LIMIT
    bookie.holds_up = 0
    bookie.most_asked_bytes = 0
    note_slowness(inputs, ledger, bookie.span)
    ledger.next_change = min(ledger.next_change, inputs.bookie_spans[bookie.span + 1].from_round)
    return at - ledger.bookies.start


@compiled
def fence(lists: Lists, ledger: Ledger, slot: int, cause: int) -> None:
    """From now on the bookie takes adds of recoveries only."""
    bookie = bookie_at(lists, ledger, slot)
    if not bookie.fenced:
        tell(lists, ledger, FENCE_EVENT, bookie.broker, NO_ENTRY, NO_ENTRY, cause)
    bookie.fenced = 1
