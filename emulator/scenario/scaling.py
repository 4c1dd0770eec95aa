"""Scales an imported cluster up: copies of its partitions, on groups of brokers like its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.scenario.imported import Imported
from emulator.scenario.model import Broker, Topic
from emulator.scenario.places import Places
from emulator.scenario.shapes import ScaleShape
from emulator.scenario.topics import NO_REPLICA, Layout

HERE = ("cluster", "scale")


def scale_import(places: Places, imported: Imported, scale: ScaleShape, racks: int | None) -> Imported:
    """Copies the imported partitions, in topic and partition order and round again, until there are enough.

    Of n imported brokers in order, position p (from 0) becomes broker g * n + p + 1 of group g; copy c goes to group
    c mod groups. A topic's copies continue its partition numbers. With racks, given or not, broker b is in rack
    (b - 1) mod racks, otherwise in that of the broker it copies. Raises InputError for a number of brokers that is no
    multiple of the imported one, or fewer partitions than the imported ones.
    """
    size = len(imported.brokers)
    originals = imported.partitions.num_rows
    brokers = scale.brokers or size
    total = scale.partitions or originals * (brokers // size)
    if brokers % size:
        raise places.error((*HERE, "brokers"), f"{brokers} is no multiple of the imported {size}", f"a multiple of {size}")
    if total < originals:
        problem = f"{total} is less than the imported {originals}"
        raise places.error((*HERE, "partitions"), problem, f"{originals} or more")
    copies = _Copies(imported, total, brokers // size)
    return Imported(
        _brokers(imported, brokers, scale.racks or racks),
        copies.topics(),
        copies.partitions(),
        copies.replicas(),
        copies.remote_segments(),
    )


def _brokers(imported: Imported, count: int, racks: int | None) -> tuple[Broker, ...]:
    size = len(imported.brokers)
    names = [str(i % racks) if racks else imported.brokers[i % size].rack for i in range(count)]
    return tuple(Broker(i + 1, name) for i, name in enumerate(names))


class _Copies:
    """Copy k is of imported partition k mod m: its number (k div m), its group, and its own partition number."""

    def __init__(self, imported: Imported, total: int, groups: int) -> None:
        self._imported = imported
        self._ids = np.array([broker.id for broker in imported.brokers])
        self._groups = groups
        self._layout = Layout.of(imported.topics)
        m = imported.partitions.num_rows
        counts = np.array([topic.partitions for topic in imported.topics])
        self._topic_of = np.repeat(np.arange(len(counts)), counts)
        self._width_of = np.repeat(counts, counts)
        copy = np.arange(total) // m
        source = np.arange(total) % m
        partition = imported.partitions.column("partition").to_numpy()[source] + copy * self._width_of[source]
        order = np.lexsort((partition, self._topic_of[source]))
        self._source, self._copy, self._partition = source[order], copy[order], partition[order]
        self._total = total

    def topics(self) -> tuple[Topic, ...]:
        replicas = self._layout.replicas[self._source]
        moved = np.where(replicas == NO_REPLICA, NO_REPLICA, self._move(replicas, (self._copy % self._groups)[:, None]))
        ends = np.cumsum(np.bincount(self._topic_of[self._source], minlength=len(self._imported.topics)))
        parts = np.split(moved.astype(np.int32), ends[:-1])
        return tuple(
            Topic(topic.name, np.ascontiguousarray(part[:, : topic.assignment.shape[1]]), topic.config)
            for topic, part in zip(self._imported.topics, parts, strict=True)
        )

    def partitions(self) -> pa.Table:
        table = self._imported.partitions.take(pa.array(self._source))
        group = self._copy % self._groups
        leader = table.column("leader")
        led = pc.and_(pc.is_valid(leader), pc.greater_equal(leader, 0))
        moved = pa.array(self._move(pc.if_else(led, leader, int(self._ids[0])).to_numpy(), group).astype(np.int32))
        columns: dict[str, Any] = {name: table.column(name) for name in table.column_names}
        columns["partition"] = pa.array(self._partition.astype(np.int32))
        columns["leader"] = pc.if_else(led, moved, leader)
        for name in ("isr", "elr"):
            columns[name] = self._move_lists(table.column(name).combine_chunks(), group)
        return pa.table(columns).cast(table.schema)

    def replicas(self) -> pa.Table:
        copied, copy = self._repeat(self._imported.replicas)
        brokers = self._move(copied.column("broker").to_numpy(), copy % self._groups)
        at = copied.schema.get_field_index("broker")
        return copied.set_column(at, "broker", pa.array(brokers.astype(np.int32)))

    def remote_segments(self) -> pa.Table:
        return self._repeat(self._imported.remote_segments)[0]

    def _repeat(self, table: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows of every copy of their partition, with its own number; and which copy it is."""
        m = self._imported.partitions.num_rows
        source = self._layout.keys(table.column("topic"), table.column("partition"))
        times = self._total // m + (source < self._total % m)
        row = np.repeat(np.arange(len(source)), times)
        copy = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
        copied = table.take(pa.array(row))
        partition = table.column("partition").to_numpy()[row] + copy * self._width_of[source[row]]
        at = table.schema.get_field_index("partition")
        return copied.set_column(at, "partition", pa.array(partition.astype(np.int32))), copy

    def _move(self, brokers: np.ndarray, group: np.ndarray) -> np.ndarray:
        """The brokers at the same positions in another group."""
        return group * len(self._ids) + np.searchsorted(self._ids, brokers) + 1

    def _move_lists(self, lists: pa.ListArray, group: np.ndarray) -> pa.ListArray:
        parents = pc.list_parent_indices(lists).to_numpy()
        moved = self._move(lists.flatten().to_numpy(), group[parents]).astype(np.int32)
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(moved), mask=lists.is_null())
