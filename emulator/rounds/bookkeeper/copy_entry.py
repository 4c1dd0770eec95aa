"""Copying entries between bookies, as replication workers do (step 7)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import CLOSED, NOBODY
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import holds, write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.bookkeeper.stored import has_entry, store_copy
from emulator.rounds.bookkeeper.traffic import note_sent
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import last


@compiled
def copy_entry(lists: Lists, inputs: Inputs, ledger: Ledger, fragment: int, index: int, entry: int, target: int) -> bool:
    """Copy an entry from the first bookie of its write set that has it and is heard; False: there is none.

    One that the index does not get lies beside the target's share: nobody asks for it there.
    """
    settings = inputs.settings[ledger.settings]
    source = source_of(lists, settings, ledger, fragment, entry, target)
    if source == NOBODY:
        return False
    size_bytes = bytes_of_entry(inputs, ledger, entry)
    note_sent(lists, ledger, source, target, size_bytes)
    if not has_entry(lists, settings, ledger, target, entry):
        bookie = bookie_at(lists, ledger, target)
        bookie.bytes_in += size_bytes
        if holds(settings, index, entry):
            store_copy(lists, settings, ledger, target, index, entry, header_of_copies(lists, ledger))
        else:
            bookie.entries_beside += 1
            bookie.bytes_beside += size_bytes
    ledger.entries_copied += 1
    ledger.is_copying = 1
    return True


@compiled
def are_there(lists: Lists, settings: Settings, ledger: Ledger, fragment: int, first: int, stop: int, target: int) -> bool:
    """Whether a heard bookie but the target has each of the entries [first, stop)."""
    entry = first
    while entry < stop and source_of(lists, settings, ledger, fragment, entry, target) != NOBODY:
        entry += 1
    return entry >= stop


@compiled
def source_of(lists: Lists, settings: Settings, ledger: Ledger, fragment: int, entry: int, target: int) -> int:
    """The first bookie of the entry's write set that has it and is heard, but for who gets it; NOBODY: there is none."""
    for place in range(settings.write_quorum):
        source = lists.ensembles[fragment, write_index(settings, entry, place)]
        if source != target and is_heard(lists, ledger, source) and has_entry(lists, settings, ledger, source, entry):
            return source
    return NOBODY


@compiled
def header_of_copies(lists: Lists, ledger: Ledger) -> int:
    """The LAC in the header of a copy, what its worker knows: the last entry, or all before the last fragment."""
    return ledger.last_entry if ledger.state == CLOSED else lists.fragments[last(ledger.fragments)].first_entry - 1
