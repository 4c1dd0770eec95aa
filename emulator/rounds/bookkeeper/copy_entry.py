"""Copying an entry between bookies, as replication workers do (step 7)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import CLOSED
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.quorums import write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.bookkeeper.stored import has_entry, store
from emulator.rounds.bookkeeper.traffic import note_read
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import last


@compiled
def copy_entry(lists: Lists, inputs: Inputs, ledger: Ledger, fragment: int, index: int, entry: int, target: int) -> bool:
    """Copy an entry from the first bookie of its write set that has it and is heard; False: there is none.

    The copy's header carries what the worker knows to be confirmed: the last entry, or all before the last fragment.
    """
    settings = inputs.settings[ledger.settings]
    lac = ledger.last_entry if ledger.state == CLOSED else lists.fragments[last(ledger.fragments)].first_entry - 1
    for place in range(settings.write_quorum):
        source = lists.ensembles[fragment, write_index(settings, entry, place)]
        if source == target or not is_heard(lists, ledger, source):
            continue
        if has_entry(lists, settings, ledger, source, entry):
            note_read(lists, inputs, ledger, source, target, entry)
            if not has_entry(lists, settings, ledger, target, entry):
                bookie_at(lists, ledger, target).bytes_in += bytes_of_entry(inputs, ledger, entry)
            store(lists, settings, ledger, target, index, entry, lac)
            ledger.entries_copied += 1
            return True
    return False
