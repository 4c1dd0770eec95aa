"""Filling: bookies of the ledger get what the metadata gives them and they lack (check_ledger, Limbo)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import CLOSED, FILLED, LIMBO_LEFT, NOBODY, NOWHERE
from emulator.rounds.bookkeeper.copy_entry import copy_entry
from emulator.rounds.bookkeeper.fragments import fragment_end, index_in, is_growing
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import next_share, share_of
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.stored import end_of, run_with
from emulator.rounds.bookkeeper.tell import tell_of_bookie
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import every


@compiled_into_callers
def fill_bookies(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """A batch for every filling bookie, in the order of their ids."""
    previous = NOBODY
    while True:
        found, place = NOBODY, 0
        for slot in range(ledger.bookies.count):
            bookie = bookie_at(lists, ledger, slot)
            if bookie.filling and bookie.place > previous and (found == NOBODY or bookie.place < place):
                found, place = slot, bookie.place
        if found == NOBODY:
            return
        if is_heard(lists, ledger, found):
            fill(lists, inputs, ledger, found)
        previous = place


@compiled
def fill(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int) -> None:
    """Copy what the bookie lacks, so many entries a round; when a closed ledger is complete it is filled, and leaves limbo."""
    settings = inputs.settings[ledger.settings]
    copied = 0
    complete = ledger.state == CLOSED
    for at in every(ledger.fragments):
        index = index_in(lists.ensembles, at, settings.ensemble_size, slot)
        if index == NOBODY or is_growing(ledger, at):
            continue
        end = fragment_end(lists, ledger, at)
        entry = next_lacking(lists, settings, ledger, slot, index, lists.fragments[at].first_entry)
        while entry < end:
            if copied < settings.batch_entries and copy_entry(lists, inputs, ledger, at, index, entry, slot):
                copied += 1
            else:
                complete = False
            if copied >= settings.batch_entries and not complete:
                return
            entry = next_lacking(lists, settings, ledger, slot, index, entry + 1)
    if not complete:
        return
    bookie = bookie_at(lists, ledger, slot)
    tell_of_bookie(lists, ledger, FILLED, slot, bookie.filling_cause)
    if bookie.limbo:
        tell_of_bookie(lists, ledger, LIMBO_LEFT, slot, bookie.filling_cause)
    bookie.limbo = 0
    bookie.filling = 0


@compiled
def next_lacking(lists: Lists, settings: Settings, ledger: Ledger, slot: int, index: int, entry: int) -> int:
    """The first entry at or behind one that an index gets and the bookie hasn't got."""
    entry = next_share(settings, index, entry)
    run = run_with(lists, settings, ledger, slot, entry)
    while run != NOWHERE:
        # A run of the same share has all of it up to its end.
        is_own = lists.stored[run].residues == share_of(settings, index)
        entry = next_share(settings, index, end_of(lists, ledger, run) if is_own else entry + 1)
        run = run_with(lists, settings, ledger, slot, entry)
    return entry
