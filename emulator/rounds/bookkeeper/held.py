"""How much bookies have: entries and bytes, from runs and from the sizes of what the application handed over."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at
from emulator.rounds.bookkeeper.constants import FOREVER
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.quorums import count_below
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.stored import end_of
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def held(lists: Lists, settings: Settings, ledger: Ledger, slot: int, from_entry: int, to_entry: int) -> int:
    """How many entries of [from_entry, to_entry) a bookie has."""
    count = 0
    for at in every(ledger.stored):
        run = lists.stored[at]
        begin, end = max(from_entry, run.from_entry), min(to_entry, end_of(lists, ledger, at))
        if run.bookie == slot and begin < end:
            count += count_below(settings, run.residues, end) - count_below(settings, run.residues, begin)
    return count


@compiled
def entries_held(lists: Lists, settings: Settings, ledger: Ledger, slot: int) -> int:
    """How many entries a bookie has, copies beside its share included."""
    return held(lists, settings, ledger, slot, 0, FOREVER) + bookie_at(lists, ledger, slot).entries_beside


@compiled
def bytes_up_to(inputs: Inputs, ledger: Ledger, to_entry: int) -> int:
    """Bytes of a ledger's entries below one, as the application handed them over."""
    total = 0
    if ledger.first_own_entry > 0:
        total += min(ledger.first_own_entry, to_entry) * ledger.given_bytes // ledger.first_own_entry
    begin = ledger.first_own_entry - ledger.first_message
    for at in range(ledger.first_size, ledger.first_size + ledger.size_count):
        size = inputs.sizes[at]
        from_entry, end = max(0, size.from_entry + begin), min(size.to_entry + begin, to_entry)
        total += max(0, end - from_entry) * size.size_bytes // size.records
    return total


@compiled
def bytes_held(lists: Lists, inputs: Inputs, ledger: Ledger, slot: int) -> int:
    """Bytes of all that a bookie has, copies beside its share included."""
    settings = inputs.settings[ledger.settings]
    total = bookie_at(lists, ledger, slot).bytes_beside
    if ledger.first_own_entry > 0:
        given = held(lists, settings, ledger, slot, 0, ledger.first_own_entry)
        total += given * ledger.given_bytes // ledger.first_own_entry
    begin = ledger.first_own_entry - ledger.first_message
    for at in range(ledger.first_size, ledger.first_size + ledger.size_count):
        size = inputs.sizes[at]
        own = held(lists, settings, ledger, slot, max(0, size.from_entry + begin), size.to_entry + begin)
        total += own * size.size_bytes // size.records
    return total
