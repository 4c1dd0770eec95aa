"""Ledgers of scenarios: their inputs, and blocks of them as they are before round 0."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.faults.kinds import read_fault_rows
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.gather import GatheredInputs
from emulator.inputs.ledger_arrays.of_ledgers import Feed, feeds_of_topic
from emulator.inputs.ledger_arrays.settings import settings_of
from emulator.inputs.ledger_arrays.start import state_of
from emulator.inputs.ledger_arrays.weights import ledger_weights, traced_weights
from emulator.rounds.bookkeeper.constants import FOREVER, MAX_ENSEMBLE, NO_FAULT
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger
from emulator.rounds.bookkeeper.state import State, start_ledgers
from emulator.rounds.records import rows
from emulator.scenario import Scenario
from emulator.scenario.ledger_configs import is_managed

Given = Mapping[str, Any]
NO_CRASH = (FOREVER, NO_FAULT)


class Block(NamedTuple):
    """Ledgers to be played: their state, and what their rounds read."""

    state: State
    inputs: Inputs


class PreparedLedgers:
    """All ledgers by themselves of some scenarios, in their order, as columns of fields of records.Ledger.

    `traced`: scenario_id -> flags by partition_id. `weights`: by ledger, how much there is to do.
    """

    def __init__(
        self, scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, bucket_rounds: int = 0
    ) -> None:
        gathered = GatheredInputs()
        parts: list[dict[str, np.ndarray]] = []
        ensembles: list[np.ndarray] = []
        weights: list[np.ndarray] = [np.zeros(0)]
        self._given: dict[int, Given] = {}
        self.count = 0
        for scenario in scenarios:
            faults = read_fault_rows(scenario.faults, scenario.rounds)
            arrays = BookieArrays(scenario, faults)
            place, first_store_span = gathered.add_scenario(scenario, faults, arrays, leaps, bucket_rounds)
            starts = given_ledgers(scenario)
            first = 0
            for topic in scenario.topics:
                count = topic.partitions
                if not is_managed(scenario.config, topic.config):
                    settings = gathered.settings.put((tuple(settings_of(scenario, topic).values()),))
                    alike = {"scenario": place, "end": scenario.rounds, "store_span": first_store_span, "settings": settings}
                    own = {name: np.full(count, value, np.int32) for name, value in alike.items()}
                    own["number"] = np.arange(first, first + count, dtype=np.int32)
                    own["traced"] = np.asarray(traced[scenario.scenario_id][first : first + count], bool)
                    of_ledger, feeds = feeds_of_topic(scenario, topic, faults, arrays.place)
                    parts.append(own | _of_feeds(gathered, of_ledger, feeds))
                    ensembles.append(_places(topic.assignment, arrays))
                    own_weights = ledger_weights(scenario.rounds, leaps, arrays, ensembles[-1], of_ledger, feeds)
                    weights.append(own_weights + traced_weights(scenario.rounds, topic.assignment.shape[1], own["traced"]))
                    for number in range(count) if starts else ():
                        if first + number in starts:
                            self._given[self.count + number] = with_places(starts[first + number], arrays)
                    self.count += count
                first += count
        self._columns = {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
        self._ensembles = np.concatenate([np.zeros((0, MAX_ENSEMBLE), np.int32), *ensembles])
        self.weights = np.concatenate(weights)
        self.inputs = gathered.inputs()

    def numbers(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Of the ledgers [first, last): (places of their scenarios, partition_ids)."""
        return self._columns["scenario"][first:last], self._columns["number"][first:last]

    def payload(self, first: int, last: int) -> bytes:
        """The ledgers [first, last), for `read_ledger_block`."""
        columns = {name: values[first:last] for name, values in self._columns.items()}
        given = {at - first: start for at, start in self._given.items() if first <= at < last}
        return pickle.dumps((columns, self._ensembles[first:last], given, self.inputs), protocol=5)


def read_ledger_block(payload: bytes) -> Block:
    """What `PreparedLedgers.payload` packed."""
    columns, ensembles, given, inputs = pickle.loads(payload)
    ledgers = rows(Ledger, len(ensembles))
    start_ledgers(ledgers)
    for name, values in columns.items():
        ledgers[name] = values
    ledgers.place = np.arange(len(ledgers))
    return Block(state_of(ledgers, ensembles.astype(np.int64), inputs, given), inputs)


def read_ledgers(scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, bucket_rounds: int = 0) -> Block:
    """All of PreparedLedgers in one block."""
    prepared = PreparedLedgers(scenarios, traced, leaps, bucket_rounds)
    return read_ledger_block(prepared.payload(0, prepared.count))


def _of_feeds(gathered: GatheredInputs, of_ledger: np.ndarray, feeds: Sequence[Feed]) -> dict[str, np.ndarray]:
    """What each ledger has of workload, commands and faults of its own."""
    of_feeds = {
        "workload": [gathered.workload.put(feed.workload) for feed in feeds],
        "command": [gathered.commands.put(feed.commands) for feed in feeds],
        "first_on_the_way": [gathered.on_the_way.put(feed.on_the_way) for feed in feeds],
        "on_the_way": [len(feed.on_the_way) for feed in feeds],
        "first_size": [gathered.sizes.put(feed.sizes) for feed in feeds],
        "size_count": [len(feed.sizes) for feed in feeds],
        "crash_round": [min(feed.crashes, default=NO_CRASH)[0] for feed in feeds],
        "crash_fault": [min(feed.crashes, default=NO_CRASH)[1] for feed in feeds],
    }
    return {name: np.array(values, np.int64)[of_ledger] for name, values in of_feeds.items()}


def _places(assignment: np.ndarray, arrays: BookieArrays) -> np.ndarray:
    """Ensembles as rows of places among the scenario's bookies, -1 behind the last."""
    places = np.full((len(assignment), MAX_ENSEMBLE), -1, np.int32)
    places[:, : assignment.shape[1]] = np.searchsorted(arrays.ids, assignment)
    return places


def with_places(start: Given, arrays: BookieArrays) -> dict[str, Any]:
    """What a ledger starts with, its bookies by place."""
    fragments = [
        {"first_entry": one["first_entry"], "places": [arrays.place[bookie] for bookie in one["ensemble"]]}
        for one in start["fragments"]
    ]
    return {**start, "fragments": fragments}


def given_ledgers(scenario: Scenario) -> dict[int, dict[str, Any]]:
    """The rows of `initial_ledgers` that are of ledgers by themselves, by partition_id."""
    first = dict(zip((t.name for t in scenario.topics), np.cumsum([0, *(t.partitions for t in scenario.topics)]), strict=False))
    rows = [row for row in scenario.initial_ledgers.to_pylist() if row["ledger"] is None]
    return {int(first[row["topic"]]) + row["partition"]: row for row in rows}
