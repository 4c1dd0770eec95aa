"""initial_file: logs, what the controller knows, and remote segments of many partitions, as rows of a table file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import did_you_mean, listing, quoted
from emulator.scenario.epoch_caches import fill_epochs
from emulator.scenario.initial_others import keys_of, pairs, repeated
from emulator.scenario.initial_rows import check_keys, check_logs, check_partition_rows, check_replica_rows, check_segment_rows
from emulator.scenario.model import (
    EPOCHS,
    INITIAL_PARTITIONS_SCHEMA,
    INITIAL_REMOTE_SEGMENTS_SCHEMA,
    INITIAL_REPLICAS_SCHEMA,
)
from emulator.scenario.rows import Rows
from emulator.scenario.shapes import LONG_MAX, MAX_RECORD_BYTES
from emulator.scenario.table_files import Column
from emulator.scenario.topics import Layout

LOG, REMOTE_SEGMENT = "log", "remote_segment"
KINDS = (LOG, REMOTE_SEGMENT)
_OF_PARTITIONS = ("leader", "leader_epoch", "isr", "elr")
_OF_LOGS = tuple(name for name in INITIAL_REPLICAS_SCHEMA.names if name not in ("topic", "partition", "broker"))
_OF_SEGMENTS = tuple(name for name in INITIAL_REMOTE_SEGMENTS_SCHEMA.names if name not in ("topic", "partition"))
_TAKES = {LOG: ("broker", *_OF_LOGS, *_OF_PARTITIONS), REMOTE_SEGMENT: _OF_SEGMENTS}
_NEEDS = ("base_offset", "end_offset", "bytes")
"""What a remote segment cannot be without."""

_SCHEMAS = (INITIAL_REPLICAS_SCHEMA, INITIAL_PARTITIONS_SCHEMA, INITIAL_REMOTE_SEGMENTS_SCHEMA)
INITIAL_FILE_COLUMNS: Mapping[str, Column] = {"kind": Column(pa.string())} | {
    field.name: Column(field.type, required=field.name in ("topic", "partition")) for schema in _SCHEMAS for field in schema
}
_RANGES = {
    **dict.fromkeys(("broker", "log_start_offset", "local_log_start_offset", "leo", "hw", "flushed_offset"), (0, None)),
    "record_bytes": (1, MAX_RECORD_BYTES),
    "leader": (-1, None),
    "leader_epoch": (0, None),
    "end_offset": (0, LONG_MAX),
    "copier": (0, None),
    "moved_bytes": (0, LONG_MAX),
}


@dataclass(frozen=True)
class InitialFile:
    """What an initial_file says, with the schemas of `initial`.

    `partitions`: of its rows without a broker that say what the controller knows; `replicas`: of those with a broker; `logs`: of
    those without one that give a log, the broker null.
    """

    partitions: Rows
    replicas: Rows
    remote_segments: Rows
    logs: Rows

    def logs_of_others(self, known: Sequence[pa.Table], layout: Layout) -> pa.Table:
        """The logs for all replicas of their partitions that have none in `known`, tables of replicas.

        Raises InputError for the first log that is of no replica then.
        """
        table = self.logs.table
        keys = keys_of(table, layout, with_brokers=False)
        replicas = layout.replicas[keys]
        lacking = replicas >= 0
        taken = np.concatenate([keys_of(each, layout, with_brokers=True) for each in known])
        if len(taken):
            lacking &= ~np.isin(pairs(keys[:, None], replicas), taken)
        problem = "{value}: every replica of the partition has a log of its own"
        self.logs.refuse(pa.array(~lacking.any(axis=1)), "leo", problem, "no leo, or replicas without a row of their own")
        rows, slots = np.nonzero(lacking)
        brokers = pa.array(replicas[rows, slots], pa.int32())
        place = table.column_names.index("broker")
        return table.take(pa.array(rows)).set_column(place, INITIAL_REPLICAS_SCHEMA.field("broker"), brokers)


def read_initial_file(rows: Rows, layout: Layout, tiered: Collection[str]) -> InitialFile:
    """Checks the rows of an initial_file and tells them apart; what they leave out is filled in as `initial` does.

    `tiered`: topics with remote storage. Raises InputError for the first row of no kind or partition there is, with a column that
    its kind has no use for or without one that it needs, or that says what cannot be.
    """
    rows = _with_kinds(rows)
    _check_columns(rows)
    for column, (low, high) in _RANGES.items():
        rows.check_range(column, low, high)
    check_keys(rows, layout)
    present = {name: pc.is_valid(rows.table.column(name)) for name in rows.table.column_names}
    is_log = pc.equal(rows.table.column("kind"), LOG)
    has_broker, has_leo = present["broker"], present["leo"]
    says_more = reduce(pc.or_, (present[name] for name in _OF_PARTITIONS))
    logs = _part(rows, pc.and_(is_log, has_leo), INITIAL_REPLICAS_SCHEMA, _log_columns)
    replicas, others = (
        _part(logs, mask(logs.table.column("broker")), INITIAL_REPLICAS_SCHEMA) for mask in (pc.is_valid, pc.is_null)
    )
    check_replica_rows(replicas, layout)
    check_logs(others)
    without_broker = pc.and_(is_log, pc.invert(has_broker))
    _check_one_a_partition(rows, without_broker, layout)
    partitions = _part(rows, pc.and_(without_broker, says_more), INITIAL_PARTITIONS_SCHEMA)
    check_partition_rows(partitions, layout)
    segments = _part(rows, pc.invert(is_log), INITIAL_REMOTE_SEGMENTS_SCHEMA, _segment_columns)
    check_segment_rows(segments, layout)
    of_others = pc.invert(pc.is_in(segments.table.column("topic"), value_set=pa.array(sorted(tiered), pa.string())))
    segments.refuse(of_others, "topic", "topic {value} has no remote storage", 'one with "remote.storage.enable" = true')
    return InitialFile(partitions, replicas, segments, others)


def _with_kinds(rows: Rows) -> Rows:
    table = rows.table
    kinds = pc.fill_null(table.column("kind"), LOG)
    table = table.set_column(table.column_names.index("kind"), "kind", kinds)
    unknown = pc.index(pc.invert(pc.is_in(kinds, value_set=pa.array(KINDS))), True).as_py()
    if unknown >= 0:
        name = kinds[unknown].as_py()
        raise rows.error(unknown, "kind", f"unknown kind {quoted(name)}{did_you_mean(name, KINDS)}", listing(KINDS))
    return Rows(table, rows.file, rows.place)


def _check_columns(rows: Rows) -> None:
    """Raises InputError for a column that its row has no use for, or lacks."""
    table = rows.table
    absent = {name: pc.is_null(table.column(name)) for name in table.column_names}
    for kind in KINDS:
        of_kind = pc.equal(table.column("kind"), kind)
        others = [name for name in table.column_names if name not in ("kind", "topic", "partition", *_TAKES[kind])]
        for name in others:
            if table.column(name).null_count < table.num_rows:
                bad = pc.and_not(of_kind, absent[name])
                allowed = listing(["kind", "topic", "partition", *_TAKES[kind]])
                rows.refuse(bad, name, f"{kind} has no use for {name}", f"{allowed}; {_kind_of(name)}")
    segments = pc.equal(table.column("kind"), REMOTE_SEGMENT)
    for name in _NEEDS:
        rows.refuse(pc.and_(segments, absent[name]), name, f"{REMOTE_SEGMENT} needs {name}", f"a value of type {_type(name)}")
    logs, has_broker = pc.invert(segments), pc.invert(absent["broker"])
    for name in _OF_PARTITIONS:
        bad = pc.and_not(has_broker, absent[name])
        rows.refuse(bad, name, f"{name} is of the whole partition", "it in a row without broker")
    for name in _OF_LOGS:
        bad = pc.and_(absent["leo"], pc.and_not(logs, absent[name]))
        rows.refuse(bad, name, f"{name} stands without leo, the log's end", "leo beside it")
    nothing = reduce(pc.and_, (absent[name] for name in ("leo", *_OF_PARTITIONS)))
    allowed = f"leo, the log's end, or in a row without broker {', '.join(_OF_PARTITIONS)}"
    rows.refuse(pc.and_(logs, nothing), "leo", "no value", allowed)


def _kind_of(column: str) -> str:
    kinds = [kind for kind in KINDS if column in _TAKES[kind]]
    return f"{column} with kind {quoted(kinds[0])}"


def _type(column: str) -> str:
    return str(INITIAL_FILE_COLUMNS[column].type)


def _check_one_a_partition(rows: Rows, without_broker: Any, layout: Layout) -> None:
    part = _part(rows, without_broker, pa.schema([("topic", pa.string()), ("partition", pa.int32())]))
    keys = keys_of(part.table, layout, with_brokers=False)
    problem = "{value} has a row without broker already"
    part.refuse(pa.array(repeated(keys)), "partition", problem, "one row without broker for each partition")


def _part(rows: Rows, mask: Any, schema: pa.Schema, fill: Callable[[pa.Table], pa.Table] | None = None) -> Rows:
    """The rows where `mask` is true, with the columns of `schema`; their places are those of the file."""
    kept = np.flatnonzero(pc.fill_null(mask, False).to_numpy())
    table = rows.table.select(schema.names)
    if len(kept) < table.num_rows:
        table = table.take(pa.array(kept))
    table = table.combine_chunks()
    table = table if fill is None else fill(table)
    return Rows(table.cast(schema), rows.file, lambda row, column: rows.place(int(kept[row]), column))


def _log_columns(table: pa.Table) -> pa.Table:
    """Fills in what a log leaves out, as `initial.replicas` does."""
    columns = {name: table.column(name) for name in table.column_names}
    columns["log_start_offset"] = start = pc.fill_null(columns["log_start_offset"], 0)
    columns["local_log_start_offset"] = pc.coalesce(columns["local_log_start_offset"], start)
    columns["hw"] = pc.coalesce(columns["hw"], columns["leo"])
    columns["epochs"] = pa.chunked_array([fill_epochs(columns["epochs"], start, columns["leo"])])
    return pa.table(columns)


def _segment_columns(table: pa.Table) -> pa.Table:
    epochs, state = (table.column_names.index(name) for name in ("epochs", "state"))
    given = table.column("epochs")
    table = table.set_column(epochs, "epochs", pc.if_else(pc.is_null(given), pa.scalar([], EPOCHS), given))
    return table.set_column(state, "state", pc.fill_null(table.column("state"), "COPY_FINISHED"))
