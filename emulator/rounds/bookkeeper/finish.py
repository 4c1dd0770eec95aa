"""What tables tell of a ledger's bookies, worked out at the run's end."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.bookkeeper.constants import CLOSED
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.lost_entries import count_losses
from emulator.rounds.bookkeeper.quorums import holds
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.stored import end_of, lac_of, last_stored
from emulator.rounds.lists import every


@compiled
def finish(lists: Lists, inputs: Inputs, ledger: Ledger, first_message: int) -> None:
    """Last entry, LAC, entries and bytes of each bookie, bytes that a reader gets, entries lost, unreadable, under-replicated.

    `first_message`: the message of the ledger's topic that is its first own entry; sizes are of messages.
    """
    settings = inputs.settings[ledger.settings]
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        bookie.last_entry = last_stored(lists, settings, ledger, slot)
        bookie.lac = lac_of(lists, settings, ledger, slot)
        bookie.entries = 0
        bookie.entry_bytes = 0
    read_to = (ledger.last_entry if ledger.state == CLOSED else ledger.lac) + 1
    ledger.read_bytes = 0
    for piece in range(-1, ledger.size_count):
        from_entry, to_entry, records, size_bytes = 0, ledger.first_own_entry, ledger.first_own_entry, ledger.given_bytes
        if piece >= 0:
            size = inputs.sizes[ledger.first_size + piece]
            begin = ledger.first_own_entry - first_message
            from_entry, to_entry = size.from_entry + begin, size.to_entry + begin
            records, size_bytes = size.records, size.size_bytes
        if records == 0:
            continue
        ledger.read_bytes += max(0, min(to_entry, read_to) - max(from_entry, 0)) * size_bytes // records
        for slot in range(ledger.bookies.count):
            bookie = lists.bookies[ledger.bookies.start + slot]
            bookie.entry_bytes += held(lists, settings, ledger, slot, max(0, from_entry), to_entry) * size_bytes // records
    for slot in range(ledger.bookies.count):
        bookie = lists.bookies[ledger.bookies.start + slot]
        bookie.entries = held(lists, settings, ledger, slot, 0, bookie.last_entry + 1)
    count_losses(lists, settings, ledger)


@compiled
def held(lists: Lists, settings: Settings, ledger: Ledger, slot: int, from_entry: int, to_entry: int) -> int:
    """How many entries of [from_entry, to_entry) a bookie has."""
    count = 0
    for at in every(ledger.stored):
        run = lists.stored[at]
        begin, end = max(from_entry, run.from_entry), min(to_entry, end_of(lists, ledger, at))
        if run.bookie == slot and begin < end:
            count += shares_below(settings, run.index, end) - shares_below(settings, run.index, begin)
    return count


@compiled
def shares_below(settings: Settings, index: int, end: int) -> int:
    """How many entries below an end an index gets."""
    whole, rest = end // settings.ensemble_size, end % settings.ensemble_size
    count = whole * settings.write_quorum
    for entry in range(rest):
        if holds(settings, index, entry):
            count += 1
    return count
