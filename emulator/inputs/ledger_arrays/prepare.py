"""A block of ledgers from scenarios: their inputs and their state before round 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.faults.kinds import read_fault_rows
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.of_ledgers import Feed, Spans, feeds_of_topic
from emulator.inputs.ledger_arrays.rules import RULES_PLACES, rules_records
from emulator.inputs.ledger_arrays.settings import settings_of
from emulator.inputs.ledger_arrays.start import start_ledgers, state_of
from emulator.inputs.ledgers import given_ledgers
from emulator.rounds.bookkeeper.records import (
    MAX_ENSEMBLE,
    Bookie,
    BookieRow,
    BookieSpan,
    Command,
    Inputs,
    Ledger,
    OnTheWay,
    ScenarioRow,
    Settings,
    StoreSpan,
    WorkloadSpan,
)
from emulator.rounds.bookkeeper.state import State
from emulator.rounds.records import fields_of, rows, word_of
from emulator.scenario import Scenario


class Block(NamedTuple):
    """Ledgers to be played: their state, and what their rounds read. `scenario_of`: by ledger, place of its scenario."""

    state: State
    inputs: Inputs
    scenario_of: np.ndarray


class _Rows:
    """Rows of records from several places, one after the other."""

    def __init__(self, record: type) -> None:
        self._record, self._names = record, tuple(fields_of(record))
        self.count = 0
        self._rows: list[tuple[int, ...]] = []
        self._places: dict[Spans, int] = {}

    def put(self, values: Spans) -> int:
        """Where the first of these rows is; the same rows stand once."""
        if values not in self._places:
            self._places[values] = len(self._rows)
            self._rows += values
        return self._places[values]

    def records(self) -> Any:
        """All of them; one row at least, so that no array is empty."""
        filled = rows(self._record, max(1, len(self._rows)))
        for name, column in zip(self._names, zip(*self._rows, strict=True), strict=False):
            filled[name] = column
        return filled


def read_ledgers(scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool) -> Block:
    """All ledgers of some scenarios, in their order; `traced`: scenario_id -> flags by partition_id."""
    own = rows(ScenarioRow, len(scenarios))
    settings, workload, commands, on_the_way = _Rows(Settings), _Rows(WorkloadSpan), _Rows(Command), _Rows(OnTheWay)
    bookies: list[Any] = []
    spans: list[Any] = []
    stores: list[Any] = []
    parts: list[Any] = []
    ensembles: list[np.ndarray] = []
    given: dict[int, Mapping[str, Any]] = {}
    count = 0
    for number, scenario in enumerate(scenarios):
        faults = read_fault_rows(scenario.faults, scenario.rounds)
        arrays = BookieArrays(scenario, faults)
        row, first_bookie = own[number], _count(bookies)
        row.rules, row.rounds, row.leaps = RULES_PLACES[scenario.protocol], scenario.rounds, int(leaps)
        row.first_bookie, row.bookies = first_bookie, len(arrays.ids)
        row.first_store_span = _count(stores)
        ends = [fault.to_round for fault in faults if fault.kind != "client_crash"]
        row.quiet_from = max([0, *ends, *(command.round for command in scenario.commands)])
        arrays.bookies.first_span += _count(spans)
        bookies.append(arrays.bookies)
        spans.append(arrays.spans)
        stores.append(arrays.store)
        ledgers = rows(Ledger, sum(topic.partitions for topic in scenario.topics))
        start_ledgers(ledgers)
        ledgers.scenario, ledgers.end = number, scenario.rounds
        ledgers.store_span = row.first_store_span
        ledgers.traced = traced[scenario.scenario_id]
        ledgers.number = np.arange(len(ledgers))
        first = 0
        for topic in scenario.topics:
            mine = ledgers[first : first + topic.partitions]
            mine.settings = settings.put((tuple(settings_of(scenario, topic).values()),))
            of_ledger, feeds = feeds_of_topic(scenario, topic, faults, arrays.place)
            _feed(mine, of_ledger, feeds, workload, commands, on_the_way)
            ensembles.append(_places(topic.assignment, arrays, first_bookie))
            first += topic.partitions
        for ledger, start in given_ledgers(scenario).items():
            given[count + ledger] = _with_places(start, arrays, first_bookie)
        parts.append(ledgers)
        count += len(ledgers)
    ledgers = _joined(Ledger, parts)
    ledgers.place = np.arange(count)
    inputs = Inputs(
        own,
        rules_records(),
        _joined(BookieRow, bookies),
        _joined(BookieSpan, spans),
        _joined(StoreSpan, stores),
        settings.records(),
        workload.records(),
        commands.records(),
        on_the_way.records(),
    )
    state = state_of(ledgers, np.concatenate(ensembles), inputs.bookies, given)
    _count_from_first(state, inputs)
    return Block(state, inputs, ledgers.scenario.copy())


def _feed(ledgers: Any, of_ledger: np.ndarray, feeds: Sequence[Feed], workload: _Rows, commands: _Rows, way: _Rows) -> None:
    """What each ledger has of workload, commands and faults of its own."""
    ledgers.workload = np.array([workload.put(feed.workload) for feed in feeds], np.int64)[of_ledger]
    ledgers.command = np.array([commands.put(feed.commands) for feed in feeds], np.int64)[of_ledger]
    ledgers.first_on_the_way = np.array([way.put(feed.on_the_way) for feed in feeds], np.int64)[of_ledger]
    ledgers.on_the_way = np.array([len(feed.on_the_way) for feed in feeds], np.int64)[of_ledger]
    ledgers.crash_round = np.array([feed.crash_round for feed in feeds], np.int64)[of_ledger]


def _places(assignment: np.ndarray, arrays: BookieArrays, first: int) -> np.ndarray:
    """Ensembles as rows of places among all bookies, -1 behind the last."""
    places = np.full((len(assignment), MAX_ENSEMBLE), -1, np.int64)
    places[:, : assignment.shape[1]] = np.searchsorted(arrays.ids, assignment) + first
    return places


def _with_places(start: Mapping[str, Any], arrays: BookieArrays, first: int) -> dict[str, Any]:
    """What a ledger starts with, its bookies as places among all."""
    fragments = [
        {"first_entry": one["first_entry"], "places": [arrays.place[bookie] + first for bookie in one["ensemble"]]}
        for one in start["fragments"]
    ]
    return {**start, "fragments": fragments}


def _count_from_first(state: State, inputs: Inputs) -> None:
    """Places of bookies count within their scenario from here on."""
    ledgers: Any = state.ledgers
    scenarios: Any = inputs.scenarios
    owner = np.repeat(np.arange(len(ledgers)), np.diff(state.bookies.offsets))
    state.bookies.words[:, word_of(Bookie, "place")] -= scenarios.first_bookie[ledgers.scenario[owner]]


def _count(parts: Sequence[Any]) -> int:
    return sum(len(part) for part in parts)


def _joined(record: type, parts: Sequence[Any]) -> Any:
    return np.concatenate(parts).view(np.recarray) if parts else rows(record, 1)
