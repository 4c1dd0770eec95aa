"""Scenarios of Kafka's core as arrays: built once in the driver, cut into blocks of partitions for tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.blocks import pack
from emulator.inputs.arrays.brokers import READ_BY_BROKERS, BrokerArrays
from emulator.inputs.arrays.columns import PackedLists, joined, offsets_of, spread
from emulator.inputs.arrays.joined_brokers import JoinedBrokers
from emulator.inputs.arrays.rules import rules_records
from emulator.inputs.arrays.scenario_rows import scenario_rows
from emulator.inputs.arrays.scenarios import ScenarioColumns, all_but_faults, scenario_columns, with_faults_of
from emulator.inputs.arrays.shared import SharedBudgets, shared_budgets
from emulator.inputs.arrays.stale import StaleTable
from emulator.inputs.arrays.throttled import ThrottledReplicas, throttled_replicas
from emulator.scenario import Scenario
from emulator.scenario.event_kinds import bits_of_kinds

_NUMBERED = {
    "settings": "settings",
    "commands": "command",
    "workload": "workload",
    "stores": "store",
    "remotes": "remote",
    "wants": "reading",
}
"""Packed lists -> the column that has their numbers."""


class Prepared:
    """All that rounds read of some scenarios, by place of the partition: in the order of scenarios, then of partition_id.

    `scenarios`, `rules`: records. `weights`: by place, replica-rounds that will be played, estimated. `first_place`: by scenario
    its first partition, and one more for the end.
    """

    def __init__(self, scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, bucket_rounds: int) -> None:
        self._stale = StaleTable()
        brokers = _brokers_of(scenarios, self._stale)
        parts = _columns_of(scenarios, brokers, self._stale, traced, leaps)
        self._parts, self._given = parts, list(scenarios)
        self._scenario_ids = np.array([s.scenario_id for s in scenarios], np.int32)
        self._event_kinds = np.array([bits_of_kinds(s.events) for s in scenarios], np.int64)
        counts = np.array([part.places.partition_count for part in parts], np.int64)
        self.first_place = offsets_of(counts)
        self.rules = rules_records()
        self.scenarios = scenario_rows(scenarios, leaps, bucket_rounds)
        self.scenarios["some_tiered"] = int(any(part.has_tiers for part in parts))
        self.weights = np.concatenate([part.weights for part in parts]).astype(float)
        self._columns = {name: joined([part.columns[name] for part in parts]) for name in parts[0].columns}
        self._columns["scenario"] = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
        lists = {
            "settings": [part.settings for part in parts],
            "commands": [part.commands for part in parts],
            "workload": [part.workloads for part in parts],
            "stores": _joined_stores(parts),
            "remotes": [part.remotes for part in parts],
            "wants": [part.wants for part in parts],
        }
        self._lists = {name: PackedLists.joined(of_name) for name, of_name in lists.items()}
        for name, of_name in lists.items():
            before = np.cumsum([0, *(len(one.counts) for one in of_name)])
            for i in range(1, len(parts)):
                self._columns[_NUMBERED[name]][self.first_place[i] : self.first_place[i + 1]] += before[i]
        self._transactions = PackedLists.joined([part.transactions for part in parts]).rows.reshape(-1)
        self._remote_epochs = PackedLists.joined([part.remote_epochs for part in parts])
        self._first_acks = joined([part.first_acks for part in parts])
        self._first_slot = offsets_of(self._columns["slots"].astype(np.int64))
        self._broker_place = joined([part.placement.broker for part in parts])
        self.page_cache_share = joined([part.page_cache_share for part in parts])
        self._log_row, self._logs, self._epochs, self._bases = _joined_logs(parts)
        self._brokers = JoinedBrokers([part.brokers for part in parts])

    @property
    def partition_count(self) -> int:
        """Partitions of all scenarios."""
        return int(self.first_place[-1])

    @property
    def slots(self) -> np.ndarray:
        """By place, replicas that are emulated."""
        return np.diff(self._first_slot)

    @property
    def rounds(self) -> np.ndarray:
        """By place, rounds of its scenario."""
        return np.asarray(self.scenarios["rounds"])[self._columns["scenario"]]

    @property
    def needs_tiers(self) -> np.ndarray:
        """By place, whether its block has the records of tiers: the partition has remote storage in some round, or is read."""
        return np.asarray(self._columns["tiered"] | self._columns["is_read"])

    def brokers_of(self, scenario: int) -> BrokerArrays:
        """The brokers of a scenario, by its place."""
        return self._parts[scenario].brokers

    def shared_of(self, scenario: int) -> tuple[SharedBudgets, ThrottledReplicas]:
        """What the partitions of a scenario share, by its place, and which of its replicas are throttled, by slot."""
        given, part = self._given[scenario], self._parts[scenario]
        listed = throttled_replicas(given, part.places, part.brokers.ids, part.placement)
        flags = part.columns["keeps_segments"], part.commits
        return shared_budgets(given, part.places, part.brokers, part.placement, *flags), listed

    def slots_of(self, places: np.ndarray) -> np.ndarray:
        """The places of their slots among all slots."""
        return spread(self._first_slot[:-1][places], self.slots[places])

    def names(self, place: int) -> tuple[int, str, int]:
        """(scenario_id, topic, partition) of a partition."""
        scenario = int(self._columns["scenario"][place])
        topic = self._parts[scenario].places.names[int(self._columns["topic"][place])]
        return int(self._scenario_ids[scenario]), topic, int(self._columns["partition"][place])

    def brokers(self, place: int) -> list[int]:
        """The ids of the brokers of a partition's slots."""
        ids = self._parts[int(self._columns["scenario"][place])].brokers.ids
        found: list[int] = ids[self._broker_place[self._first_slot[place] : self._first_slot[place + 1]]].tolist()
        return found

    def block(self, places: np.ndarray) -> bytes:
        """A payload for `read_block`: these partitions and all that they need, in this order."""
        columns = {name: column[places] for name, column in self._columns.items()}
        slots = columns["slots"].astype(np.int64)
        slot_places = self.slots_of(places)
        brokers = self._brokers.pick(np.repeat(columns["scenario"], slots), self._broker_place[slot_places])
        columns["broker_place"] = brokers.of_replica
        lists = {}
        for name, column in _NUMBERED.items():
            wanted, columns[column] = _renumbered(columns[column])
            lists[name] = self._lists[name].pick(wanted)
            if name == "remotes":
                lists["remote_epochs"] = self._remote_epochs.pick(wanted)
            if name == "workload":
                columns["acks_of_workload"] = self._first_acks[wanted]
        stale_columns, columns["stale_class"] = _renumbered(columns["stale_class"])
        stale_of_spans = np.concatenate([brokers.spans["stale"], brokers.spans["stale_before"]])
        stale_rows, numbers = _renumbered(np.append(stale_of_spans, 0))
        brokers.spans["stale"], brokers.spans["stale_before"] = np.split(numbers[:-1], 2)
        stale = self._stale.table(stale_rows, stale_columns)
        columns["stale"] = stale.reshape(-1)
        log_row = self._log_row[slot_places] if self._log_row is not None else np.full(len(slot_places), -1)
        given = np.flatnonzero(log_row >= 0)
        columns["logs"], lists["epochs"] = self._logs[log_row[given]], self._epochs.pick(log_row[given])
        lists["bases"] = self._bases.pick(log_row[given])
        columns["log_row"] = np.full(len(log_row), -1)
        columns["log_row"][given] = np.arange(len(given))
        scenarios, traffic = _with_traffic(self.scenarios, np.diff(brokers.first))
        columns["transactions"] = self._transactions
        columns["page_cache_share"] = self.page_cache_share[slot_places]
        tables = {"scenarios": scenarios, "rules": self.rules, "spans": brokers.spans, "links": brokers.links}
        names, columns["topic"] = self._names_of(columns["scenario"], columns["topic"])
        rest = {
            "stale shape": stale.shape,
            "topic names": names,
            "group names": tuple(part.groups for part in self._parts),
            "scenario ids": self._scenario_ids,
            "event kinds": self._event_kinds,
            "traffic": traffic,
            "first_broker": brokers.first,
            "broker place": brokers.place.astype(np.int32),
            "broker id": brokers.ids.astype(np.int32),
            "broker rack": brokers.racks.astype(np.int32),
            "broker span": brokers.first_span,
        }
        return pack(tables, lists, columns, rest)

    def _names_of(self, scenario: np.ndarray, topic: np.ndarray) -> tuple[tuple[tuple[str, ...], ...], np.ndarray]:
        """(by scenario the names of the topics that are there, by partition the place among them)."""
        names: list[tuple[str, ...]] = [()] * len(self._parts)
        index = np.zeros(len(topic), np.int64)
        for i in np.unique(scenario).tolist():
            own = np.flatnonzero(scenario == i)
            used, index[own] = _renumbered(topic[own])
            names[i] = tuple(self._parts[i].places.names[t] for t in used.tolist())
        return tuple(names), index


