"""What the initial tables of a scenario say of partitions and replicas, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.inputs.arrays.columns import PackedLists, integers, offsets_of
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.scenario import ELR_FEATURE, Scenario

DEFAULT_RECORD_BYTES = 1000

LEO, HW, LOG_START, FLUSHED, LOCAL_START = range(5)
"""Columns of a given log."""


@dataclass(frozen=True, eq=False)
class Given:
    """The start of a scenario.

    By partition_id: `leader` (slot, -1: none), `epoch`, `isr`, `elr` (masks), `record_bytes`. `row`: by place of the slot, which
    row of `logs` its log is, -1: it is empty; None: all are. `logs`: LEO, HW, LOG_START, FLUSHED, LOCAL_START; `epochs`, `bases`
    (of segments above the local log start): by row.
    """

    leader: np.ndarray
    epoch: np.ndarray
    isr: np.ndarray
    elr: np.ndarray
    record_bytes: np.ndarray
    row: np.ndarray | None
    logs: np.ndarray
    epochs: PackedLists
    bases: PackedLists


def given_start(scenario: Scenario, places: TopicPlaces, ids: np.ndarray, placement: Placement) -> Given:
    """The start of a scenario, from its initial tables where they say something."""
    count = places.partition_count
    leader, epoch, elr = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    isr = (1 << placement.replicas) - 1
    size = np.full(count, -1, np.int64)
    row = None
    replicas = scenario.initial_replicas
    logs, epochs = np.zeros((0, LOCAL_START + 1), np.int64), PackedLists(np.zeros((0, 2), np.int64), np.zeros(1, np.int64))
    bases = PackedLists(np.zeros((0, 1), np.int64), np.zeros(1, np.int64))
    if replicas.num_rows:
        at = partition_ids(replicas, places)
        slot = placement.slot_of(at, np.searchsorted(ids, integers(replicas, "broker", -1)))
        row = np.full(len(placement.broker), -1, np.int32)
        row[placement.first[at] + slot] = np.arange(len(at))
        leo = integers(replicas, "leo", 0)
        start = integers(replicas, "log_start_offset", 0)
        local = replicas.column("local_log_start_offset")
        has_local = pc.is_valid(local).to_numpy()
        logs = np.column_stack(
            [
                leo,
                integers(replicas, "hw", 0),
                start,
                leo,
                np.where(has_local, integers(replicas, "local_log_start_offset", 0), start),
            ]
        )
        flushed = replicas.column("flushed_offset")
        has_flushed = pc.is_valid(flushed).to_numpy()
        logs[has_flushed, FLUSHED] = integers(replicas, "flushed_offset", 0)[has_flushed]
        epochs = _caches(replicas.column("epochs").combine_chunks())
        bases = _bases(replicas.column("segments").combine_chunks(), logs[:, LOCAL_START])
        np.maximum.at(epoch, np.repeat(at, epochs.counts), epochs.rows[:, 0])
        np.maximum.at(size, at, integers(replicas, "record_bytes", -1))
    if scenario.initial_partitions.num_rows:
        _controller(scenario, places, ids, placement, {"leader": leader, "leader_epoch": epoch, "isr": isr, "elr": elr})
    return Given(leader, epoch, isr, elr, np.where(size > 0, size, DEFAULT_RECORD_BYTES), row, logs, epochs, bases)


def _controller(
    scenario: Scenario, places: TopicPlaces, ids: np.ndarray, placement: Placement, columns: dict[str, np.ndarray]
) -> None:
    """Write into the columns what the table of initial partitions says."""
    table = scenario.initial_partitions
    at = partition_ids(table, places)
    said = pc.is_valid(table.column("leader")).to_numpy()
    broker = integers(table, "leader", -1)
    slot = placement.slot_of(at, np.where(broker < 0, -1, np.searchsorted(ids, broker)))
    columns["leader"][at[said]] = slot[said]
    said = pc.is_valid(table.column("leader_epoch")).to_numpy()
    columns["leader_epoch"][at[said]] = integers(table, "leader_epoch", 0)[said]
    for name in ("isr", "elr"):
        lists = table.column(name).combine_chunks()
        if name == "elr" and scenario.features[ELR_FEATURE] <= 0:
            continue
        said = pc.is_valid(lists).to_numpy(zero_copy_only=False)
        member_of = at[pc.list_parent_indices(lists).to_numpy()]
        columns[name][at[said]] = 0
        slots = placement.slot_of(member_of, np.searchsorted(ids, lists.flatten().to_numpy()))
        np.bitwise_or.at(columns[name], member_of, 1 << slots)


def partition_ids(table: pa.Table, places: TopicPlaces) -> np.ndarray:
    """By row the partition_id of its topic and partition."""
    encoded = table.column("topic").combine_chunks().dictionary_encode()
    first = np.array([places.first[places.index[name]] for name in encoded.dictionary.to_pylist()], np.int64)
    return first[encoded.indices.to_numpy()] + integers(table, "partition", 0)


def _bases(lists: Any, local_start: np.ndarray) -> PackedLists:
    """The base offsets above each log's local start."""
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    bases = lists.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
    of = np.repeat(np.arange(len(counts)), counts)
    above = bases > local_start[of]
    return PackedLists(bases[above].reshape(-1, 1), offsets_of(np.bincount(of[above], minlength=len(counts))))


def _caches(lists: Any) -> PackedLists:
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    entries = lists.flatten()
    columns = [entries.field(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in ("epoch", "start_offset")]
    return PackedLists(np.column_stack(columns), offsets_of(counts))
