"""The state at the start: what the controller knows, the replicas' logs, the remote segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import listing, quoted
from emulator.scenario.model import (
    EPOCHS,
    INITIAL_PARTITIONS_SCHEMA,
    INITIAL_REMOTE_SEGMENTS_SCHEMA,
    INITIAL_REPLICAS_SCHEMA,
    Topic,
)
from emulator.scenario.places import Places
from emulator.scenario.rows import Rows, rows_of_list
from emulator.scenario.shapes import SEGMENT_STATES, InitialReplicaShape, InitialShape
from emulator.scenario.topics import Layout

if TYPE_CHECKING:
    from emulator.scenario.initial_file import InitialFile

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
    imported: Sequence[pa.Table] = (),
    file: InitialFile | None = None,
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Returns initial partitions, replicas and remote segments: the imported ones first, then those of
    `file`, then those of `initial`.

    `imported`: three such tables, already checked, or none. Raises InputError for the first entry that is of no partition or
    replica there is, says what cannot be, or stands twice.
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
    partitions, replicas, segments = before = [[table] for table in imported] or [[], [], []]
    if file is not None or any(rows.table.num_rows for rows in tables):
        layout = Layout.of(topics)
        check_partition_rows(tables[0], layout)
        check_replica_rows(tables[1], layout)
        check_segment_rows(tables[2], layout)
        if file is not None:
            _check_once(file.partitions, partitions, layout, None)
            partitions.append(file.partitions.table)
            _check_once(file.replicas, replicas, layout, "broker")
            replicas.append(file.replicas.table)
            segments.append(file.remote_segments.table)
        _check_once(tables[0], partitions, layout, None)
        _check_once(tables[1], replicas, layout, "broker")
        if file is not None:
            replicas.append(file.logs_of_others([*replicas, tables[1].table], layout))
        said = pa.concat_tables([*partitions, tables[0].table])
        for rows in (*([file.replicas, file.logs] if file is not None else []), tables[1]):
            _check_leader_epochs(rows, said, layout)
        for rows in (*([file.remote_segments] if file is not None else []), tables[2]):
            _check_copies(rows, said, layout)
    whole = [pa.concat_tables([*parts, rows.table]) for parts, rows in zip(before, tables, strict=True)]
    return whole[0], whole[1], whole[2]


def check_partition_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first row whose leader, ISR or ELR is not one the partition can have."""
    keys = check_keys(rows, layout)
    leaders = rows.table.column("leader")
    led = pc.greater_equal(pc.fill_null(leaders, -1), 0).to_numpy()
    holds = layout.holds(keys, pc.fill_null(leaders, -1).to_numpy())
    rows.refuse(pa.array(led & ~holds), "leader", "broker {value} holds no replica", f"-1 or {REPLICA_ALLOWED}")
    for column in ("isr", "elr"):
        _check_members(rows, layout, keys, column)
    isr, elr = (rows.table.column(name).combine_chunks() for name in ("isr", "elr"))
    members, parents = isr.flatten().to_numpy(), pc.list_parent_indices(isr).to_numpy()
    has_leader = np.zeros(len(isr), bool)
    has_leader[parents[members == pc.fill_null(leaders, -1).to_numpy()[parents]]] = True
    lacks = led & pc.is_valid(isr).to_numpy(zero_copy_only=False) & ~has_leader
    if lacks.any():
        row = int(lacks.argmax())
        problem = f"{quoted(isr[row].as_py())} lacks the leader, broker {leaders[row].as_py()}"
        raise rows.error(row, "isr", problem, "a list with the leader")
    eligible, of = elr.flatten().to_numpy(), pc.list_parent_indices(elr).to_numpy()
    both = np.flatnonzero(np.isin(pairs(of, eligible), pairs(parents, members)))
    if len(both):
        row = int(of[both[0]])
        problem = f"broker {min({*isr[row].as_py()} & {*elr[row].as_py()})} is in the ISR as well"
        raise rows.error(row, "elr", problem, "brokers outside the ISR")


def pairs(keys: np.ndarray, brokers: np.ndarray) -> np.ndarray:
    """A number for each pair of a partition and a broker."""
    return (np.asarray(keys, np.int64) << 31) + brokers


