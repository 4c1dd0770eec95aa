"""The tables before round 0 (docs/kafka_rounds.md, "Start")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.rounds.relational.inputs.first_logs import (
    Key,
    cache_entries,
    given_batches,
    local_start,
    log_entries,
    parted_by_segments,
    record_sizes,
)
from emulator.rounds.relational.inputs.first_tiers import first_remote, first_tiers
from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.inputs.workload import Place
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.rounds.relational.tables import (
    BATCH_COLUMNS,
    EPOCH_COLUMNS,
    PARTITION,
    PARTITION_COLUMNS,
    REMOTE_COLUMNS,
    REMOTE_EPOCH_COLUMNS,
    REPLICA,
    REPLICA_COLUMNS,
    SEGMENT_COLUMNS,
    TIER_COLUMNS,
    Tables,
)
from emulator.rounds.relational.verbs.logs import EPOCH, contents
from emulator.scenario import ELR_FEATURE, Scenario

_TYPES = {"bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}


def first_tables(engine: Engine, inputs: RunInputs) -> Tables:
    """The first replica leads, epoch 0, all are in the ISR, logs are empty, but for what the scenario's initial tables say."""
    partitions, logs = _partitions(inputs), _given_logs(inputs)
    homes = set(zip(*(inputs.homes[name].to_pylist() for name in ("pid", "broker")), strict=True)) if logs else set()
    logs = {key: log for key, log in logs.items() if key in homes}
    replicas = _replicas(inputs, partitions, logs)
    entries = cache_entries(replicas, logs)
    held = log_entries(entries, logs, _ends_of_leaders(partitions, logs))
    starts = {(row["pid"], row["broker"], row["epoch"]): row["start_offset"] for row in entries}
    # T knows that it leads from where its epoch starts in its log.
    lead_start = [
        starts.get((pid, leader, epoch)) if leader >= 0 else None
        for pid, leader, epoch in zip(*(partitions[name].to_pylist() for name in ("pid", "leader", "leader_epoch")), strict=True)
    ]
    own = ((logs.get(key) or {}) for key in zip(*(partitions[name].to_pylist() for name in ("pid", "leader")), strict=True))
    lead_hw = [log.get("hw", 0) for log in own]
    for name in ("lead_start", "owes_from"):
        partitions = partitions.append_column(name, pa.array(lead_start, pa.int64()))
    partitions = partitions.append_column("lead_hw", pa.array(lead_hw, pa.int64()))
    replicas, segments = parted_by_segments(replicas, partitions, logs)
    frames = {
        "partitions": (partitions, PARTITION, PARTITION_COLUMNS),
        "replicas": (replicas, REPLICA, REPLICA_COLUMNS),
        "leader_epochs": (_table(entries, EPOCH_COLUMNS), REPLICA, EPOCH_COLUMNS),
        "batches": (_table(given_batches(held, logs), BATCH_COLUMNS), PARTITION, BATCH_COLUMNS),
    }
    if held != entries or any(s.protocol != "kafka" for s in inputs.scenarios):
        frames["own_logs"] = (_table(held, EPOCH_COLUMNS), REPLICA, EPOCH_COLUMNS)
    if inputs.has_tiers:
        segments_there, epochs_there = first_remote(inputs, partitions, entries)
        frames["tiers"] = (_table(first_tiers(replicas, logs), TIER_COLUMNS), REPLICA, TIER_COLUMNS)
        frames["remote_segments"] = (_table(segments_there, REMOTE_COLUMNS), PARTITION, REMOTE_COLUMNS)
        frames["remote_epochs"] = (_table(epochs_there, REMOTE_EPOCH_COLUMNS), PARTITION, REMOTE_EPOCH_COLUMNS)
    if inputs.keeps_segments:
        frames["segments"] = (_table(segments, SEGMENT_COLUMNS), REPLICA, SEGMENT_COLUMNS)
    parts = {name: engine.stored(_filled(table, columns), key) for name, (table, key, columns) in frames.items()}
    return Tables(**parts)


def _ends_of_leaders(partitions: pa.Table, logs: Mapping[Key, Mapping[str, Any]]) -> dict[Key, int]:
    """Where leaders' logs end, by pid and the epoch in which they append; of partitions that begin with logs."""
    given = {pid for pid, _ in logs}
    columns = (partitions[name].to_pylist() for name in ("pid", "leader", "leader_epoch"))
    leading = (row for row in zip(*columns, strict=True) if row[0] in given and row[1] >= 0)
    return {(pid, epoch): logs[pid, leader]["leo"] if (pid, leader) in logs else 0 for pid, leader, epoch in leading}


