"""What bookies lose to faults, and what a damaged one does when it is back (Limbo, BP-46)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, fence
from emulator.rounds.bookkeeper.constants import (
    CLEAN_STOP,
    CLOSED,
    CRASHED,
    DISK_LOST,
    ENTRIES_LOST,
    LIMBO_ENTERED,
    NO_ENTRY,
    NO_LAC,
    NOBODY,
    POWER_LOST,
    RESTARTED,
)
from emulator.rounds.bookkeeper.fragments import index_in
from emulator.rounds.bookkeeper.held import bytes_held
from emulator.rounds.bookkeeper.inputs import Inputs, Rules, Settings
from emulator.rounds.bookkeeper.lost_entries import tell_last_copies
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.recover import start_recovery
from emulator.rounds.bookkeeper.stored import flush, lose
from emulator.rounds.bookkeeper.tell import tell, tell_of_bookie
from emulator.rounds.bookkeeper.traffic import note_taken
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def damage(lists: Lists, inputs: Inputs, settings: Settings, ledger: Ledger, slot: int) -> None:
    """What crashes, power losses and disk losses of this round take; a controlled shutdown flushes first."""
    bookie = bookie_at(lists, ledger, slot)
    status = bookie.status
    if status & CLEAN_STOP:
        flush(lists, ledger, slot)
    loses_unflushed = (status & CRASHED and not settings.journal) or (status & POWER_LOST and not settings.synced)
    loses_disk = status & DISK_LOST != 0
    if not loses_unflushed and not loses_disk:
        return
    bookie.damaged = 1
    bookie.damage_cause = bookie.cause
    tell_last_copies(lists, settings, ledger, slot, loses_disk)
    note_taken(lists, inputs, ledger, slot)
    if loses_disk:
        bookie.entries_beside = 0
        bookie.bytes_beside = 0
    lost_from, lost_to = lose(lists, inputs, ledger, slot, loses_disk)
    bookie.known_bytes = bytes_held(lists, inputs, ledger, slot)
    if loses_disk:
        bookie.flushed_fence = 0
    if lost_from != NO_ENTRY:
        tell(lists, ledger, ENTRIES_LOST, bookie.broker, lost_from, lost_to, bookie.cause)
    if lost_from != NO_ENTRY or bookie.fenced:
        ledger.impaired = 1
        ledger.impaired_cause = bookie.cause
    bookie.fenced = bookie.flushed_fence
    bookie.explicit_lac = NO_LAC


@compiled
def check_returned(lists: Lists, inputs: Inputs, ledger: Ledger, rules: Rules) -> None:
    """Who may have lost entries or fences is fenced, and gets what it lacks; of a ledger that isn't closed it is in limbo."""
    slot = next_returned(lists, ledger, NOBODY)
    while slot != NOBODY:  # in the order of the bookies' ids
        bookie_at(lists, ledger, slot).damaged = 0
        if is_member(lists, inputs, ledger, slot):
            check_member(lists, ledger, slot, rules)
        slot = next_returned(lists, ledger, bookie_at(lists, ledger, slot).place)


@compiled
def next_returned(lists: Lists, ledger: Ledger, behind: int) -> int:
    """The slot of the next bookie, by id, that is back in this round and was damaged; NOBODY if there is none."""
    found = NOBODY
    for slot in range(ledger.bookies.count):
        bookie = bookie_at(lists, ledger, slot)
        if not bookie.status & RESTARTED or not bookie.damaged or bookie.place <= behind:
            continue
        if found == NOBODY or bookie.place < bookie_at(lists, ledger, found).place:
            found = slot
    return found


@compiled
def check_member(lists: Lists, ledger: Ledger, slot: int, rules: Rules) -> None:
    """What a bookie of an ensemble does that is back after damage."""
    bookie = bookie_at(lists, ledger, slot)
    bookie.filling = 1
    bookie.filling_cause = bookie.damage_cause
    if rules.damaged_are_fenced:
        fence(lists, ledger, slot, bookie.damage_cause)
    if ledger.state == CLOSED:
        return
    if rules.limbo_is_unknown and not bookie.limbo:
        tell_of_bookie(lists, ledger, LIMBO_ENTERED, slot, bookie.damage_cause)
        bookie.limbo = 1
    start_recovery(lists, ledger, slot, 1, bookie.damage_cause)


@compiled
def is_member(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int) -> bool:
    """Whether a bookie is in an ensemble of the ledger."""
    for at in every(ledger.fragments):
        if index_in(lists.ensembles, at, inputs.settings[ledger.settings].ensemble_size, slot) != NOBODY:
            return True
    return False
