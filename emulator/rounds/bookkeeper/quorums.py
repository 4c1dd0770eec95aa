"""Who holds an entry, and how many answers are enough: the arithmetic of E, Qw and Qa. Indices are places in an ensemble."""

from __future__ import annotations

from emulator.rounds.bookkeeper.inputs import Rules, Settings
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.slots import has, size


@compiled_into_callers
def write_index(settings: Settings, entry: int, place: int) -> int:
    """The index at a place of the entry's write set, in the order in which a recovery asks."""
    return (entry + place) % settings.ensemble_size


@compiled_into_callers
def holds(settings: Settings, index: int, entry: int) -> bool:
    """Whether the bookie at an index gets the entry."""
    return (index - entry) % settings.ensemble_size < settings.write_quorum


@compiled_into_callers
def next_share(settings: Settings, index: int, entry: int) -> int:
    """The first entry at or behind one that an index gets."""
    ahead = (index - entry) % settings.ensemble_size
    return entry if ahead < settings.write_quorum else entry + ahead - settings.write_quorum + 1


@compiled_into_callers
def share_of(settings: Settings, index: int) -> int:
    """The entries that an index gets, as a mask of entries mod E."""
    mask = 0
    for entry in range(settings.ensemble_size):
        if holds(settings, index, entry):
            mask |= 1 << entry
    return mask


@compiled_into_callers
def next_of(settings: Settings, residues: int, entry: int) -> int:
    """The first entry at or behind one whose residue mod E is in the mask."""
    while not has(residues, entry % settings.ensemble_size):
        entry += 1
    return entry


@compiled_into_callers
def last_of(settings: Settings, residues: int, end: int) -> int:
    """The last entry below an end whose residue mod E is in the mask."""
    entry = end - 1
    while not has(residues, entry % settings.ensemble_size):
        entry -= 1
    return entry


@compiled
def count_below(settings: Settings, residues: int, end: int) -> int:
    """How many entries below an end have a residue mod E that is in the mask."""
    whole, rest = end // settings.ensemble_size, end % settings.ensemble_size
    return whole * size(residues) + size(residues & ((1 << rest) - 1))


@compiled
def needed_answers(settings: Settings, rules: Rules) -> int:
    """Qf: so many of a write set without an entry, and it can't have been acknowledged."""
    return settings.write_quorum - settings.ack_quorum + 1 if rules.enough_missing else settings.ack_quorum


@compiled
def covered(settings: Settings, heard: int, needed: int) -> bool:
    """Whether `needed` of every Qw neighbours are in the mask."""
    for entry in range(settings.ensemble_size):
        count = 0
        for place in range(settings.write_quorum):
            if has(heard, write_index(settings, entry, place)):
                count += 1
        if count < needed:
            return False
    return True
