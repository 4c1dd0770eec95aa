"""What is drawn at random where placement policies shuffle bookies.

A draw is a number that follows from a key and a bookie alone; who has the least comes first (docs/bookkeeper_rounds.md, Draws).
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.bookies import is_registered
from emulator.rounds.bookkeeper.constants import DEFAULT_POLICY, NO_RACK, NOBODY
from emulator.rounds.bookkeeper.inputs import BookieRow, Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.draws import mixed
from emulator.rounds.lists import every

ANY = -2
"""Any rack, any region."""


@compiled
def key_of_choice(inputs: Inputs, ledger: Ledger, index: int) -> int:
    """The key of a choice for an index of an ensemble of a ledger, in this round."""
    key = mixed(mixed(inputs.scenarios[ledger.scenario].draw_key, ledger.number), ledger.in_list)
    return mixed(mixed(key, ledger.now), index)


@compiled_into_callers
def row_of_seat(lists: Lists, inputs: Inputs, ledger: Ledger, ensembles: np.ndarray, row: int, seat: int) -> BookieRow:
    """Who sits at an index of an ensemble."""
    place = lists.bookies[ledger.bookies.start + ensembles[row, seat]].place
    return inputs.bookies[inputs.scenarios[ledger.scenario].first_bookie + place]


@compiled
def may_take(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    filled: int,
    place: int,
    client: int,
    when: int,
    fragment: int,
) -> bool:
    """Whether a bookie is registered and free; one without a rack is no choice where racks are enforced."""
    settings = inputs.settings[ledger.settings]
    if not is_registered(inputs, ledger, place):
        return False
    rack = inputs.bookies[inputs.scenarios[ledger.scenario].first_bookie + place].rack
    if rack == NO_RACK and settings.enforce_min_racks and settings.policy > DEFAULT_POLICY:
        return False
    return is_free(lists, inputs, ledger, ensembles, row, filled, place, client, when, fragment)


@compiled
def is_free(
    lists: Lists,
    inputs: Inputs,
    ledger: Ledger,
    ensembles: np.ndarray,
    row: int,
    filled: int,
    place: int,
    client: int,
    when: int,
    fragment: int,
) -> bool:
    """Whether a registered bookie is neither in the ensemble, nor to be replaced, nor on its way into the fragment."""
    first = ledger.bookies.start
    for index in range(min(filled, inputs.settings[ledger.settings].ensemble_size)):
        if lists.bookies[first + ensembles[row, index]].place == place:
            return False
    for at in every(ledger.failures):
        failure = lists.failures[at]
        if failure.client == client and failure.when == when and lists.bookies[first + failure.bookie].place == place:
            return False
    for at in every(ledger.replacements):
        task = lists.replacements[at]
        if task.first_entry == fragment and task.target != NOBODY and lists.bookies[first + task.target].place == place:
            return False
    return True
