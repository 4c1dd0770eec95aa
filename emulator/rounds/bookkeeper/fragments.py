"""The metadata's fragments, and those that a recovery found."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.constants import CLOSED, ENSEMBLE_CHANGE, FOREVER, NO_ENTRY, NOBODY, NOWHERE
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.bookkeeper.tell import tell_of_entries
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import append, every, last


@compiled_into_callers
def own_ensemble(ledger: Ledger, client: int) -> int:
    """The row of Lists.own with the ensemble that a client writes to."""
    return ledger.own.start + 1 + client


@compiled
def fragment_of(lists: Lists, ledger: Ledger, entry: int) -> int:
    """Where the fragment is that an entry lies in: the highest that starts at or below it."""
    found = ledger.fragments.start
    for at in every(ledger.fragments):
        first = lists.fragments[at].first_entry
        if first <= entry and first >= lists.fragments[found].first_entry:
            found = at
    return found


@compiled
def fragment_at(lists: Lists, ledger: Ledger, first_entry: int) -> int:
    """Where the fragment is that starts at an entry, NOWHERE if none does."""
    for at in every(ledger.fragments):
        if lists.fragments[at].first_entry == first_entry:
            return at
    return NOWHERE


@compiled
def fragment_end(lists: Lists, ledger: Ledger, fragment: int) -> int:
    """The end of a fragment: where the next one starts, or the ledger ends; the last one of an open ledger has nothing."""
    end = ledger.last_entry + 1 if ledger.state == CLOSED else lists.fragments[last(ledger.fragments)].first_entry
    first = lists.fragments[fragment].first_entry
    behind = FOREVER
    for at in every(ledger.fragments):
        if lists.fragments[at].first_entry > first:
            behind = min(behind, lists.fragments[at].first_entry)
    return end if behind == FOREVER else behind


@compiled_into_callers
def is_growing(ledger: Ledger, fragment: int) -> bool:
    """Whether a fragment may still change: the last one of a ledger that isn't closed."""
    return ledger.state != CLOSED and fragment == last(ledger.fragments)


@compiled
def index_in(ensembles: np.ndarray, row: int, size: int, slot: int) -> int:
    """The index of a bookie in an ensemble, NOBODY if it isn't in it."""
    for index in range(size):
        if ensembles[row, index] == slot:
            return index
    return NOBODY


@compiled
def copy_ensemble(source: np.ndarray, from_row: int, target: np.ndarray, to_row: int) -> None:
    """Copy a row."""
    for index in range(source.shape[1]):
        target[to_row, index] = source[from_row, index]


@compiled
def same_ensemble(one: np.ndarray, row: int, other: np.ndarray, other_row: int, size: int) -> bool:
    """Whether two ensembles are the same, index by index."""
    same = True
    for index in range(size):
        if one[row, index] != other[other_row, index]:
            same = False
    return same


@compiled
def put_ensemble(
    lists: Lists, inputs: Inputs, ledger: Ledger, first_entry: int, ensembles: np.ndarray, row: int, cause: int
) -> None:
    """Entries from one on go to an ensemble, says the metadata: a new fragment, or another ensemble of that very one."""
    at = fragment_at(lists, ledger, first_entry)
    size = inputs.settings[ledger.settings].ensemble_size
    if at != NOWHERE and same_ensemble(ensembles, row, lists.ensembles, at, size):
        return
    if at == NOWHERE:
        at = append(ledger.fragments)
        lists.fragments[at].first_entry = first_entry
    else:
        ledger.fragments.changes += 1
    copy_ensemble(ensembles, row, lists.ensembles, at)
    note_changed_fragment(ledger, first_entry)
    ledger.ensemble_changes += 1
    tell_of_entries(lists, ledger, ENSEMBLE_CHANGE, first_entry, NO_ENTRY, cause)


@compiled
def note_changed_fragment(ledger: Ledger, first_entry: int) -> None:
    """Entries from one on are looked for by another ensemble: some may not be found (check_invariants.py)."""
    ledger.suspects_from = min(ledger.suspects_from, first_entry)
    if ledger.state == CLOSED:
        ledger.ends_otherwise = 1


@compiled
def found_fragment_of(lists: Lists, ledger: Ledger, client: int, entry: int) -> int:
    """Where the fragment of an entry is among those that a recovery found when it marked the ledger."""
    found = NOWHERE
    for at in every(ledger.found):
        fragment = lists.found[at]
        if fragment.client != client or fragment.is_change or fragment.first_entry > entry:
            continue
        if found == NOWHERE or fragment.first_entry >= lists.found[found].first_entry:
            found = at
    return found


@compiled
def last_found(lists: Lists, ledger: Ledger, client: int) -> int:
    """Where the fragment is that was added last of those that a recovery found."""
    found = NOWHERE
    for at in every(ledger.found):
        if lists.found[at].client == client and not lists.found[at].is_change:
            found = at
    return found
