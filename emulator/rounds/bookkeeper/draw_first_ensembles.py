"""First ensembles of a topic's ledgers, before round 0."""

from __future__ import annotations

import numpy as np

from emulator.rounds.bookkeeper.constants import NOBODY
from emulator.rounds.bookkeeper.draw_ensemble import draw_ensemble
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger, Lists
from emulator.rounds.compiled import entry_point


@entry_point
def draw_first_ensembles(lists: Lists, inputs: Inputs, ledger: Ledger, first_number: int, places: np.ndarray) -> int:
    """Fill rows of places of bookies, one a ledger; the first one's partition_id is `first_number`.

    `ledger`: what all of them are before they have bookies. Returns the first ledger without an ensemble, NOBODY: all have one.
    """
    for number in range(len(places)):
        ledger.number = first_number + number
        ledger.bookies.count = 0
        if not draw_ensemble(lists, inputs, ledger, lists.own, 0, number):
            return number
        for index in range(places.shape[1]):
            places[number, index] = lists.bookies[ledger.bookies.start + lists.own[0, index]].place
    return NOBODY
