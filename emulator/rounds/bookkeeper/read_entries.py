"""What bookies have of entries, as clients, and copies to a remote store, read them (docs/bookkeeper_rounds.md, Readers)."""

from __future__ import annotations

from emulator.rounds.bookkeeper.bookies import bookie_at, is_heard
from emulator.rounds.bookkeeper.constants import DATA_UNKNOWN, FOUND, NO, NO_SUCH_ENTRY, NOBODY, NOT_AVAILABLE, OK, UNKNOWN
from emulator.rounds.bookkeeper.fragments import fragment_of
from emulator.rounds.bookkeeper.inputs import Inputs, Settings
from emulator.rounds.bookkeeper.lost_entries import every_eth, next_edge
from emulator.rounds.bookkeeper.quorums import write_index
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.sizes import bytes_of_entry
from emulator.rounds.bookkeeper.stored import has_entry
from emulator.rounds.compiled import compiled, compiled_into_callers


@compiled
def read_entries(lists: Lists, inputs: Inputs, ledger: Ledger, from_entry: int, to_entry: int) -> int:
    """Each entry of a range is read from the first heard bookie of its write set that has it. Returns the bytes."""
    settings = inputs.settings[ledger.settings]
    total, entry = 0, from_entry
    while entry < to_entry:
        edge = next_size(inputs, ledger, entry, next_edge(lists, ledger, entry, to_entry))
        for near in range(entry, min(entry + settings.ensemble_size, edge)):
            source = source_of(lists, settings, ledger, near)
            if source != NOBODY:
                size = every_eth(near, edge, settings.ensemble_size) * bytes_of_entry(inputs, ledger, near)
                bookie_at(lists, ledger, source).bytes_out += size
                total += size
        entry = edge
    return total


@compiled
def source_of(lists: Lists, settings: Settings, ledger: Ledger, entry: int) -> int:
    """The slot of the bookie that an entry is read from, NOBODY: none can give it."""
    fragment = fragment_of(lists, ledger, entry)
    for place in range(settings.write_quorum):
        slot = lists.ensembles[fragment, write_index(settings, entry, place)]
        if is_heard(lists, ledger, slot) and has_entry(lists, settings, ledger, slot, entry):
            return slot
    return NOBODY


@compiled
def say(lists: Lists, settings: Settings, ledger: Ledger, slot: int, entry: int) -> int:
    """What a bookie says of an entry. Who isn't heard, or in limbo and without it, is UNKNOWN."""
    if not is_heard(lists, ledger, slot):
        return UNKNOWN
    if has_entry(lists, settings, ledger, slot, entry):
        return FOUND
    return UNKNOWN if bookie_at(lists, ledger, slot).limbo else NO


@compiled_into_callers
def error_of(said: int) -> int:
    """What a client takes it for that a bookie hasn't given it the entry."""
    return NO_SUCH_ENTRY if said == NO else DATA_UNKNOWN


@compiled_into_callers
def told_error(before: int, error: int) -> int:
    """Which error is told if nobody gives the entry: the first, but a NoSuchEntry gives way (logErrorAndReattemptRead)."""
    gives_way = before in (OK, NO_SUCH_ENTRY) or (before == NOT_AVAILABLE and error != NO_SUCH_ENTRY)
    return error if gives_way else before


@compiled
def next_size(inputs: Inputs, ledger: Ledger, entry: int, end: int) -> int:
    """The first entry behind one, at most an end, from which on entries may be of another size."""
    begin, edge = ledger.first_own_entry - ledger.first_message, end
    if entry < ledger.first_own_entry < edge:
        edge = ledger.first_own_entry
    for at in range(ledger.first_size, ledger.first_size + ledger.size_count):
        for border in (inputs.sizes[at].from_entry + begin, inputs.sizes[at].to_entry + begin):
            if entry < border < edge:
                edge = border
    return edge
