"""First ensembles of ledgers that BookKeeper's own policies place: drawn by the compiled rules that rounds draw with."""

from __future__ import annotations

import numpy as np

from emulator.faults.kinds import read_fault_rows
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.gather import GatheredInputs
from emulator.inputs.ledger_arrays.settings import settings_of
from emulator.rounds.bookkeeper.constants import NOBODY
from emulator.rounds.bookkeeper.draw_first_ensembles import draw_first_ensembles
from emulator.rounds.bookkeeper.play_block import Scratch
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.records import rows
from emulator.scenario.model import Scenario, Topic

ROOM = 16
"""Of lists: enough for the bookies of one ensemble."""


def first_ensembles(scenario: Scenario, topic: Topic, first_number: int) -> np.ndarray | None:
    """Broker ids of the ensembles, a row a ledger of a topic; None: for some ledger there is none.

    `first_number`: partition_id of the topic's first ledger.
    """
    arrays = BookieArrays(scenario, read_fault_rows(scenario.faults, scenario.rounds))
    gathered = GatheredInputs()
    place, first_store_span = gathered.add_scenario(scenario, (), arrays, False, 0)
    settings = settings_of(scenario, topic)
    ledger = rows(Ledger, 1)[0]
    ledger.scenario, ledger.store_span = place, first_store_span
    ledger.settings = gathered.settings.put((tuple(settings.values()),))
    scratch = Scratch(ROOM, ROOM)
    ledger.bookies.limit = len(scratch.lists.bookies) - 1
    places = np.zeros((topic.partitions, settings["ensemble_size"]), np.int64)
    if draw_first_ensembles(scratch.lists, gathered.inputs(), ledger, first_number, places) != NOBODY:
        return None
    return np.array(arrays.ids, np.int32)[places]