def _filled(table: pa.Table, columns: Mapping[str, str]) -> pa.Table:
    """The table with these columns; of those that it lacks numbers are 0, flags false."""
    missing = {name: pa.array(np.zeros(table.num_rows, np.int64)).cast(_TYPES[kind]) for name, kind in columns.items()}
    whole = {name: table[name] if name in table.column_names else missing[name] for name in columns}
    return pa.table(whole).cast(pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()]))


def _table(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), pa.schema([(name, _TYPES[kind]) for name, kind in columns.items()]))


def _by_topic(inputs: RunInputs) -> dict[tuple[int, str], Place]:
    return {(place.scenario.scenario_id, place.name): place for place in inputs.places}


def _given_logs(inputs: RunInputs) -> dict[Key, dict[str, Any]]:
    """The logs that scenarios give: by pid and broker."""
    return {(pid, row["broker"]): row for s in inputs.scenarios for pid, row in _played(inputs, s, s.initial_replicas)}


def _played(inputs: RunInputs, scenario: Scenario, table: pa.Table) -> list[tuple[int, dict[str, Any]]]:
    """(pid, row) of the rows of an initial table whose partitions are played: of a large run that is checked a few."""
    if not table.num_rows:
        return []
    topics = table["topic"].combine_chunks().dictionary_encode()
    places = _by_topic(inputs)
    first = [places[scenario.scenario_id, topic].first_pid for topic in topics.dictionary.to_pylist()]
    pids = np.array(first, np.int64)[topics.indices.to_numpy()] + table["partition"].to_numpy()
    kept = np.flatnonzero(np.isin(pids, inputs.homes["pid"].to_numpy()))
    return list(zip(pids[kept].tolist(), table.take(pa.array(kept)).to_pylist(), strict=True))


def _partitions(inputs: RunInputs) -> pa.Table:
    parts = []
    for place in inputs.places:
        count = len(place.assignment)
        values = {
            "pid": place.first_pid + np.arange(count, dtype=np.int64),
            "scenario_id": np.full(count, place.scenario.scenario_id, np.int32),
            "topic_id": np.full(count, place.topic_id, np.int32),
            "workload_id": place.workload_id,
            "rounds": np.full(count, place.scenario.rounds, np.int32),
            "leader": place.assignment[:, 0].astype(np.int32),
            "leader_epoch": np.zeros(count, np.int32),
            "keeps_segments": place.keeps_segments,
        }
        parts.append(pa.table(values))
    table = pa.concat_tables(parts)
    table = table.filter(pc.is_in(table["pid"], inputs.homes["pid"].combine_chunks()))
    leader, epoch = table["leader"].to_numpy().copy(), table["leader_epoch"].to_numpy().copy()
    logs, given = _given_logs(inputs), _given_partitions(inputs)
    at = {pid: i for i, pid in enumerate(table["pid"].to_pylist())} if logs or given else {}
    for (pid, _), log in logs.items():
        epoch[at[pid]] = max([epoch[at[pid]], *(entry["epoch"] for entry in log["epochs"] or ())])
    for pid, row in given.items():
        leader[at[pid]] = leader[at[pid]] if row["leader"] is None else row["leader"]
        epoch[at[pid]] = epoch[at[pid]] if row["leader_epoch"] is None else row["leader_epoch"]
    columns = {name: table[name] for name in ("pid", "scenario_id", "topic_id", "workload_id", "rounds", "keeps_segments")}
    nothing = pa.nulls(table.num_rows, pa.int32())
    columns |= {"leader": leader, "leader_epoch": epoch, "client_leader": leader}
    columns |= {"client_epoch": np.where(leader >= 0, epoch, -1), "refusing_broker": nothing}
    return pa.table(columns)


def _given_partitions(inputs: RunInputs) -> dict[int, dict[str, Any]]:
    return {pid: row for s in inputs.scenarios for pid, row in _played(inputs, s, s.initial_partitions)}


