"""Checks of what a scenario starts with, each row against others: once each, epochs up to the leader's, one copy at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import quoted
from emulator.scenario.rows import Rows
from emulator.scenario.topics import Layout

REPLICA_ALLOWED = "a broker of the partition's assignment"


def keys_of(table: pa.Table, layout: Layout, with_brokers: bool) -> np.ndarray:
    """A number for each row's partition, or partition and broker; all of them are there."""
    keys = layout.keys(table.column("topic"), table.column("partition"))
    return pairs(keys, table.column("broker").to_numpy()) if with_brokers else keys


def pairs(keys: np.ndarray, brokers: np.ndarray) -> np.ndarray:
    """A number for each pair of a partition and a broker."""
    return (np.asarray(keys, np.int64) << 31) + brokers


def repeated(keys: np.ndarray) -> np.ndarray:
    """Whether each key has stood before.

    >>> repeated(np.array([3, 1, 3, 3])).tolist()
    [False, False, True, True]
    """
    order = np.argsort(keys, kind="stable")
    found = np.zeros(len(keys), bool)
    found[order[1:][keys[order[1:]] == keys[order[:-1]]]] = True
    return found


def check_once(rows: Rows, before: Sequence[pa.Table], layout: Layout, broker: str | None) -> None:
    """Raises InputError for the first row whose partition, or replica if `broker` names its column, a row before it has."""
    if not rows.table.num_rows:
        return
    keys = np.concatenate([keys_of(table, layout, broker is not None) for table in (*before, rows.table)])
    twice = np.flatnonzero(repeated(keys)[len(keys) - rows.table.num_rows :])
    if len(twice):
        row = int(twice[0])
        column = broker or "partition"
        value, topic = rows.table.column(column)[row].as_py(), rows.table.column("topic")[row].as_py()
        raise rows.error(row, column, f"{value} stands twice for {topic}", f"each {column} once")


def check_leader_epochs(rows: Rows, partitions: pa.Table, layout: Layout) -> None:
    """Raises InputError for the first log with an epoch above the one that its partition is led in, which nobody can have."""
    said = partitions.filter(pc.is_valid(partitions.column("leader_epoch")))
    led_in = np.full(len(layout.replicas), np.iinfo(np.int64).max)
    led_in[layout.keys(said.column("topic"), said.column("partition"))] = said.column("leader_epoch").to_numpy()
    caches = rows.table.column("epochs").combine_chunks()
    limit = led_in[layout.keys(rows.table.column("topic"), rows.table.column("partition"))]
    parents = pc.list_parent_indices(caches).to_numpy()
    above = caches.flatten().field("epoch").to_numpy() > limit[parents]
    if above.any():
        row = int(parents[above.argmax()])
        shown = [[entry["epoch"], entry["start_offset"]] for entry in caches[row].as_py()]
        problem = f"{quoted(shown)}: an epoch is above the partition's leader_epoch"
        raise rows.error(row, "epochs", problem, f"epochs up to {limit[row]}")


def check_copies(rows: Rows, partitions: pa.Table, layout: Layout) -> None:
    """Raises InputError for the first remote segment copied by no replica, or under way as no copy can be.

    `partitions`: what is said of leaders; the others lead by their first replicas.
    """
    table = rows.table
    if table.column("copier").null_count == table.column("moved_bytes").null_count == table.num_rows:
        return
    keys = layout.keys(table.column("topic"), table.column("partition"))
    copier = pc.fill_null(table.column("copier"), -1).to_numpy()
    rows.refuse(pa.array((copier >= 0) & ~layout.holds(keys, copier)), "copier", "broker {value} holds no replica",
                REPLICA_ALLOWED)  # fmt: skip
    leaders = layout.replicas[:, 0].astype(np.int64)
    said = partitions.filter(pc.is_valid(partitions.column("leader")))
    leaders[layout.keys(said.column("topic"), said.column("partition"))] = said.column("leader").to_numpy()
    is_copied = pc.is_valid(table.column("moved_bytes")).to_numpy()
    moved = pc.fill_null(table.column("moved_bytes"), 0).to_numpy()
    of_started = pc.equal(table.column("state"), "COPY_STARTED").to_numpy()
    is_unread = pc.fill_null(table.column("unread"), False).to_numpy()
    led = leaders[keys]
    again = np.zeros(len(keys), bool)
    again[is_copied] = repeated(keys[is_copied])
    for bad, problem, allowed in (
        (~of_started, "{value}: the copy is not under way", 'it with state = "COPY_STARTED"'),
        (moved >= table.column("bytes").to_numpy(), "{value} is all of the segment", "less than bytes"),
        ((led < 0) | ((copier >= 0) & (copier != led)), "{value}: its copier does not lead", "copies of the leader"),
        (is_unread, "{value}: its copier knows of it", "moved_bytes without unread"),
        (again, "{value}: another copy of the partition is under way", "one copy under way for a partition"),
    ):
        rows.refuse(pa.array(is_copied & bad), "moved_bytes", problem, allowed)
