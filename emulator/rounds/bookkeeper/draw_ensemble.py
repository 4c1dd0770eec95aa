"""Which bookies a new ensemble takes: newEnsemble of BookKeeper's placement policies (docs/bookkeeper_rounds.md, Placement).

Sources: DefaultEnsemblePlacementPolicy, RackawareEnsemblePlacementPolicyImpl (the client is in no rack), RegionAwareEnsemble-
PlacementPolicy (no reppRegionsToWrite, the client is in no region) and RRTopologyAwareCoverageEnsemble of BookKeeper 4.17.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.bookkeeper.bookies import is_registered, slot_of
from emulator.rounds.bookkeeper.constants import DEFAULT_POLICY, NO_ENTRY, NOBODY, REGION_AWARE_POLICY
from emulator.rounds.bookkeeper.draws import ANY, key_of_choice, may_take, row_of_seat
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled
from emulator.rounds.draws import mixed
from emulator.rounds.lists import keep_first


class Part(NamedTuple):
    """Seats that are filled together: of a region from `first` on, `size` of them, a write quorum `write` of these.

    `least`: racks that every write quorum shall have. Without regions the part is the ensemble.
    """

    region: int
    first: int
    size: int
    write: int
    least: int


@compiled
def draw_ensemble(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, number: int) -> bool:
    """An ensemble of the registered bookies; `number`: of the ledger in its topic. False: the policy finds none."""
    settings = inputs.settings[ledger.settings]
    size, write = settings.ensemble_size, settings.write_quorum
    if settings.policy == REGION_AWARE_POLICY:
        return draw_over_regions(lists, inputs, ledger, ensembles, row, number)
    if settings.policy == DEFAULT_POLICY:
        return fill_anyhow(lists, inputs, ledger, ensembles, row, Part(ANY, 0, size, write, 0))
    return fill(lists, inputs, ledger, ensembles, row, Part(ANY, 0, size, write, min(settings.min_racks, write)))


@compiled
def fill(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, part: Part) -> bool:
    """Each seat by a rack that those before it haven't; where there is none, by any that leaves every write quorum enough racks.

    Where none does, by anybody, unless racks are enforced. Only one rack: by anybody.
    """
    settings = inputs.settings[ledger.settings]
    if not has_two_racks(inputs, ledger, part.region):
        if settings.enforce_min_racks and part.least > 1:
            return False
        return fill_anyhow(lists, inputs, ledger, ensembles, row, part)
    apart_from = part.first
    for seat in range(part.first, part.first + part.size):
        place = draw_for_seat(lists, inputs, ledger, ensembles, row, part, seat, apart_from, True)
        if place == NOBODY and seat > part.first:
            apart_from = seat  # the racks before it are used up, and may come once more
            place = draw_for_seat(lists, inputs, ledger, ensembles, row, part, seat, seat, True)
            if place == NOBODY and not settings.enforce_min_racks:
                place = draw_for_seat(lists, inputs, ledger, ensembles, row, part, seat, seat, False)
        if place == NOBODY:
            return False
        ensembles[row, seat] = slot_of(lists, inputs, ledger, place)
    return True


@compiled
def fill_anyhow(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, part: Part) -> bool:
    """Seats by anybody of the region."""
    for seat in range(part.first, part.first + part.size):
        place = draw_for_seat(lists, inputs, ledger, ensembles, row, part, seat, seat, False)
        if place == NOBODY:
            return False
        ensembles[row, seat] = slot_of(lists, inputs, ledger, place)
    return True


@compiled
def has_two_racks(inputs: Inputs, ledger: Ledger, region: int) -> bool:
    """Whether registered bookies (of a region) are in two racks or more; those without a rack are in one of their own."""
    scenario = inputs.scenarios[ledger.scenario]
    rack, is_first = ANY, True
    for place in range(scenario.bookies):
        bookie = inputs.bookies[scenario.first_bookie + place]
        if (region != ANY and bookie.region != region) or not is_registered(inputs, ledger, place):
            continue
        if not is_first and bookie.rack != rack:
            return True
        rack, is_first = bookie.rack, False
    return False


@compiled
def draw_for_seat(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    part: Part,
    seat: int,
    apart_from: int,
    spreads: bool,
) -> int:
    """A bookie of the part's region, in no rack of the seats from `apart_from` on; `spreads`: one that fits."""
    scenario, settings = inputs.scenarios[ledger.scenario], inputs.settings[ledger.settings]
    key = key_of_choice(inputs, ledger, seat)
    best, lowest = NOBODY, 0
    for place in range(scenario.bookies):
        bookie = inputs.bookies[scenario.first_bookie + place]
        drawn = mixed(key, bookie.broker)
        if best != NOBODY and drawn >= lowest:  # asked first: whether a bookie may take the seat costs twenty times as much
            continue
        if part.region != ANY and bookie.region != part.region:
            continue
        if not may_take(lists, inputs, ledger, ensembles, row, seat, place, NOBODY, NOBODY, NO_ENTRY):
            continue
        if is_among(lists, inputs, ledger, ensembles, row, apart_from, seat, bookie.rack):
            continue
        if spreads and not leaves_enough(lists, inputs, ledger, ensembles, row, part, seat, bookie.rack, False):
            continue
        if spreads and settings.policy == REGION_AWARE_POLICY:
            write = settings.write_quorum
            whole = Part(ANY, 0, settings.ensemble_size, write, min(settings.min_racks, write))
            if not leaves_enough(lists, inputs, ledger, ensembles, row, whole, seat, bookie.region, True):
                continue
        best, lowest = place, drawn
    return best


