"""Which bookies a new ensemble takes, and by which a failed one is replaced (docs/bookkeeper_rounds.md, Placement)."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.bookies import is_registered, slot_of
from emulator.rounds.bookkeeper.constants import (
    DEFAULT_POLICY,
    LOWEST_FREE_ID,
    MAX_ENSEMBLE,
    NO_ENTRY,
    NO_FAULT,
    NO_RACK,
    NOBODY,
)
from emulator.rounds.bookkeeper.draw_ensemble import draw_ensemble
from emulator.rounds.bookkeeper.draw_replacement import draw_replacement
from emulator.rounds.bookkeeper.draws import is_free
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.lists import every


@compiled
def replace(
    lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, client: int, when: int
) -> tuple[bool, bool]:
    """Replace the bookies that a client found failed, one after another by index; who isn't at its index is passed over.

    Returns (whether the ensemble is another one now, whether that does: not if there was nobody for the first of them. One of
    the others for whom there is nobody stays where it is: EnsembleUtils.replaceBookiesInEnsemble).
    """
    is_other = False
    for index in range(inputs.settings[ledger.settings].ensemble_size):
        failed = failed_at(lists, ledger, client, when, index)
        if failed == NOBODY or ensembles[row, index] != failed:
            continue
        place = choose(lists, inputs, ledger, ensembles, row, MAX_ENSEMBLE, index, 0, client, when, NO_ENTRY)
        if place == NOBODY:
            return is_other, is_other
        ensembles[row, index] = slot_of(lists, inputs, ledger, place)
        is_other = True
    return is_other, True


@compiled
def finds_nobody(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, client: int, when: int) -> bool:
    """Whether there is no bookie for the first of those whom a client wants replaced."""
    for index in range(inputs.settings[ledger.settings].ensemble_size):
        failed = failed_at(lists, ledger, client, when, index)
        if failed != NOBODY and ensembles[row, index] == failed:
            return choose(lists, inputs, ledger, ensembles, row, MAX_ENSEMBLE, index, 0, client, when, NO_ENTRY) == NOBODY
    return False


@compiled
def cause_of_change(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, client: int, when: int) -> int:
    """The fault behind an ensemble change: for which the first bookie, by index, is replaced; NO_FAULT: none is."""
    for index in range(inputs.settings[ledger.settings].ensemble_size):
        for at in every(ledger.failures):
            failure = lists.failures[at]
            is_of_change = failure.client == client and failure.when == when and failure.index == index
            if is_of_change and ensembles[row, index] == failure.bookie:
                return failure.cause
    return NO_FAULT


@compiled
def failed_at(lists: Lists, ledger: Ledger, client: int, when: int, index: int) -> int:
    """The slot of the bookie that a client wants replaced at an index, NOBODY: none."""
    for at in every(ledger.failures):
        failure = lists.failures[at]
        if failure.client == client and failure.when == when and failure.index == index:
            return failure.bookie
    return NOBODY


@compiled
def new_ensemble(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, number: int) -> bool:
    """An ensemble of the registered bookies, for the ledger with this number in its topic. False: there is none.

    BookKeeper's own policies draw it; the others take bookies from that number among them on, round and round.
    """
    if inputs.settings[ledger.settings].policy >= DEFAULT_POLICY:
        return draw_ensemble(lists, inputs, ledger, ensembles, row, number)
    for index in range(inputs.settings[ledger.settings].ensemble_size):
        place = choose(lists, inputs, ledger, ensembles, row, index, index, number, NOBODY, NOBODY, NO_ENTRY)
        if place == NOBODY:
            return False
        ensembles[row, index] = slot_of(lists, inputs, ledger, place)
    return True


@compiled
def choose(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    filled: int,
    index: int,
    number: int,
    client: int,
    when: int,
    fragment: int,
) -> int:
    """The place of the bookie that comes to an index of an ensemble, NOBODY if there is none.

    `filled`: indices below it have somebody. `number`: which of the registered bookies comes first. Not free is who is in the
    ensemble, whom the `client` wants replaced (`when`), and who comes into the `fragment`, by its first entry, as a copy.
    """
    scenario, settings = inputs.scenarios[ledger.scenario], inputs.settings[ledger.settings]
    if settings.policy >= DEFAULT_POLICY:
        return draw_replacement(lists, inputs, ledger, ensembles, row, index, client, when, fragment)
    first = registered_number(inputs, ledger, number)
    if first == NOBODY:
        return NOBODY
    best, best_rank = NOBODY, 0
    for turn in range(scenario.bookies):
        place = (first + turn) % scenario.bookies
        if not is_registered(inputs, ledger, place):
            continue
        if not is_free(lists, inputs, ledger, ensembles, row, filled, place, client, when, fragment):
            continue
        if settings.policy == LOWEST_FREE_ID:
            return place
        rank = rank_of(lists, inputs, ledger, ensembles, row, filled, index, place)
        if best == NOBODY or rank < best_rank:
            best, best_rank = place, rank
    if best != NOBODY and settings.enforce_min_racks and best_rank >= CROWDED:
        return NOBODY
    return best


CROWDED = 3
"""The least rank of who leaves some write set in too few racks."""


@compiled
def registered_number(inputs: Inputs, ledger: Ledger, number: int) -> int:
    """The place of one of the registered bookies, counted by id and round and round; NOBODY if there is none."""
    bookies = inputs.scenarios[ledger.scenario].bookies
    if number == 0:
        return 0
    count = 0
    for place in range(bookies):
        if is_registered(inputs, ledger, place):
            count += 1
    if count == 0:
        return NOBODY
    left = number % count
    for place in range(bookies):
        if is_registered(inputs, ledger, place):
            if left == 0:
                return place
            left -= 1
    return NOBODY


@compiled
def rank_of(
    lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, filled: int, index: int, place: int
) -> int:
    """How good a bookie is, the least best: enough racks in every write set, then the rack of who was there, then a new rack."""
    size, first = inputs.settings[ledger.settings].ensemble_size, ledger.bookies.start
    rack = inputs.bookies[inputs.scenarios[ledger.scenario].first_bookie + place].rack
    nearness = 1
    for other in range(min(filled, size)):
        other_rack = lists.bookies[first + ensembles[row, other]].rack
        if other != index and other_rack == rack:
            nearness = 2
    if index < filled:
        old_rack = lists.bookies[first + ensembles[row, index]].rack
        if rack == old_rack and old_rack != NO_RACK:
            nearness = 0
    spread = leaves_enough_racks(lists, inputs, ledger, ensembles, row, filled, index, rack)
    return nearness if spread else CROWDED + nearness


@compiled
def leaves_enough_racks(
    lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, filled: int, index: int, rack: int
) -> bool:
    """Whether every write set with an index has enough racks with this one there, or may still have when the ensemble is full."""
    settings = inputs.settings[ledger.settings]
    size, write = settings.ensemble_size, settings.write_quorum
    least = min(settings.min_racks, write)
    for before in range(write):
        start = (index - before) % size
        racks, unknown = 0, 0
        for place in range(write):
            own = rack_in(lists, ledger, ensembles, row, filled, index, rack, (start + place) % size)
            if own == FREE_SEAT:
                unknown += 1
                continue
            is_new = True
            for earlier in range(place):
                if rack_in(lists, ledger, ensembles, row, filled, index, rack, (start + earlier) % size) == own:
                    is_new = False
            if is_new:
                racks += 1
        if racks + unknown < least:
            return False
    return True


FREE_SEAT = -2
"""The rack at an index that nobody has yet."""


@compiled
def rack_in(lists: Lists, ledger: Ledger, ensembles: np.ndarray, row: int, filled: int, index: int, rack: int, seat: int) -> int:
    """The rack at a seat of an ensemble into which somebody of a rack comes at an index."""
    if seat == index:
        return rack
    return lists.bookies[ledger.bookies.start + ensembles[row, seat]].rack if seat < filled else FREE_SEAT
