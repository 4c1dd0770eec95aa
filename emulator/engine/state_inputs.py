"""What rounds read when they play states: a scenario made of arguments, and a task's own part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.bandwidth.budgets import limits_bandwidth
from emulator.errors import InputError, listing
from emulator.inputs.arrays import tiered_topic
from emulator.inputs.storage_settings import may_delete
from emulator.scenario import Scenario, Topic, parse_partitions
from emulator.scenario.faults import resolve_faults
from emulator.scenario.globs import matching_topics
from emulator.scenario.initial_rows import check_partition_rows, check_replica_rows
from emulator.scenario.ledgers import refuse_other_systems
from emulator.scenario.load import check_shape, rows_of_faults, rows_of_workload, scenario_of
from emulator.scenario.model import INITIAL_PARTITIONS_SCHEMA, INITIAL_REPLICAS_SCHEMA, WORKLOAD_SCHEMA
from emulator.scenario.places import Places
from emulator.scenario.protocols import PARTITIONS, system_of
from emulator.scenario.rows import TableFiles, rows_of_list
from emulator.scenario.shapes import MAX_PARTITIONS
from emulator.scenario.topics import Layout
from emulator.scenario.workload import resolve_workload

END = 10**9
"""Rounds of the scenario behind states: whatever has no end ends there, and no call gets so far."""

GROUP_PARTITIONS = 2048
"""Partitions of a topic that a task plays together: numbers from a multiple of it on."""

Given = Sequence[Mapping[str, Any]]


def states_scenario(
    faults: Given,
    workload: Given,
    cluster: Mapping[str, Any],
    topics: Given,
    protocol: str,
    round_ms: int,
) -> Scenario:
    """The arguments of `play` as a scenario without partitions. Raises InputError for the first thing that is wrong."""
    for key in ("import", "scale"):
        if key in cluster:
            raise InputError(f"play: cluster.{key}: the state says what is there; allowed: brokers, config, features")
    for at, topic in enumerate(topics):
        if set(topic) - {"name", "config"}:
            problem = f"unknown key {sorted(set(topic) - {'name', 'config'})[0]}"
            raise InputError(f"play: topics[{at}]: {problem}; allowed: name, config")
    if not topics:
        raise InputError("play: topics: there are none; allowed: a name for each topic of the state")
    brokers = cluster.get("brokers")
    copies = min(12, brokers) if isinstance(brokers, int) and brokers > 0 else 1
    placed = [{**topic, "partitions": 1, "replication_factor": copies} for topic in topics]
    data = {"rounds": END, "round_ms": round_ms, "protocol": protocol, "cluster": dict(cluster), "topics": placed}
    scenario = scenario_of("play", data)
    counts = {topic.name: MAX_PARTITIONS for topic in scenario.topics}
    places = Places("play", {**data, "faults": _plain(faults), "workload": _plain(workload)})
    shape, files = check_shape(places), TableFiles()
    found = replace(
        scenario,
        workload=resolve_workload(rows_of_workload(places, shape, "", files), counts, END, round_ms),
        faults=resolve_faults(rows_of_faults(places, shape, "", files), scenario.brokers, counts, END),
    )
    refuse_other_systems(places, protocol, found.workload, found.faults)
    if found.workload.column("records_per_second").null_count < found.workload.num_rows:
        raise InputError("play: workload: records_per_second is no whole number of records a round; allowed: one that is")
    refuse_others(found, 1)
    return found


def _plain(rows: Given) -> list[dict[str, Any]]:
    """Rows with NumPy's and pandas' numbers as Python's own."""
    return [{key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()} for row in rows]


def refuse_others(scenario: Scenario, rounds: int) -> None:
    """Raises InputError for what compiled rounds lack of a scenario of so many rounds: retention takes time to delete."""
    shorter = replace(scenario, rounds=rounds)
    tiered = tiered_topic(shorter)
    reason = f"protocol {shorter.protocol}" if system_of(shorter.protocol) != PARTITIONS else None
    if tiered is not None:
        reason = reason or f"topic {tiered} has remote storage"
    if limits_bandwidth(shorter):
        reason = reason or "brokers share bandwidth"
    for topic in shorter.topics:
        if may_delete(shorter, topic.config, (), False):
            reason = reason or f"topic {topic.name} may lose segments to retention"
    if reason:
        raise InputError(f"play: compiled rounds cannot play it: {reason}; allowed: Kafka's core")