@compiled
def is_among(
    lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, first: int, end: int, rack: int
) -> bool:
    """Whether somebody at the seats [first, end) is in a rack."""
    found = False
    for seat in range(first, end):
        if row_of_seat(lists, inputs, ledger, ensembles, row, seat).rack == rack:
            found = True
    return found


@compiled
def leaves_enough(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    part: Part,
    seat: int,
    own: int,
    by_region: bool,
) -> bool:
    """Whether every write quorum of a part that has a seat may still come to `least` racks, or regions, with this one there."""
    if part.least <= 1:
        return True
    position = seat - part.first
    for start in range(position - part.write + 1, position + 1):
        different, free = 0, 0
        for step in range(part.write):
            other = (start + step) % part.size
            if other > position:
                free += 1
            elif is_first_of_its_kind(lists, inputs, ledger, ensembles, row, part, seat, own, by_region, start, step):
                different += 1
        if different + free < part.least:
            return False
    return True


@compiled
def is_first_of_its_kind(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    part: Part,
    seat: int,
    own: int,
    by_region: bool,
    start: int,
    step: int,
) -> bool:
    """Whether no earlier one of a write quorum is in the same rack, or region."""
    kind = kind_at(lists, inputs, ledger, ensembles, row, part, seat, own, by_region, start + step)
    for earlier in range(start, start + step):
        if earlier % part.size > seat - part.first:
            continue
        if kind_at(lists, inputs, ledger, ensembles, row, part, seat, own, by_region, earlier) == kind:
            return False
    return True


@compiled
def kind_at(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    part: Part,
    seat: int,
    own: int,
    by_region: bool,
    position: int,
) -> int:
    """The rack, or region, at a position of a part, round and round; at `seat` it is `own`."""
    at = part.first + position % part.size
    if at == seat:
        return own
    bookie = row_of_seat(lists, inputs, ledger, ensembles, row, at)
    return bookie.region if by_region else bookie.rack


REGION, SEATS, WRITE, FULL = range(4)
"""Columns of Lists.shares: a region, how many seats and how much of the write quorum it has so far, whether it takes no more."""


@compiled
def draw_over_regions(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, number: int) -> bool:
    """Seats are shared out evenly over the regions; a region that has too few bookies is made up for by the others."""
    settings = inputs.settings[ledger.settings]
    size, write, shares = settings.ensemble_size, settings.write_quorum, lists.shares
    regions = list_regions(lists, inputs, ledger)
    if regions == 0:
        return False
    if regions == 1:
        only = Part(shares[0, REGION], 0, size, write, min(settings.min_racks, write))
        return fill(lists, inputs, ledger, ensembles, row, only)
    left, left_of_write, turn = size, write, number * min(size, regions) % regions
    while True:
        left_before, filled, at = left, 0, turn
        sharing = open_regions(lists, regions)
        for _ in range(regions):
            share = at % regions
            at += 1
            took_seats = False
            wanted = 0 if shares[share, FULL] else min(left, -(-left // max(1, sharing)))
            while wanted > 0 and not took_seats:
                of_write = max(1, min(left_of_write, (2 * write * wanted + size) // (2 * size)))
                seats, quorum = shares[share, SEATS] + wanted, shares[share, WRITE] + of_write
                part = Part(shares[share, REGION], filled, seats, quorum, min(settings.min_racks, quorum))
                known = ledger.bookies.count
                took_seats = fill(lists, inputs, ledger, ensembles, row, part)
                if took_seats:
                    shares[share, SEATS], shares[share, WRITE] = seats, quorum
                    left -= wanted
                    left_of_write -= of_write
                    filled += seats
                    sharing -= 1
                    turn = at
                else:
                    keep_first(ledger.bookies, known)
                    wanted -= 1
            if took_seats:
                continue
            shares[share, FULL] = 1
            seats, quorum = shares[share, SEATS], shares[share, WRITE]
            if seats > 0:
                part = Part(shares[share, REGION], filled, seats, quorum, min(settings.min_racks, quorum))
                if not fill(lists, inputs, ledger, ensembles, row, part):
                    return False
                filled += seats
        if left == 0 or left == left_before or open_regions(lists, regions) == 0:
            return filled == size


@compiled
def list_regions(lists: Lists, inputs: Inputs, ledger: Ledger) -> int:
    """Put the regions of the registered bookies into Lists.shares, in their order, none with a seat yet; how many."""
    scenario, shares = inputs.scenarios[ledger.scenario], lists.shares
    count = 0
    while count < len(shares):
        lowest = ANY
        for place in range(scenario.bookies):
            region = inputs.bookies[scenario.first_bookie + place].region
            is_new = count == 0 or region > shares[count - 1, REGION]
            if is_new and (lowest == ANY or region < lowest) and is_registered(inputs, ledger, place):
                lowest = region
        if lowest == ANY:
            return count
        shares[count, REGION], shares[count, SEATS], shares[count, WRITE], shares[count, FULL] = lowest, 0, 0, 0
        count += 1
    return count


@compiled
def open_regions(lists: Lists, regions: int) -> int:
    """How many regions may take more seats."""
    count = 0
    for share in range(regions):
        if not lists.shares[share, FULL]:
            count += 1
    return count
