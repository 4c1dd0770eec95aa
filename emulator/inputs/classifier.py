"""Which partitions have their brokers, which their workload and commands in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from emulator.expressions.slots import MAX_SLOTS, pack_order
from emulator.inputs.feeds import Feed, WorkloadRow
from emulator.inputs.storage_settings import concerns, store_faults
from emulator.inputs.tables import PartitionTable
from emulator.inputs.worlds import World
from emulator.scenario import Command, ConsumerRow, Scenario
from emulator.throttles import THROTTLED_LISTS, brokers_by_partition

R = TypeVar("R")


class Classifier:
    """Groups partitions with the same brokers into worlds, and those with the same workload and commands into feeds."""

    def __init__(self, scenario: Scenario) -> None:
        self.worlds: list[World] = []
        self.feeds: list[Feed] = []
        self._scenario = scenario
        self._world_ids: dict[tuple[tuple[int, ...], frozenset[Any]], int] = {}
        self._stale = _stale_patterns(scenario)
        self._store_faults = store_faults(scenario)
        self._commands: dict[str, dict[int | None, list[Command]]] = defaultdict(lambda: defaultdict(list))
        self._alterations = [c for c in scenario.commands if c.kind == "alter_config" and c.broker is None]
        for command in scenario.commands:
            if command.kind != "alter_config":
                self._commands[command.topic or ""][command.partition].append(command)

    def partition_table(self) -> PartitionTable:
        """Classify every topic's partitions."""
        columns: dict[str, list[np.ndarray]] = defaultdict(list)
        for index, topic in enumerate(self._scenario.topics):
            count = len(topic.assignment)
            extra = self._extra_brokers(topic.name)
            worlds, slot_counts, assigned, orders = self._worlds_of(topic.name, topic.assignment, extra)
            columns["topic_index"].append(np.full(count, index, np.int32))
            columns["partition"].append(np.arange(count, dtype=np.int32))
            columns["world_id"].append(worlds)
            columns["slot_count"].append(slot_counts)
            columns["assigned"].append(assigned)
            columns["replica_order"].append(orders)
            columns["feed_id"].append(self._feeds_of(topic.name, topic.config, worlds, count))
        return PartitionTable(**{name: np.concatenate(parts) for name, parts in columns.items()})

    def _extra_brokers(self, topic: str) -> dict[int, list[int]]:
        extra: dict[int, list[int]] = defaultdict(list)
        for pattern, by_partition in self._commands.items():
            if not fnmatchcase(topic, pattern):
                continue
            for partition, commands in by_partition.items():
                for command in commands:
                    if command.kind == "reassign" and partition is not None:
                        extra[partition] += command.replicas or []
        return extra

    def _worlds_of(
        self, topic: str, assignment: np.ndarray, extra: dict[int, list[int]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        count, width = assignment.shape
        signature, signatures = self._stale_signatures(topic, count)
        keyed = np.column_stack([assignment, signature])
        for partition in extra:
            keyed[partition, -1] = -1 - partition  # a world of its own, for the brokers that it is to move to
        unique, group = _distinct_rows(keyed)
        ids = np.empty(len(unique), np.int32)
        slots = np.empty(len(unique), np.int32)
        replicas = np.empty(len(unique), np.int32)
        for i, (*assigned, last) in enumerate(unique.tolist()):
            partition = -1 - last if last < 0 else -1
            brokers = [b for b in assigned if b >= 0]
            replicas[i] = len(brokers)
            brokers += [b for b in dict.fromkeys(extra.get(partition, [])) if b not in brokers]
            if len(brokers) > MAX_SLOTS:
                raise ValueError(f"{topic}-{partition}: more than {MAX_SLOTS} brokers over its reassignments")
            ids[i] = self._world(tuple(brokers), signatures[signature[partition] if partition >= 0 else last])
            slots[i] = len(brokers)
        orders = np.array([pack_order(list(range(n))) for n in range(MAX_SLOTS + 1)], np.int64)
        return ids[group], slots[group], ((1 << replicas) - 1)[group].astype(np.int32), orders[replicas[group]]

    def _world(self, brokers: tuple[int, ...], stale: frozenset[Any]) -> int:
        key = (brokers, stale)
        if key not in self._world_ids:
            self._world_ids[key] = len(self.worlds)
            self.worlds.append(World(brokers, stale))
        return self._world_ids[key]

    def _stale_signatures(self, topic: str, count: int) -> tuple[np.ndarray, list[frozenset[Any]]]:
        """By partition: the number of its set of stale_metadata patterns, and the sets."""
        matching = [pattern for pattern in self._stale if pattern[0] is None or fnmatchcase(topic, pattern[0])]
        everywhere = [pattern for pattern in matching if pattern[1] is None]
        own: dict[int, list[Any]] = defaultdict(list)
        for pattern in matching:
            if pattern[1] is not None and pattern[1] < count:
                own[pattern[1]].append(pattern)
        numbers = {frozenset(everywhere): 0}
        signature = np.zeros(count, np.int64)
        for partition, patterns in own.items():
            signature[partition] = numbers.setdefault(frozenset(everywhere + patterns), len(numbers))
        return signature, list(numbers)

    def _feeds_of(self, topic: str, config: Mapping[str, Any], worlds: np.ndarray, count: int) -> np.ndarray:
        rows = rows_of_topic(self._scenario, topic, count)
        key = np.zeros(count, np.uint64)
        readers = _rows_of_consumers(self._scenario, topic, count)
        numbered = [*enumerate((ranges for _, ranges in rows), 1), *enumerate((ranges for _, ranges in readers), 2**62)]
        for number, ranges in numbered:
            for low, high in ranges:
                key[low : high + 1] = key[low : high + 1] * np.uint64(6364136223846793005) + np.uint64(number)
        for throttled, number in self._throttled(topic, config).items():
            if throttled < count:
                one = slice(throttled, throttled + 1)  # a hash, which may overflow: of scalars numpy would warn
                key[one] = key[one] * np.uint64(6364136223846793005) + np.uint64(len(rows) + number)
        commands: dict[int | None, list[Command]] = defaultdict(list)
        for pattern, by_partition in self._commands.items():
            if fnmatchcase(topic, pattern):
                for partition, listed in by_partition.items():
                    commands[partition] += listed
        own_faults = [row.partition for row in self._store_faults if row.partition is not None and row.partition < count]
        for partition in [*commands, *own_faults]:
            if partition is not None:
                key[partition] = np.uint64(2**63 + partition)
        unique, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        by_class, readers_by_class = rows_by_member(rows, first), rows_by_member(readers, first)
        ids = np.empty(len(unique), np.int64)
        for i, member in enumerate(first):
            mine = sorted(commands[None] + commands.get(int(member), []), key=lambda c: c.round)
            world = self.worlds[int(worlds[member])]
            ids[i] = len(self.feeds)
            slot_of = {b: s for s, b in enumerate(world.brokers)}
            faults = [row for row in self._store_faults if concerns(row, topic, int(member))]
            given = (by_class[i], mine, slot_of, int(member), faults, readers_by_class[i])
            self.feeds.append(Feed(self._scenario, config, topic, *given))
        return ids[inverse.reshape(-1)]

    def _throttled(self, topic: str, config: Mapping[str, Any]) -> dict[int, int]:
        """By partition that a list of throttled replicas names: a number from 1 on for where the lists have it."""
        settings = [self._scenario.config, config]
        settings += [c.config or {} for c in self._alterations if c.topic is None or fnmatchcase(topic, c.topic)]
        lists = dict.fromkeys(str(s[key]) for s in settings for key in THROTTLED_LISTS if key in s)
        named: dict[int, list[Any]] = defaultdict(list)
        for text in lists:
            for partition, brokers in brokers_by_partition(text).items():
                named[partition].append((text, brokers))
        numbers: dict[Any, int] = {}
        return {partition: numbers.setdefault(tuple(where), len(numbers) + 1) for partition, where in named.items()}


def _distinct_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a table, sorted, and for each row which of them it is."""
    keys, values = np.zeros(len(table), np.int64), 1
    for column in table.T:
        span = int(column.max()) - int(column.min()) + 1
        if values * span >= 2**63:
            keys, values = np.unique(keys, return_inverse=True)[1], len(table)
        keys, values = keys * span + (column - column.min()), values * span
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return table[first], group


def _stale_patterns(scenario: Scenario) -> list[tuple[str | None, int | None]]:
    kinds = scenario.faults.column("kind").to_pylist()
    if "stale_metadata" not in kinds:
        return []
    topics, partitions = scenario.faults.column("topic").to_pylist(), scenario.faults.column("partition").to_pylist()
    return list(dict.fromkeys((t, p) for k, t, p in zip(kinds, topics, partitions, strict=True) if k == "stale_metadata"))


def rows_of_topic(scenario: Scenario, topic: str, count: int) -> list[tuple[WorkloadRow, list[tuple[int, int]]]]:
    """The workload rows of a topic with `count` partitions, in file order, and the ranges of partitions that each is for."""
    table = scenario.workload
    names = table.column("topic").to_pylist()
    matches = {name: fnmatchcase(topic, name) for name in set(names)}
    chosen = [i for i, name in enumerate(names) if matches[name]]
    rows = table.take(pa.array(chosen, pa.int64())).to_pylist() if len(chosen) < len(names) else table.to_pylist()
    return [
        (
            WorkloadRow(r["from_round"], r["to_round"], r["records_per_round"], r["record_bytes"], r["acks"], r["max_in_flight"]),
            partition_ranges(r["partitions"], count),
        )
        for r in rows
    ]


def _rows_of_consumers(scenario: Scenario, topic: str, count: int) -> list[tuple[ConsumerRow, list[tuple[int, int]]]]:
    rows = [row for row in scenario.consumers if fnmatchcase(topic, row.topic)]
    return [(row, partition_ranges(row.partitions, count)) for row in rows]


def partition_ranges(text: str | None, count: int) -> list[tuple[int, int]]:
    """Inclusive ranges of a `partitions` text such as "0-3,7"; all partitions if absent."""
    if text is None:
        return [(0, count - 1)]
    ranges = []
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        ranges.append((int(low), int(high or low)))
    return ranges


def rows_by_member(rows: list[tuple[R, list[tuple[int, int]]]], members: np.ndarray) -> list[list[R]]:
    """The rows, in their order, of each member partition; with each the ranges of partitions that it is for."""
    order = np.argsort(members)
    ordered = members[order]
    by_member: list[list[R]] = [[] for _ in members]
    for row, ranges in rows:
        for low, high in ranges:
            for i in range(int(np.searchsorted(ordered, low)), int(np.searchsorted(ordered, high, "right"))):
                by_member[int(order[i])].append(row)
    return by_member