def own_scenario(scenario: Scenario, table: pa.Table, base: int, is_carried: bool) -> Scenario:
    """The scenario of one group of rows: its topic's partitions from `base` on, numbered from 0, with what concerns them.

    `is_carried`: rows go on from what they carry; else their columns say how they start.
    """
    name = table.column("topic")[0].as_py()
    config = {topic.name: topic.config for topic in scenario.topics}
    if name not in config:
        raise InputError(f"state: topic {name}: topics does not have it; allowed: {listing(config)}")
    number = table.column("partition").to_numpy() - base
    replicas = table.column("replicas").to_pylist()
    known = np.array([broker.id for broker in scenario.brokers])
    assignment = np.full((int(number.max()) + 1, max(len(one) for one in replicas)), -1, np.int32)
    assignment[:, 0] = known[0]  # partitions between that are not there, and not played
    for at, brokers in zip(number.tolist(), replicas, strict=True):
        unknown = set(brokers) - set(known.tolist())
        if unknown:
            raise InputError(f"state: {name}-{at + base}: replicas: no broker {min(unknown)}; allowed: cluster.brokers")
        assignment[at, : len(brokers)] = brokers
    topic = Topic(name, assignment, config[name])
    own = replace(
        scenario,
        scenario_id=0,
        topics=(topic,),
        workload=_own_workload(scenario.workload, name, base, len(assignment)),
        faults=_own_faults(scenario.faults, name, base, len(assignment)),
    )
    return own if is_carried else replace(own, **_start(table, topic, number))


def _own_workload(table: pa.Table, name: str, base: int, count: int) -> pa.Table:
    rows = []
    for row in table.to_pylist():
        if not matching_topics(row["topic"], [name]):
            continue
        if row["partitions"] is not None:
            ranges = [(max(a - base, 0), min(b - base, count - 1)) for a, b in parse_partitions(row["partitions"])]
            row["partitions"] = ",".join(f"{a}-{b}" for a, b in ranges if a <= b)
        if row["partitions"] != "":
            rows.append(row)
    return pa.Table.from_pylist(rows, WORKLOAD_SCHEMA)


def _own_faults(table: pa.Table, name: str, base: int, count: int) -> pa.Table:
    rows = []
    for row in table.to_pylist():
        if row["topic"] is not None and not matching_topics(row["topic"], [name]):
            continue
        if row["partition"] is not None:
            row["partition"] -= base
            if not 0 <= row["partition"] < count:
                continue
        rows.append(row)
    return pa.Table.from_pylist(rows, table.schema)


def _start(table: pa.Table, topic: Topic, number: np.ndarray) -> dict[str, pa.Table]:
    """The initial tables that columns of rows without `carried` say."""
    rows = table.to_pylist()
    replicas: list[dict[str, Any]] = []
    partitions: dict[int, dict[str, Any]] = {}
    for at, row in zip(number.tolist(), rows, strict=True):
        leo, log_start = row["leo"] or 0, row["log_start_offset"] or 0
        epochs = [[entry["epoch"], entry["start_offset"]] for entry in row["epochs"] or []]
        replicas.append({
            "topic": topic.name, "partition": at, "broker": row["broker"], "log_start_offset": log_start,
            "local_log_start_offset": log_start, "leo": leo, "hw": row["hw"] or log_start,
            "flushed_offset": row["flushed_offset"],
            "epochs": [{"epoch": epoch, "start_offset": start} for epoch, start in epochs],
        })  # fmt: skip
        leader = row["replicas"][0] if row["leader"] is None else row["leader"]
        entry = partitions.setdefault(
            at, {"topic": topic.name, "partition": at, "leader": leader, "leader_epoch": 0, "isr": [], "elr": []}
        )
        entry["leader_epoch"] = max([entry["leader_epoch"], row["leader_epoch"] or 0, *(epoch for epoch, _ in epochs)])
        if row["in_isr"] is None or row["in_isr"]:
            entry["isr"] = sorted([*entry["isr"], row["broker"]])
    layout = Layout.of((topic,))
    places = Places("state", {"partitions": list(partitions.values()), "replicas": replicas})
    of_partitions = rows_of_list(places, ("partitions",), list(partitions.values()), INITIAL_PARTITIONS_SCHEMA)
    of_replicas = rows_of_list(places, ("replicas",), replicas, INITIAL_REPLICAS_SCHEMA)
    check_partition_rows(of_partitions, layout)
    check_replica_rows(of_replicas, layout)
    return {"initial_partitions": of_partitions.table, "initial_replicas": of_replicas.table}