def check_replica_rows(rows: Rows, layout: Layout) -> None:
    """Raises InputError for the first row of no replica there is, or whose offsets or epochs contradict each other."""
    keys = check_keys(rows, layout)
    brokers = rows.table.column("broker")
    rows.refuse(pa.array(~layout.holds(keys, brokers.to_numpy())), "broker", "broker {value} holds no replica",
                REPLICA_ALLOWED)  # fmt: skip
    check_logs(rows)


def check_logs(rows: Rows) -> None:
    """Raises InputError for the first row whose offsets, epochs or segments contradict each other."""
    for low, high in OFFSET_ORDER:
        lows, highs = rows.table.column(low), rows.table.column(high)
        column = "leo" if low == "local_log_start_offset" else high if high == "hw" else low
        words = f"{low} <= {high}"
        rows.refuse(pc.greater(lows, highs), column, f"{{value}}: {low} is above {high}", words)
    check_epochs(rows, "leo")
    _check_segment_bases(rows)


def _check_leader_epochs(rows: Rows, partitions: pa.Table, layout: Layout) -> None:
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


def _check_copies(rows: Rows, partitions: pa.Table, layout: Layout) -> None:
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


def _check_segment_bases(rows: Rows) -> None:
    lists = rows.table.column("segments").combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy()
    if not len(parents):
        return
    start, leo = (rows.table.column(name).to_numpy() for name in ("local_log_start_offset", "leo"))
    bases = pc.fill_null(lists.flatten(), -1).to_numpy()
    falls = (bases < 0) | np.append(False, (parents[1:] == parents[:-1]) & (bases[1:] <= bases[:-1]))
    outside = (bases < start[parents]) | (bases > leo[parents])
    if (falls | outside).any():
        row = int(parents[(falls | outside).argmax()])
        problem = "bases do not rise" if falls[parents == row].any() else "a base is outside of the local log"
        shown = f"{lists[row].as_py()}: {problem}"
        raise rows.error(row, "segments", shown, f"offsets from {start[row]} to {leo[row]} that rise")


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


def fill_epochs(caches: pa.ChunkedArray, start: pa.ChunkedArray, leo: pa.ChunkedArray) -> pa.Array:
    """The epoch caches of logs; of those that came without one epochs_or_first."""
    given = caches.combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(given), 0).to_numpy()
    lacking = pc.is_null(given).to_numpy(zero_copy_only=False) & pc.greater(leo, start).to_numpy()
    if not lacking.any():
        return pc.if_else(pc.is_null(given), pa.scalar([], EPOCHS), given)
    offsets = np.concatenate([[0], np.cumsum(lengths + lacking)]).astype(np.int32)
    old = given.flatten()
    epochs, starts = np.zeros(offsets[-1], np.int32), np.zeros(offsets[-1], np.int64)
    first = offsets[:-1][lacking]
    others = np.ones(offsets[-1], bool)
    others[first] = False
    epochs[others], starts[others] = old.field("epoch").to_numpy(), old.field("start_offset").to_numpy()
    starts[first] = start.to_numpy()[lacking]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([epochs, starts], fields=list(EPOCHS.value_type)))


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
    rows.check_member("state", SEGMENT_STATES, "state", listing(SEGMENT_STATES))
    base, end = rows.table.column("base_offset"), rows.table.column("end_offset")
    rows.refuse(pc.less(end, base), "end_offset", "{value} is below base_offset", "base_offset or more, it is inclusive")
    check_epochs(rows, None)


def keys_of(table: pa.Table, layout: Layout, with_brokers: bool) -> np.ndarray:
    """A number for each row's partition, or partition and broker; all of them are there."""
    keys = layout.keys(table.column("topic"), table.column("partition"))
    return pairs(keys, table.column("broker").to_numpy()) if with_brokers else keys


def repeated(keys: np.ndarray) -> np.ndarray:
    """Whether each key has stood before.

    >>> repeated(np.array([3, 1, 3, 3])).tolist()
    [False, False, True, True]
    """
    order = np.argsort(keys, kind="stable")
    found = np.zeros(len(keys), bool)
    found[order[1:][keys[order[1:]] == keys[order[:-1]]]] = True
    return found


def _check_once(rows: Rows, before: Sequence[pa.Table], layout: Layout, broker: str | None) -> None:
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