def _replicas(inputs: RunInputs, partitions: pa.Table, logs: Mapping[Key, Mapping[str, Any]]) -> pa.Table:
    homes = inputs.homes
    pid, broker, position = (homes[name].to_numpy() for name in ("pid", "broker", "position"))
    order = np.lexsort((np.where(position < 0, 1 << 30, position), pid))
    pid, broker, position = pid[order], broker[order], position[order]
    is_replica = position >= 0
    of = np.searchsorted(partitions["pid"].to_numpy(), pid)
    leader, epoch = (partitions[name].to_numpy()[of] for name in ("leader", "leader_epoch"))
    log_start, leo, hw, flushed, size = (np.zeros(len(pid), np.int64) for _ in range(5))
    in_isr, in_elr = is_replica.copy(), np.zeros(len(pid), bool)
    given = _given_partitions(inputs)
    elr = {s.scenario_id: s.features[ELR_FEATURE] > 0 for s in inputs.scenarios}
    scenario = partitions["scenario_id"].to_numpy()[of]
    at = {key: i for i, key in enumerate(zip(pid.tolist(), broker.tolist(), strict=True))} if logs or given else {}
    record_bytes = record_sizes(logs)
    for key, log in logs.items():
        i = at[key]
        log_start[i], leo[i] = local_start(log), log["leo"]
        hw[i] = leo[i] if log["hw"] is None else log["hw"]
        flushed[i] = leo[i] if log["flushed_offset"] is None else log["flushed_offset"]
        size[i] = (leo[i] - log_start[i]) * record_bytes[key[0]]
    for (p, b), i in at.items():
        row = given.get(p)
        if row is not None and is_replica[i]:
            has_elr = elr[int(scenario[i])]
            in_isr[i] = b in row["isr"] if row["isr"] or (has_elr and row["isr"] is not None) else in_isr[i]
            in_elr[i] = has_elr and b in (row["elr"] or ())
    leads = is_replica & (broker == leader)
    knows = is_replica & ~leads & (leader >= 0)

    def known(values: Any, where: np.ndarray, kind: str = "int32") -> pa.Array:
        return pa.array(np.broadcast_to(np.asarray(values, np.int64), where.shape), kind, mask=~where)

    nobody = np.zeros(len(pid), bool)
    return pa.table(
        {
            "pid": pid, "broker": broker, "is_first": np.r_[True, pid[1:] != pid[:-1]],
            "position": known(position, is_replica), "target_position": known(0, nobody), "in_isr": in_isr, "in_elr": in_elr,
            "answer_epoch": known(0, nobody), "answer_leo": known(0, nobody), "leads": leads,
            "believed_leader": np.where(is_replica, leader, -1), "believed_epoch": np.where(is_replica, epoch, -1),
            "truncating": is_replica & ~leads, "log_start": log_start, "leo": leo, "hw": hw, "hw_checkpoint": hw,
            "flushed": flushed, "segment_base": log_start, "segment_size": size, "known_in_isr": in_isr,
            "remote_leo": known(0, knows & (leo == 0), "int64"), "caught_up_round": known(0, knows),
            "previous_round": known(-1, knows), "previous_leader_leo": known(0, knows, "int64"),
        }
    )  # fmt: skip


def _first_leaders(tables: Tables) -> Query:
    leaders = tables.replicas.join(tables.partitions.select("pid", "client_leader", "client_epoch"), PARTITION)
    return leaders.where("broker = client_leader").select(*REPLICA, "client_epoch", "log_start", "leo", "hw")


def first_histories(tables: Tables) -> Query:
    """What the first leaders' logs hold, as leaders write it down when they are elected."""
    begun = _first_leaders(tables).drop("hw").with_columns(part="'begin'", round="-1")
    if tables.tiers is not None:
        begun = begun.join(tables.tiers.select(*REPLICA, "whole_start"), REPLICA)
        begun = begun.with_columns(log_start="least(log_start, whole_start)").drop("whole_start")
    names = ("pid", "client_epoch", "part", "round", "log_start", f"{EPOCH} AS epoch", "from_offset", "to_offset")
    return contents(tables.logs, begun).select(*names)


def first_leaderships(engine: Engine, inputs: RunInputs, tables: Tables) -> Query:
    """Up to where the first leaders' logs count as acknowledged: all of it where the first workload row asks for no more.

    Where it asks for nothing, all of it counts as sent without an acknowledgement.
    """
    pids = np.concatenate([place.first_pid + np.arange(len(place.assignment), dtype=np.int64) for place in inputs.places])
    acked = np.concatenate([place.acked_on_append for place in inputs.places])
    unacknowledged = np.concatenate([place.unacknowledged for place in inputs.places])
    on_append = engine.read(pa.table({"pid": pids, "on_append": acked, "unacknowledged": unacknowledged}))
    return (
        _first_leaders(tables)
        .join(on_append, PARTITION)
        .select(
            "pid",
            "broker AS first_leader",
            "client_epoch AS first_epoch",
            "leo AS first_leo",
            "IF(on_append, leo, hw) AS acked_to",
            "unacknowledged",
        )
    )
