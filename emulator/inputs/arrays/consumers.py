"""What groups want of each partition, and the shares of page caches that brokers have for it (docs/consumer_rounds.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emulator.inputs.arrays.columns import PackedLists, distinct_rows, spread
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.arrays.workload import FROM, RECORD_BYTES, RECORDS, TO, TOO_LARGE, Workloads, uneven_rounds
from emulator.inputs.consumers import MOST_RECORDS, groups_of, taken_bytes
from emulator.inputs.storage_settings import whole_rounds
from emulator.rounds.kafka.constants import FOREVER, UNKNOWN
from emulator.rounds.kafka.reading.records import EARLIEST, LATEST, NO_POLICY, NO_RACK, Want
from emulator.rounds.records import fields_of
from emulator.scenario import ConsumerRow, Scenario
from emulator.scenario.consumers import read_partitions, remote_fetches

FIELDS = tuple(fields_of(Want))
WIDTH = len(FIELDS)
_POLICIES = {"earliest": EARLIEST, "latest": LATEST, "none": NO_POLICY}


@dataclass(frozen=True, eq=False)
class Consumers:
    """`of_partition`: by partition_id, which list of wants it has; `lists`: rows of Want, reader after reader.

    `groups`: names by the number that wants have. `commits`: flags by partition_id, some group reads what is committed.
    """

    of_partition: np.ndarray
    lists: PackedLists
    groups: tuple[str, ...]
    commits: np.ndarray


def consumers(scenario: Scenario, places: TopicPlaces, racks: Mapping[str, int]) -> Consumers:
    """What the groups of a scenario want. `racks`: by name the numbers of brokers' racks."""
    numbers, sets = _row_sets(scenario, places)
    groups = tuple(groups_of(scenario.consumers))
    known = dict(racks)
    for row in scenario.consumers:
        if row.rack is not None:
            known.setdefault(row.rack, len(known))
    lists = [_wants([scenario.consumers[i] for i in chosen], groups, known, scenario) for chosen in sets]
    commits = np.array([any(scenario.consumers[i].reads_committed for i in chosen) for chosen in sets], bool)
    return Consumers(numbers, PackedLists.of(lists, WIDTH), groups, commits[numbers])


def _row_sets(scenario: Scenario, places: TopicPlaces) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """(by partition_id a number, by number the rows of `consumers` that name the partition, in file order)."""
    counts = dict(zip(places.names, places.counts.tolist(), strict=True))
    ranges = [
        (int(places.first[places.index[topic]]) + low, int(places.first[places.index[topic]]) + high + 1, at)
        for at, row in enumerate(scenario.consumers)
        for topic, named in read_partitions(row, counts).items()
        for low, high in named
    ]
    edges = sorted({0, *(edge for low, high, _ in ranges for edge in (low, high))} - {places.partition_count})
    place = {edge: at for at, edge in enumerate(edges)} | {places.partition_count: len(edges)}
    chosen: list[set[int]] = [set() for _ in edges]
    for low, high, at in ranges:
        for segment in range(place[low], place[high]):
            chosen[segment].add(at)
    numbers: dict[tuple[int, ...], int] = {}
    of_segment = [numbers.setdefault(tuple(sorted(rows)), len(numbers)) for rows in chosen]
    sizes = np.diff(edges, append=places.partition_count)
    return np.repeat(np.array(of_segment, np.int64), sizes), list(numbers)


