"""The state at the start: what the controller knows, the replicas' logs, the remote segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import listing, quoted
from emulator.rounds.kafka.tier.types import STATE_NAMES
from emulator.scenario.model import (
    INITIAL_PARTITIONS_SCHEMA,
    INITIAL_REMOTE_SEGMENTS_SCHEMA,
    INITIAL_REPLICAS_SCHEMA,
    Topic,
)
from emulator.scenario.places import Places
from emulator.scenario.rows import Rows, rows_of_list
from emulator.scenario.shapes import InitialReplicaShape, InitialShape
from emulator.scenario.topics import Layout

REPLICA_ALLOWED = "a broker of the partition's assignment"
OFFSET_ORDER: Sequence[tuple[str, str]] = (
    ("log_start_offset", "local_log_start_offset"),
    ("local_log_start_offset", "leo"),
    ("log_start_offset", "hw"),
    ("hw", "leo"),
    ("flushed_offset", "leo"),
)


def resolve_initial(
    places: Places,
    shape: InitialShape,
    topics: Sequence[Topic],
    partitions: pa.Table | None,
    replicas: pa.Table | None,
    remote_segments: pa.Table | None = None,
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Returns initial partitions, replicas and remote segments: the imported ones first, then the file's.

    `partitions`, `replicas`, `remote_segments`: imported tables, already checked. Raises InputError for the first entry
    of the file that is of no partition or replica there is, says what cannot be, or stands twice.
    """
    tables = [
        rows_of_list(places, ("initial", "partitions"), [entry.model_dump() for entry in shape.partitions],
                     INITIAL_PARTITIONS_SCHEMA),
        rows_of_list(places, ("initial", "replicas"), [_filled(entry) for entry in shape.replicas],
                     INITIAL_REPLICAS_SCHEMA),
        rows_of_list(places, ("initial", "remote_segments"),
                     [{**entry.model_dump(), "epochs": _epoch_entries(entry.epochs)}
                      for entry in shape.remote_segments],
                     INITIAL_REMOTE_SEGMENTS_SCHEMA),
    ]  # fmt: skip
    if any(rows.table.num_rows for rows in tables):
        layout = Layout.of(topics)
        check_partition_rows(tables[0], layout)
        check_replica_rows(tables[1], layout)
        check_segment_rows(tables[2], layout)
        _check_once(tables[0], partitions, ["topic", "partition"], "partition")
        _check_once(tables[1], replicas, ["topic", "partition", "broker"], "broker")
    all_partitions = tables[0].table if partitions is None else pa.concat_tables([partitions, tables[0].table])
    all_replicas = tables[1].table if replicas is None else pa.concat_tables([replicas, tables[1].table])
    all_segments = tables[2].table if remote_segments is None else pa.concat_tables([remote_segments, tables[2].table])
    return all_partitions, all_replicas, all_segments


def check_partition_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first row whose leader, ISR or ELR is not one the partition can have."""
    keys = check_keys(rows, layout)
    leaders = rows.table.column("leader")
    led = pc.greater_equal(pc.fill_null(leaders, -1), 0).to_numpy()
    holds = layout.holds(keys, pc.fill_null(leaders, -1).to_numpy())
    rows.refuse(pa.array(led & ~holds), "leader", "broker {value} holds no replica", f"-1 or {REPLICA_ALLOWED}")
    for column in ("isr", "elr"):
        _check_members(rows, layout, keys, column)
    isr, elr = rows.table.column("isr").to_pylist(), rows.table.column("elr").to_pylist()
    for row, leader in enumerate(leaders.to_pylist()):
        if leader is not None and leader >= 0 and isr[row] is not None and leader not in isr[row]:
            raise rows.error(row, "isr", f"{quoted(isr[row])} lacks the leader, broker {leader}", "a list with the leader")
        both = set(isr[row] or ()) & set(elr[row] or ())
        if both:
            raise rows.error(row, "elr", f"broker {min(both)} is in the ISR as well", "brokers outside the ISR")


def check_replica_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first row of no replica there is, or whose offsets or epochs contradict each other."""
    keys = check_keys(rows, layout)
    brokers = rows.table.column("broker")
    rows.refuse(pa.array(~layout.holds(keys, brokers.to_numpy())), "broker", "broker {value} holds no replica",
                REPLICA_ALLOWED)  # fmt: skip
    for low, high in OFFSET_ORDER:
        lows, highs = rows.table.column(low), rows.table.column(high)
        column = "leo" if low == "local_log_start_offset" else high if high == "hw" else low
        words = f"{low} <= {high}"
        rows.refuse(pc.greater(lows, highs), column, f"{{value}}: {low} is above {high}", words)
    check_epochs(rows, "leo")
    _check_segment_bases(rows)


