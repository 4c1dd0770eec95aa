"""Which partitions keep their closed segments, and what they begin with in remote storage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import numpy as np

from emulator.faults.kinds import FaultRow
from emulator.inputs.arrays.columns import PackedLists, integers
from emulator.inputs.arrays.commands import CommandsOfPartitions
from emulator.inputs.arrays.given import partition_ids
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.consumers import MOST_BYTES
from emulator.inputs.remote_store import store_bytes, store_is_up
from emulator.inputs.storage_settings import (
    MOST_COPY_BYTES,
    eligible_local_log,
    is_ever_tiered,
    is_tiered,
    may_delete,
    store_faults,
)
from emulator.rounds.kafka.constants import FOREVER, NOBODY, UNKNOWN
from emulator.rounds.kafka.tier.records import STATE_NAMES, StoreSpan
from emulator.rounds.records import fields_of
from emulator.scenario import Scenario, configs


def stores_of_partitions(scenario: Scenario, places: TopicPlaces) -> tuple[np.ndarray, PackedLists, PackedLists]:
    """(by partition_id: which list of StoreSpan it has, the lists, the open transactions they point at)."""
    faults = store_faults(scenario)
    numbers: dict[tuple[tuple[int, ...], ...], int] = {}
    of_partition = np.zeros(places.partition_count, np.int64)
    transactions: list[int] = []

    def number(own: Sequence[FaultRow]) -> int:
        return numbers.setdefault(_store_over_time(scenario, own, transactions), len(numbers))

    for name, first, count in zip(places.names, places.first[:-1].tolist(), places.counts.tolist(), strict=True):
        of_topic = [row for row in faults if row.topic is None or fnmatchcase(name, row.topic)]
        of_partition[first : first + count] = number([row for row in of_topic if row.partition is None])
        for partition in sorted({row.partition for row in of_topic if row.partition is not None and row.partition < count}):
            of_partition[first + partition] = number([row for row in of_topic if row.partition in (None, partition)])
    return (
        of_partition,
        PackedLists.of(list(numbers), len(fields_of(StoreSpan))),
        PackedLists.of([[(number,) for number in transactions]], 1),
    )


def _store_over_time(scenario: Scenario, faults: Sequence[FaultRow], transactions: list[int]) -> tuple[tuple[int, ...], ...]:
    """Rows in the order of the fields of StoreSpan; open transactions are added to `transactions`."""
    rounds = {0, *(round_ for row in faults for round_ in (row.from_round, row.to_round))}
    rows = []
    for round_ in sorted(r for r in rounds if r < scenario.rounds):
        now = [row for row in faults if row.from_round <= round_ < row.to_round]
        own = [row.fault_id for row in now if row.kind == "open_transaction"]
        store, round_ms = scenario.remote_storage, scenario.round_ms
        copied = store_bytes(store.copy_bytes_per_second, now, round_ms, MOST_COPY_BYTES)
        read = store_bytes(store.read_bytes_per_second, now, round_ms, MOST_BYTES)
        rates = [UNKNOWN if rate is None else rate for rate in (copied, read)]
        rows.append((round_, int(store_is_up(now)), rates[0], len(transactions), len(own), rates[1]))
        transactions += own
    return (*rows, (FOREVER, 1, UNKNOWN, 0, 0, UNKNOWN))


def ever_tiered(scenario: Scenario, places: TopicPlaces) -> np.ndarray:
    """Flags by partition_id: the topic has remote storage in some round."""
    flags = [is_ever_tiered(scenario, topic.config, scenario.alterations[topic.name]) for topic in scenario.topics]
    return np.repeat(np.array(flags, bool), places.counts)


def tiers_of_topics(scenario: Scenario, places: TopicPlaces) -> dict[str, np.ndarray]:
    """By partition_id as the scenario begins: `was_tiered`, remote storage is on; `by_local_log`, elections go by what replicas
    have themselves (KIP-1303); `enough_bytes`, of the log make a replica a leader like any other, 0: none do.
    """
    rows = np.zeros((len(scenario.topics), 3), np.int64)
    for index, topic in enumerate(scenario.topics):
        value = partial(configs.effective, dict(scenario.config), dict(topic.config))
        limits = eligible_local_log(value)
        rows[index] = is_tiered(value), max(limits.values()) > 0, limits["bytes"]
    names = ("was_tiered", "by_local_log", "enough_bytes")
    return {name: np.repeat(rows[:, at], places.counts) for at, name in enumerate(names)}


def given_remote(
    scenario: Scenario, places: TopicPlaces, ids: np.ndarray, placement: Placement
) -> tuple[np.ndarray, PackedLists, PackedLists]:
    """What partitions have in remote storage at the start: (by partition_id which list, the lists, their epochs).

    A list: rows of base offset, end offset, bytes, state, number of epochs, slot of the copier (NOBODY: the leader), 1 if nobody
    has read of it yet, bytes that its copy under way has moved (UNKNOWN: none is), in the order of the file; list 0 is empty.
    Epochs of a list: those of its segments, one after the other; a segment without any has the first leader's.
    """
    of_partition = np.zeros(places.partition_count, np.int64)
    table = scenario.initial_remote_segments
    at = partition_ids(table, places) if table.num_rows else np.zeros(0, np.int64)
    copier = integers(table, "copier", -1) if table.num_rows else at
    slots = np.where(copier < 0, NOBODY, placement.slot_of(at, np.searchsorted(ids, np.maximum(copier, ids[0]))))
    by_partition: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for partition, row, slot in zip(at.tolist(), table.to_pylist(), slots.tolist(), strict=True):
        by_partition[partition].append({**row, "slot": slot})
    lists: list[list[tuple[int, ...]]] = [[]]
    epochs: list[list[tuple[int, int]]] = [[]]
    for partition, rows in by_partition.items():
        of_partition[partition] = len(lists)
        caches = [[(e["epoch"], e["start_offset"]) for e in row["epochs"] or ()] for row in rows]
        lists.append(
            [
                (
                    *(row["base_offset"], row["end_offset"], row["bytes"], STATE_NAMES.index(row["state"]), len(cache)),
                    *(row["slot"], int(row["unread"] or False), UNKNOWN if row["moved_bytes"] is None else row["moved_bytes"]),
                )
                for row, cache in zip(rows, caches, strict=True)
            ]
        )
        epochs.append([entry for cache in caches for entry in cache])
    return of_partition, PackedLists.of(lists, 8), PackedLists.of(epochs, 2)


def keeps_segments(scenario: Scenario, places: TopicPlaces, commands: CommandsOfPartitions) -> np.ndarray:
    """Flags by partition_id: the topic is tiered in some round, or a check of retention may find something to delete."""
    known: dict[Any, list[bool]] = {}
    keeps = np.zeros((len(scenario.topics), 2), bool)
    for index, topic in enumerate(scenario.topics):
        altered = scenario.alterations[topic.name]
        key = (tuple(sorted(topic.config.items())), id(altered))
        if key not in known:
            tiered = is_ever_tiered(scenario, topic.config, altered)
            known[key] = [tiered or may_delete(scenario, topic.config, altered, deletes) for deletes in (False, True)]
        keeps[index] = known[key]
    deletes = np.zeros(places.partition_count, np.int64)
    for index, listed in commands.of_topic.items():
        if any(command.kind == "delete_records" for command in listed):
            deletes[places.first[index] : places.first[index + 1]] = 1
    for at, listed in commands.own.items():
        if any(command.kind == "delete_records" for command in listed):
            deletes[at] = 1
    found: np.ndarray = keeps[np.repeat(np.arange(len(scenario.topics)), places.counts), deletes]
    return found