def _wants(rows: Sequence[ConsumerRow], groups: Sequence[str], racks: Mapping[str, int], scenario: Scenario) -> list[list[int]]:
    """The rows of Want of one kind of partition: each group's over time, the last one at FOREVER."""
    found = []
    rows_of_group: dict[str, list[ConsumerRow]] = {}
    for row in rows:
        rows_of_group.setdefault(row.group, []).append(row)
    for group, own in rows_of_group.items():
        changes = sorted(r for r in {0, *(r for row in own for r in (row.from_round, row.to_round))} if r < scenario.rounds)
        for round_ in [*changes, FOREVER]:
            now = next((row for row in own if row.from_round <= round_ < row.to_round), None)
            fields = {"from_round": round_, "group": groups.index(group), "rack": NO_RACK}
            if now is not None:
                fields |= {
                    "in_force": 1,
                    "begins_at": now.start if isinstance(now.start, int) else _POLICIES[now.start],
                    "reset": _POLICIES[now.reset],
                    "reads_committed": int(now.reads_committed),
                    "records_per_round": _or_unknown(now.records_per_round),
                    **_limits(now, scenario),
                    "max_age_rounds": whole_rounds(now.max_age_ms, scenario.round_ms),
                    "rack": NO_RACK if now.rack is None else racks[now.rack],
                }
            found.append([fields.get(name, 0) for name in FIELDS])
    return found


def _limits(row: ConsumerRow, scenario: Scenario) -> dict[str, int]:
    """What a reader's round may bring, and in how many fetches."""
    fetches = scenario.fetching.in_a_round(scenario.round_ms, row.fetch_bytes)
    return {
        "round_bytes": min(fetches * row.fetch_bytes, taken_bytes(row)),
        "fetches": fetches,
        "request_bytes": max(1, row.fetch_bytes),
        "remote_fetches": remote_fetches(scenario, row),
        "remote_bytes": taken_bytes(row),
    }


def _or_unknown(records: int | None) -> int:
    return UNKNOWN if records is None else min(records, MOST_RECORDS)


def page_cache_shares(scenario: Scenario, brokers: np.ndarray, placement: Placement, workload: Workloads) -> np.ndarray:
    """By slot of each partition the bytes of its broker's page cache that are the partition's, UNKNOWN for any number.

    In proportion to what the workload has for the partition in the whole run, among those that the broker holds at the start;
    equally if it has none. A replica that comes later counts itself in. `brokers`: ids by place.
    """
    caches = {broker.id: broker.page_cache_bytes for broker in scenario.brokers}
    whole = np.array([UNKNOWN if caches[b] is None else caches[b] for b in brokers.tolist()], np.int64)
    if (whole == UNKNOWN).all():
        return np.full(len(placement.broker), UNKNOWN, np.int64)
    written = _workload_bytes(workload.lists, scenario.rounds)[workload.of_partition]
    partition = np.repeat(np.arange(len(placement.slots)), placement.slots)
    slot = spread(np.zeros(len(placement.slots), np.int64), placement.slots)
    is_there = slot < placement.replicas[partition]
    own, broker = written[partition], placement.broker
    bytes_on, partitions_on = np.zeros(len(brokers), np.int64), np.zeros(len(brokers), np.int64)
    np.add.at(bytes_on, broker[is_there], own[is_there])
    np.add.at(partitions_on, broker[is_there], 1)
    of_all = bytes_on[broker] + np.where(is_there, 0, own)
    count = partitions_on[broker] + np.where(is_there, 0, 1)
    examples, kind = distinct_rows([whole[broker], own, of_all, count])
    shares = [
        _share(*numbers) for numbers in zip(*(a[examples].tolist() for a in (whole[broker], own, of_all, count)), strict=True)
    ]
    found: np.ndarray = np.array(shares, np.int64)[kind]
    return found


def _share(whole: int, own: int, of_all: int, count: int) -> int:
    """In Python's numbers: the product may not fit into 64 bits."""
    if whole == UNKNOWN:
        return UNKNOWN
    return whole * own // of_all if of_all > 0 else whole // count


def _workload_bytes(lists: PackedLists, rounds: int) -> np.ndarray:
    """By workload, the bytes that it has for a partition in the whole run."""
    rows = lists.rows
    in_force = np.maximum(np.minimum(rows[:, TO], rounds) - rows[:, FROM], 0)
    records = in_force * rows[:, RECORDS] + uneven_rounds(rows, rounds)
    sums = np.concatenate([[0], np.cumsum(np.where(rows[:, TOO_LARGE], 0, records * rows[:, RECORD_BYTES]))])
    return sums[lists.offsets[1:]] - sums[lists.offsets[:-1]]
