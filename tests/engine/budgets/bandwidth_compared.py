"""The engine's runs with shared bandwidth against the reference (tests/reference/bandwidth), table by table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.play_shared import play_shared, shared_payload
from emulator.engine.budgets.saturated import saturated_columns
from emulator.inputs.arrays import prepare
from emulator.scenario import load_run
from tests.differing_rows import rows_that_differ
from tests.reference.bandwidth.sharing import DISK, FOLLOWER_THROTTLE, LEADER_THROTTLE, NETWORK_IN, NETWORK_OUT
from tests.reference.bandwidth.simulate import FOLLOWERS, PRODUCERS, SharedResult, cases_of, parts_of, simulate_shared
from tests.rounds.kafka.compared import PARTITION_COLUMNS, REFERENCE_KINDS, TRACE_COLUMNS

Difference = tuple[Any, ...]
EVENT_COLUMNS = ("round", "kind", "broker", "leader_epoch", "from_offset", "to_offset", "cause", "records")
BUCKET = 10
HELD = {
    "network_in_saturated_rounds": {NETWORK_IN},
    "network_out_saturated_rounds": {NETWORK_OUT},
    "disk_saturated_rounds": {DISK},
    "throttled_rounds": {LEADER_THROTTLE, FOLLOWER_THROTTLE},
    "followers_held_rounds": {FOLLOWERS},
    "producers_held_rounds": {PRODUCERS},
}
"""Columns of broker_rounds, and what of an edge's `held` they are about."""


def differences_of(text: str, folder: Path, leaps: bool = True) -> tuple[SharedResult, list[Difference]]:
    """What the reference makes of a scenario file, and (place, column, round, key, reference, engine) of all that differs."""
    path = folder / "s.toml"
    path.write_text(text)
    run = load_run(str(path))
    [scenario] = run.scenarios
    prepared = prepare(
        [scenario], {scenario.scenario_id: np.ones(sum(topic.partitions for topic in scenario.topics), bool)}, leaps, BUCKET
    )
    tables = play_shared(0, shared_payload(prepared, 0))
    expected = simulate_shared(scenario, cases_of(run))
    found: list[Difference] = []
    for place in expected.results:
        found += [(place, *one) for one in _of_partition(expected, place, tables)]
    found += _of_traffic(expected, [broker.id for broker in scenario.brokers], tables["traffic"], scenario.rounds)
    found += _of_held(expected, [broker.id for broker in scenario.brokers], tables["saturated"], scenario.rounds)
    return expected, sorted(found, key=lambda one: one[2])


def _of_partition(run: SharedResult, place: str, tables: Mapping[str, pa.Table]) -> list[Difference]:
    expected = run.results[place]
    of = dict(zip(("topic", "partition"), parts_of(place), strict=True))
    own = {
        name: [row for row in tables[name].to_pylist() if of.items() <= row.items()]
        for name in ("trace", "trace_partitions", "events", "outcomes")
    }
    for row in own["trace"]:
        row["epochs"] = [[entry["epoch"], entry["start_offset"]] for entry in row["epochs"]]
    found = rows_that_differ(expected.trace, own["trace"], ("round", "broker"), TRACE_COLUMNS)
    found += rows_that_differ(expected.trace_partitions, own["trace_partitions"], ("round",), PARTITION_COLUMNS)
    left = Counter(tuple(event) for event in expected.events if event.kind in REFERENCE_KINDS)
    right = Counter(tuple(row.get(c) for c in EVENT_COLUMNS) for row in own["events"] if row["kind"] in REFERENCE_KINDS)
    found += [("event", event[0], event, n, 0) for event, n in (left - right).items()]
    found += [("event", event[0], event, 0, n) for event, n in (right - left).items()]
    [outcomes] = own["outcomes"]
    end = len(expected.trace_partitions)
    told = {**expected.outcomes, "given_up": run.clients[place].given_up}
    return found + [(key, end, "outcomes", v, outcomes[key]) for key, v in told.items() if key in outcomes and v != outcomes[key]]


def _of_traffic(run: SharedResult, brokers: list[int], told: pa.Table, rounds: int) -> list[Difference]:
    """Bytes by broker and time bucket: fetched, served and taken of producers."""
    names = ("bytes_in", "bytes_out", "bytes_produced")
    found: Counter[tuple[int, int, str]] = Counter()
    for row in told.to_pylist():
        for name in names:
            found[row["bucket"], brokers[row["broker_place"]], name] += row[name]
    expected: Counter[tuple[int, int, str]] = Counter()
    for partition in run.partitions.values():
        for round_, leader, follower, size in partition.carried:
            expected[round_ // BUCKET, leader, "bytes_out"] += size
            expected[round_ // BUCKET, follower, "bytes_in"] += size
        for round_, leader, size in partition.produced:
            expected[round_ // BUCKET, leader, "bytes_produced"] += size
    return [
        ("traffic", name, bucket * BUCKET, broker, expected[bucket, broker, name], found[bucket, broker, name])
        for bucket in range(-(-rounds // BUCKET))
        for broker in brokers
        for name in names
        if expected[bucket, broker, name] != found[bucket, broker, name]
    ]


def _of_held(run: SharedResult, brokers: list[int], told: pa.Table, rounds: int) -> list[Difference]:
    """Rounds by broker and time bucket in which budgets were used up, and followers and producers were held back."""
    begins = [*range(0, rounds, BUCKET), rounds]
    found = saturated_columns(told, len(brokers), np.array(begins))
    differences = []
    for name, kinds in HELD.items():
        expected: Counter[tuple[int, int]] = Counter()
        ends = [edge.round for edge in run.edges[1:]] + [rounds]
        for edge, end in zip(run.edges, ends, strict=True):
            for broker in {broker for kind, broker in edge.held if kind in kinds}:
                expected.update((round_ // BUCKET, broker) for round_ in range(edge.round, end))
        for at, value in enumerate(found[name].tolist()):
            bucket, place = divmod(at, len(brokers))
            if expected[bucket, brokers[place]] != value:
                differences.append(("held", name, bucket * BUCKET, brokers[place], expected[bucket, brokers[place]], value))
    return differences
