"""A block of ledgers from scenarios: their inputs and their state before round 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.faults.kinds import read_fault_rows
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.gather import GatheredInputs
from emulator.inputs.ledger_arrays.of_ledgers import Feed, feeds_of_topic
from emulator.inputs.ledger_arrays.settings import settings_of
from emulator.inputs.ledger_arrays.start import start_ledgers, state_of
from emulator.inputs.ledgers import given_ledgers
from emulator.ledger_configs import is_managed
from emulator.rounds.bookkeeper.constants import FOREVER, MAX_ENSEMBLE
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.records import rows
from emulator.scenario import Scenario


class Block(NamedTuple):
    """Ledgers to be played: their state, and what their rounds read."""

    state: State
    inputs: Inputs


def read_ledgers(scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool) -> Block:
    """All ledgers by themselves of some scenarios, in their order; `traced`: scenario_id -> flags by partition_id."""
    gathered = GatheredInputs()
    parts: list[Any] = []
    ensembles: list[np.ndarray] = []
    given: dict[int, Mapping[str, Any]] = {}
    count = 0
    for scenario in scenarios:
        faults = read_fault_rows(scenario.faults, scenario.rounds)
        arrays = BookieArrays(scenario, faults)
        place, first_store_span = gathered.add_scenario(scenario, faults, arrays, leaps)
        starts = given_ledgers(scenario)
        first = 0
        for topic in scenario.topics:
            if not is_managed(scenario.config, topic.config):
                own = rows(Ledger, topic.partitions)
                start_ledgers(own)
                own.scenario, own.end = place, scenario.rounds
                own.store_span = first_store_span
                own.number = np.arange(first, first + topic.partitions)
                own.traced = traced[scenario.scenario_id][first : first + topic.partitions]
                own.settings = gathered.settings.put((tuple(settings_of(scenario, topic).values()),))
                _feed(own, gathered, *feeds_of_topic(scenario, topic, faults, arrays.place))
                ensembles.append(_places(topic.assignment, arrays))
                for number in range(topic.partitions) if starts else ():
                    if first + number in starts:
                        given[count + number] = _with_places(starts[first + number], arrays)
                parts.append(own)
                count += topic.partitions
            first += topic.partitions
    ledgers: Any = np.concatenate(parts).view(np.recarray)
    ledgers.place = np.arange(count)
    inputs = gathered.inputs()
    return Block(state_of(ledgers, np.concatenate(ensembles), inputs, given), inputs)


def _feed(ledgers: Any, gathered: GatheredInputs, of_ledger: np.ndarray, feeds: Sequence[Feed]) -> None:
    """What each ledger has of workload, commands and faults of its own."""
    ledgers.workload = np.array([gathered.workload.put(feed.workload) for feed in feeds], np.int64)[of_ledger]
    ledgers.command = np.array([gathered.commands.put(feed.commands) for feed in feeds], np.int64)[of_ledger]
    ledgers.first_on_the_way = np.array([gathered.on_the_way.put(feed.on_the_way) for feed in feeds], np.int64)[of_ledger]
    ledgers.on_the_way = np.array([len(feed.on_the_way) for feed in feeds], np.int64)[of_ledger]
    ledgers.first_size = np.array([gathered.sizes.put(feed.sizes) for feed in feeds], np.int64)[of_ledger]
    ledgers.size_count = np.array([len(feed.sizes) for feed in feeds], np.int64)[of_ledger]
    ledgers.crash_round = np.array([min(feed.crashes, default=FOREVER) for feed in feeds], np.int64)[of_ledger]


def _places(assignment: np.ndarray, arrays: BookieArrays) -> np.ndarray:
    """Ensembles as rows of places among the scenario's bookies, -1 behind the last."""
    places = np.full((len(assignment), MAX_ENSEMBLE), -1, np.int64)
    places[:, : assignment.shape[1]] = np.searchsorted(arrays.ids, assignment)
    return places


def _with_places(start: Mapping[str, Any], arrays: BookieArrays) -> dict[str, Any]:
    """What a ledger starts with, its bookies by place."""
    fragments = [
        {"first_entry": one["first_entry"], "places": [arrays.place[bookie] for bookie in one["ensemble"]]}
        for one in start["fragments"]
    ]
    return {**start, "fragments": fragments}