def _check_segment_bases(rows: Rows) -> None:
    columns = (rows.table.column(name).to_pylist() for name in ("segments", "local_log_start_offset", "leo"))
    for row, (bases, start, leo) in enumerate(zip(*columns, strict=True)):
        rises = not bases or (None not in bases and bases == sorted(set(bases)))
        if bases and not (rises and start <= bases[0] and bases[-1] <= leo):
            problem = "a base is outside of the local log" if rises else "bases do not rise"
            raise rows.error(row, "segments", f"{bases}: {problem}", f"offsets from {start} to {leo} that rise")


def check_epochs(rows: Rows, end: str | None) -> None:
    """Raises InputError for the first epoch cache that does not rise in both columns, or goes beyond column `end`."""
    caches = rows.table.column("epochs").combine_chunks()
    entries, parents = caches.flatten(), pc.list_parent_indices(caches).to_numpy()
    epochs, starts = entries.field("epoch").to_numpy(), entries.field("start_offset").to_numpy()
    same = parents[1:] == parents[:-1]
    falling = np.zeros(len(parents), bool)
    falling[1:] = same & ((epochs[1:] <= epochs[:-1]) | (starts[1:] <= starts[:-1]))
    for bad, problem in (
        (falling, "{value}: epochs or start offsets do not rise"),
        ((epochs < 0) | (starts < 0), "{value}: an epoch or start offset is negative"),
        (
            starts > rows.table.column(end).to_numpy()[parents] if end else falling,
            "{value}: an epoch starts beyond leo",
        ),
    ):
        mask = np.zeros(len(caches), bool)
        mask[parents[bad]] = True
        row = int(mask.argmax()) if mask.any() else -1
        if row >= 0:
            shown = [[entry["epoch"], entry["start_offset"]] for entry in caches[row].as_py()]
            allowed = "[epoch, start offset] pairs, both strictly increasing, from 0 to leo"
            raise rows.error(row, "epochs", problem.format(value=quoted(shown)), allowed)


def check_keys(rows: Rows, layout: Layout) -> np.ndarray:
    """Returns the layout's row number of each (topic, partition); raises InputError for one that does not exist."""
    rows.check_member("topic", list(layout.first), "topic", listing(layout.first))
    firsts = np.array([*layout.first.values(), len(layout.replicas)], np.int64)
    limits = dict(zip(layout.first, np.diff(firsts).tolist(), strict=True))
    rows.check_range("partition", 0)
    rows.check_partition(rows.check_topics(limits))
    return layout.keys(rows.table.column("topic"), rows.table.column("partition"))


def epochs_or_first(log_start_offset: int, leo: int) -> list[dict[str, int]]:
    """The epoch cache of a log that came without one: epoch 0 from its start, nothing for an empty log."""
    return [{"epoch": 0, "start_offset": log_start_offset}] if leo > log_start_offset else []


def _filled(entry: InitialReplicaShape) -> Mapping[str, Any]:
    row = entry.model_dump()
    if row["local_log_start_offset"] is None:
        row["local_log_start_offset"] = entry.log_start_offset
    if row["hw"] is None:
        row["hw"] = entry.leo
    row["epochs"] = epochs_or_first(entry.log_start_offset, entry.leo)
    if entry.epochs is not None:
        row["epochs"] = _epoch_entries(entry.epochs)
    return row


def _epoch_entries(pairs: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    return [{"epoch": min(epoch, 2**31 - 1), "start_offset": start} for epoch, start in pairs]


def _check_members(rows: Rows, layout: Layout, keys: np.ndarray, column: str) -> None:
    lists = rows.table.column(column).combine_chunks()
    brokers, parents = lists.flatten().to_numpy(), pc.list_parent_indices(lists).to_numpy()
    strangers = ~layout.holds(keys[parents], brokers)
    if strangers.any():
        at = int(strangers.argmax())
        raise rows.error(int(parents[at]), column, f"broker {brokers[at]} holds no replica", REPLICA_ALLOWED)
    order = np.lexsort((brokers, parents))
    twice = (np.diff(parents[order]) == 0) & (np.diff(brokers[order]) == 0)
    if twice.any():
        at = int(order[int(twice.argmax())])
        raise rows.error(int(parents[at]), column, f"broker {brokers[at]} stands twice", "each broker once")


def check_segment_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first remote segment of no partition there is, or that is none."""
    check_keys(rows, layout)
    for column in ("base_offset", "bytes"):
        rows.check_range(column, 0)
    rows.check_member("state", STATE_NAMES, "state", listing(STATE_NAMES))
    base, end = rows.table.column("base_offset"), rows.table.column("end_offset")
    rows.refuse(pc.less(end, base), "end_offset", "{value} is below base_offset", "base_offset or more, it is inclusive")
    check_epochs(rows, None)


def _check_once(rows: Rows, before: pa.Table | None, columns: list[str], shown: str) -> None:
    seen = set() if before is None else set(zip(*(before.column(name).to_pylist() for name in columns), strict=True))
    if rows.table.num_rows:
        for row, key in enumerate(zip(*(rows.table.column(name).to_pylist() for name in columns), strict=True)):
            if key in seen:
                raise rows.error(row, shown, f"{quoted(key[-1])} stands twice for {key[0]}", f"each {shown} once")
            seen.add(key)
