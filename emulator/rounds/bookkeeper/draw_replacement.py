"""By whom a failed bookie is replaced: replaceBookie of BookKeeper's placement policies (docs/bookkeeper_rounds.md, Placement).

Sources: DefaultEnsemblePlacementPolicy, RackawareEnsemblePlacementPolicyImpl and RegionAwareEnsemblePlacementPolicy of
BookKeeper 4.17. None of them asks whether the new ensemble adheres to the policy.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.constants import DEFAULT_POLICY, NOBODY, REGION_AWARE_POLICY
from emulator.rounds.bookkeeper.draws import ANY, key_of_choice, may_take, row_of_seat
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.draws import mixed


@compiled
def draw_replacement(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    index: int,
    client: int,
    when: int,
    fragment: int,
) -> int:
    """The place of the bookie that comes to an index of a full ensemble, NOBODY if there is none; see `choose`."""
    settings = inputs.settings[ledger.settings]
    who = (ensembles, row, index, client, when, fragment)
    if settings.policy == DEFAULT_POLICY:
        return draw_one(lists, inputs, ledger, who, ANY, ANY, False)
    old = row_of_seat(lists, inputs, ledger, ensembles, row, index)
    place = draw_one(lists, inputs, ledger, who, old.rack, ANY, False)
    if place != NOBODY:
        return place
    if settings.policy == REGION_AWARE_POLICY:
        place = draw_one(lists, inputs, ledger, who, ANY, old.region, False)
        return place if place != NOBODY else draw_one(lists, inputs, ledger, who, ANY, ANY, False)
    place = draw_one(lists, inputs, ledger, who, ANY, ANY, True)
    if place == NOBODY and not settings.enforce_min_racks:
        place = draw_one(lists, inputs, ledger, who, ANY, ANY, False)
    return place


@compiled
def draw_one(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    who: tuple[np.ndarray, int, int, int, int, int],
    rack: int,
    region: int,
    is_apart: bool,
) -> int:
    """Any free bookie of a rack and a region; `is_apart`: in no rack of the others of the ensemble. NOBODY: there is none."""
    ensembles, row, index, client, when, fragment = who
    scenario, size = inputs.scenarios[ledger.scenario], inputs.settings[ledger.settings].ensemble_size
    key = key_of_choice(inputs, ledger, index)
    best, least = NOBODY, 0
    for place in range(scenario.bookies):
        bookie = inputs.bookies[scenario.first_bookie + place]
        drawn = mixed(key, bookie.broker)
        if best != NOBODY and drawn >= least:  # asked first: whether a bookie may take the seat costs twenty times as much
            continue
        if (rack != ANY and rack != bookie.rack) or (region != ANY and region != bookie.region):
            continue
        if is_apart and is_beside(lists, inputs, ledger, ensembles, row, index, bookie.rack):
            continue
        if not may_take(lists, inputs, ledger, ensembles, row, size, place, client, when, fragment):
            continue
        best, least = place, drawn
    return best


@compiled
def is_beside(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, index: int, rack: int) -> bool:
    """Whether somebody else of an ensemble is in a rack."""
    for seat in range(inputs.settings[ledger.settings].ensemble_size):
        if seat != index and row_of_seat(lists, inputs, ledger, ensembles, row, seat).rack == rack:
            return True
    return False