def prepare(scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, bucket_rounds: int) -> Prepared:
    """Scenarios of Kafka's core, ready to be cut into blocks.

    `traced`: scenario_id -> flags by partition_id, absent for a scenario without traced partitions; `bucket_rounds`: of a time
    bucket of traffic.
    """
    return Prepared(scenarios, traced, leaps, bucket_rounds)


def _renumbered(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the numbers that are there, ascending; for each the place of its number among them)."""
    used, place = np.unique(numbers, return_inverse=True)
    return used, place.reshape(-1)


def _brokers_of(scenarios: Sequence[Scenario], stale: StaleTable) -> list[BrokerArrays]:
    """By scenario its brokers; scenarios that say the same of theirs share them, as variants mostly do."""
    found: dict[tuple[Any, ...], BrokerArrays] = {}
    of_values = zip(*(_numbered([getattr(scenario, name) for scenario in scenarios]) for name in READ_BY_BROKERS), strict=True)
    return [
        found[same] if same in found else found.setdefault(same, BrokerArrays(scenario, stale))
        for scenario, same in zip(scenarios, of_values, strict=True)
    ]


def _columns_of(
    scenarios: Sequence[Scenario],
    brokers: Sequence[BrokerArrays],
    stale: StaleTable,
    traced: Mapping[int, np.ndarray],
    leaps: bool,
) -> list[ScenarioColumns]:
    """By scenario its columns; those that differ by faults alone, as cases of sweeps do, share what faults do not change."""
    like: dict[tuple[Any, ...], ScenarioColumns] = {}
    found = []
    for scenario, of_scenario in zip(scenarios, brokers, strict=True):
        same, flags = all_but_faults(scenario), traced.get(scenario.scenario_id)
        if same in like:
            found.append(with_faults_of(like[same], scenario, of_scenario, stale, flags, leaps))
        else:
            like[same] = scenario_columns(scenario, of_scenario, stale, flags, leaps)
            found.append(like[same])
    return found


def _numbered(values: Sequence[Any]) -> list[int]:
    """By place a number that equal values have in common. Tables are looked up by their bytes: sweeps have thousands."""
    distinct: list[Any] = []
    numbers: dict[Any, int] = {}
    found = []
    for value in values:
        is_table = isinstance(value, pa.Table)
        key = tuple(batch.serialize().to_pybytes() for batch in value.combine_chunks().to_batches()) if is_table else id(value)
        if key not in numbers:
            like = None if is_table else next((i for i, other in enumerate(distinct) if other == value), None)
            numbers[key] = len(distinct) if like is None else like
            if like is None:
                distinct.append(value)
        found.append(numbers[key])
    return found


def _joined_stores(parts: Sequence[ScenarioColumns]) -> list[PackedLists]:
    """By scenario its store spans, whose transactions stand behind those of the scenarios before."""
    found, before = [], 0
    for part in parts:
        rows = part.stores.rows.copy()
        rows[:, 3] += before
        found.append(PackedLists(rows, part.stores.offsets))
        before += len(part.transactions.rows)
    return found


def _with_traffic(scenarios: Any, brokers: np.ndarray) -> tuple[Any, int]:
    """(scenarios that say where the sums of their brokers begin, rows of Traffic in all). `brokers`: how many, by scenario."""
    first = offsets_of(brokers * np.asarray(scenarios["buckets"], np.int64))
    placed = scenarios.copy()
    placed["first_bucket"] = first[:-1]
    return placed, int(first[-1])


def _joined_logs(parts: Sequence[ScenarioColumns]) -> tuple[np.ndarray | None, np.ndarray, PackedLists, PackedLists]:
    """(by slot the row of its log, -1 for an empty one, or None for all empty; the logs; their epoch caches; their segments)."""
    logs, epochs = joined([part.logs for part in parts]), PackedLists.joined([part.epochs for part in parts])
    bases = PackedLists.joined([part.bases for part in parts])
    if not len(logs):
        return None, logs, epochs, bases
    by_part, first = [], 0
    for part in parts:
        row = np.full(len(part.placement.broker), -1, np.int32) if part.log_row is None else part.log_row
        by_part.append(np.where(row >= 0, row + first, -1))
        first += len(part.logs)
    return np.concatenate(by_part), logs, epochs, bases
