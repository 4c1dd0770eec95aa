"""What tables tell of a ledger's bookies, worked out at the run's end."""

from __future__ import annotations

from emulator.rounds.bookkeeper.constants import CLOSED
from emulator.rounds.bookkeeper.held import bytes_held, bytes_up_to, entries_held
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.lost_entries import count_losses
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.stored import lac_of, last_stored
from emulator.rounds.compiled import compiled


@compiled
def finish(lists: Lists, inputs: Inputs, ledger: Ledger) -> None:
    """Last entry, LAC, entries and bytes of each bookie, bytes that a reader gets, entries lost, unreadable, under-replicated."""
    settings = inputs.settings[ledger.settings]
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        bookie.last_entry = last_stored(lists, settings, ledger, slot)
        bookie.lac = lac_of(lists, settings, ledger, slot)
        bookie.entry_bytes = bytes_held(lists, inputs, ledger, slot)
        bookie.entries = entries_held(lists, settings, ledger, slot)
    read_to = (ledger.last_entry if ledger.state == CLOSED else ledger.lac) + 1
    ledger.read_bytes = bytes_up_to(inputs, ledger, read_to)
    count_losses(lists, settings, ledger)
