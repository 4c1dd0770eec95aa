"""A real cluster, as `emulator import` left it in a folder of Parquet files."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs

from emulator.errors import InputError
from emulator.placement.assignments import Assignment
from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.configs import parse_value
from emulator.scenario.epoch_caches import fill_epochs
from emulator.scenario.faults import broker_ids_allowed
from emulator.scenario.initial_rows import check_partition_rows, check_replica_rows, check_segment_rows
from emulator.scenario.model import (
    EPOCHS,
    INITIAL_PARTITIONS_SCHEMA,
    INITIAL_REMOTE_SEGMENTS_SCHEMA,
    INITIAL_REPLICAS_SCHEMA,
    Broker,
    Topic,
)
from emulator.scenario.rows import Rows, TableFiles
from emulator.scenario.shapes import INT_MAX, MAX_REPLICAS
from emulator.scenario.table_files import Column, open_filesystem
from emulator.scenario.topics import NO_REPLICA, Layout

IMPORT_ALLOWED = "a folder written by `emulator import`"
_INTS = pa.list_(pa.int32())
BROKER_COLUMNS: Mapping[str, Column] = {"broker": Column(pa.int32(), True), "rack": Column(pa.string())}
PARTITION_COLUMNS: Mapping[str, Column] = {
    "topic": Column(pa.string(), True),
    "partition": Column(pa.int32(), True),
    "replicas": Column(_INTS, True),
    "leader": Column(pa.int32()),
    "leader_epoch": Column(pa.int32()),
    "isr": Column(_INTS),
    "elr": Column(_INTS),
}
REPLICA_COLUMNS: Mapping[str, Column] = {
    "topic": Column(pa.string(), True),
    "partition": Column(pa.int32(), True),
    "broker": Column(pa.int32(), True),
    "log_start_offset": Column(pa.int64()),
    "local_log_start_offset": Column(pa.int64()),
    "leo": Column(pa.int64()),
    "hw": Column(pa.int64()),
    "flushed_offset": Column(pa.int64()),
    "epochs": Column(EPOCHS),
    "log_bytes": Column(pa.int64()),
    "segments": Column(pa.list_(pa.int64())),
}
REMOTE_COLUMNS: Mapping[str, Column] = {
    "topic": Column(pa.string(), True),
    "partition": Column(pa.int32(), True),
    "base_offset": Column(pa.int64(), True),
    "end_offset": Column(pa.int64(), True),
    "epochs": Column(EPOCHS, True),
    "bytes": Column(pa.int64(), True),
    "state": Column(pa.string(), True),
}
CONFIG_COLUMNS: Mapping[str, Column] = {
    "topic": Column(pa.string(), True),
    "key": Column(pa.string(), True),
    "value": Column(pa.string()),
}


@dataclass(frozen=True, eq=False)
class Imported:
    """Brokers in order of id, topics in order of name, and the initial tables; partitions are all there, in order."""

    brokers: tuple[Broker, ...]
    topics: tuple[Topic, ...]
    partitions: pa.Table
    replicas: pa.Table
    remote_segments: pa.Table

    def with_racks(self, racks: int) -> Imported:
        """Returns the same cluster with broker b in rack (b - 1) mod racks."""
        return replace(self, brokers=in_racks(self.brokers, racks))


def read_import(folder: str, files: TableFiles) -> Imported:
    """Reads brokers, partitions, and if they are there replicas, remote_segments and topic_configs: .parquet files.

    Config keys that are not known are kept, as strings. Replicas without a LEO (nothing was known of their log), or
    of no assignment (strays), are left out. A HW is brought between local log start and LEO: checkpoints lag. Raises
    InputError for the first thing that is wrong in a file.
    """
    system, inner = open_filesystem(folder)
    if system.get_file_info(inner).type != pyarrow.fs.FileType.Directory:
        raise InputError.at(folder, "file", "is not a folder", IMPORT_ALLOWED)
    brokers = read_brokers(files.rows(posixpath.join(folder, "brokers.parquet"), BROKER_COLUMNS, extra=True))
    rows = files.rows(posixpath.join(folder, "partitions.parquet"), PARTITION_COLUMNS, extra=True)
    configs = {}
    if exists(folder, "topic_configs.parquet"):
        configs = _read_configs(files.rows(posixpath.join(folder, "topic_configs.parquet"), CONFIG_COLUMNS, extra=True))
    order = pc.sort_indices(rows.table, sort_keys=[("topic", "ascending"), ("partition", "ascending")])
    topics = _read_topics(rows, order.to_numpy(), [broker.id for broker in brokers], configs)
    layout = Layout.of(topics)
    check_partition_rows(rows, layout)
    replicas = INITIAL_REPLICAS_SCHEMA.empty_table()
    if exists(folder, "replicas.parquet"):
        replicas = _read_replicas(files.rows(posixpath.join(folder, "replicas.parquet"), REPLICA_COLUMNS, extra=True), layout)
    remote_segments = INITIAL_REMOTE_SEGMENTS_SCHEMA.empty_table()
    if exists(folder, "remote_segments.parquet"):
        remote = files.rows(posixpath.join(folder, "remote_segments.parquet"), REMOTE_COLUMNS, extra=True)
        check_segment_rows(remote, layout)
        none = INITIAL_REMOTE_SEGMENTS_SCHEMA.empty_table()
        remote_segments = pa.concat_tables([none, remote.table.select(list(REMOTE_COLUMNS))], promote_options="permissive")
        remote_segments = remote_segments.cast(INITIAL_REMOTE_SEGMENTS_SCHEMA)
    partitions = rows.table.select(INITIAL_PARTITIONS_SCHEMA.names).take(order).cast(INITIAL_PARTITIONS_SCHEMA)
    return Imported(brokers, topics, partitions.combine_chunks(), replicas, remote_segments.combine_chunks())


def in_racks(brokers: Sequence[Broker], racks: int) -> tuple[Broker, ...]:
    """The same brokers with broker b in rack (b - 1) mod racks."""
    return tuple(Broker(b.id, str((b.id - 1) % racks)) for b in brokers)


def exists(folder: str, name: str) -> bool:
    """Whether an import has the file."""
    system, inner = open_filesystem(folder)
    return bool(system.get_file_info(posixpath.join(inner, name)).type != pyarrow.fs.FileType.NotFound)


def read_brokers(rows: Rows) -> tuple[Broker, ...]:
    """The brokers of an import, in order of id; raises InputError for one that stands twice."""
    rows.check_range("broker", 0, INT_MAX)
    ids = rows.table.column("broker").to_pylist()
    found = {b: Broker(b, rack) for b, rack in zip(ids, rows.table.column("rack").to_pylist(), strict=True)}
    if not 0 < len(found) == len(ids):
        raise InputError.at(rows.file, "column broker", f"has {len(ids)} rows of {len(found)} brokers", "each broker once")
    return tuple(found[broker] for broker in sorted(found))


def _read_configs(rows: Rows) -> dict[str, dict[str, ConfigValue]]:
    configs: dict[str, dict[str, ConfigValue]] = {}
    for row, entry in enumerate(rows.table.to_pylist()):
        if entry["value"] is None:
            continue
        try:
            configs.setdefault(entry["topic"], {})[entry["key"]] = parse_value(entry["key"], entry["value"])
        except ValueError as error:
            raise rows.error(row, "value", str(error)) from None
    return configs


def _read_topics(
    rows: Rows, order: np.ndarray, ids: Sequence[int], configs: Mapping[str, dict[str, ConfigValue]]
) -> tuple[Topic, ...]:
    """Cuts the partitions, in topic and partition order, into topics."""
    if not len(order):
        raise InputError.at(rows.file, "file", "has no partitions", "at least one row")
    assignment = _pad(rows, ids)[order]
    encoded = rows.table.column("topic").take(order).combine_chunks().dictionary_encode()  # in order of first rows
    counts = np.bincount(encoded.indices.to_numpy())
    first = np.cumsum(counts) - counts
    expected = np.arange(len(order)) - np.repeat(first, counts)
    found = rows.table.column("partition").to_numpy()[order]
    if (found != expected).any():
        at = int((found != expected).argmax())
        problem = f"partition {found[at]} stands where {expected[at]} should follow"
        raise rows.error(
            int(order[at]),
            "partition",
            problem,
            "each topic's partitions from 0, all and once (describe without a filter)",
        )
    return tuple(
        Topic(name, _narrow(assignment[start : start + count]), configs.get(name, {}))
        for name, start, count in zip(encoded.dictionary.to_pylist(), first, counts, strict=True)
    )


def _pad(rows: Rows, ids: Sequence[int]) -> Assignment:
    lists = rows.table.column("replicas").combine_chunks()
    lengths = pc.list_value_length(lists).to_numpy()
    rows.refuse(pa.array((lengths < 1) | (lengths > MAX_REPLICAS)), "replicas", "{value} is no replica list",
                f"1 to {MAX_REPLICAS} brokers")  # fmt: skip
    parents = np.repeat(np.arange(len(lengths)), lengths)
    column = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    padded = np.full((len(lengths), lengths.max()), NO_REPLICA, np.int32)
    padded[parents, column] = lists.flatten().to_numpy()
    missing = ((padded != NO_REPLICA) & ~np.isin(padded, np.asarray(ids))).any(axis=1)
    rows.refuse(pa.array(missing), "replicas", "{value} has a broker that does not exist", broker_ids_allowed(ids))
    ordered = np.sort(padded, axis=1)
    twice = ((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] != NO_REPLICA)).any(axis=1)
    rows.refuse(pa.array(twice), "replicas", "overlapping assignment: {value} has a broker twice", "each broker once")
    return padded


def _narrow(assignment: Assignment) -> Assignment:
    used = int((assignment != NO_REPLICA).sum(axis=1).max())
    return np.ascontiguousarray(assignment[:, :used])


def _read_replicas(rows: Rows, layout: Layout) -> pa.Table:
    rows = _known_replicas(rows, layout)
    table = rows.table
    start = pc.fill_null(table.column("log_start_offset"), 0)
    leo = table.column("leo")
    local = pc.max_element_wise(table.column("local_log_start_offset"), start)
    hw = pc.min_element_wise(pc.max_element_wise(table.column("hw"), local), leo)
    records = pc.subtract(leo, local)
    bytes_each = pc.divide(table.column("log_bytes"), pc.if_else(pc.greater(records, 0), records, None))
    columns = {
        "topic": table.column("topic"),
        "partition": table.column("partition"),
        "broker": table.column("broker"),
        "log_start_offset": start,
        "local_log_start_offset": local,
        "leo": leo,
        "hw": hw,
        "epochs": fill_epochs(table.column("epochs"), start, leo),
        "flushed_offset": pc.if_else(pc.is_null(table.column("flushed_offset")), None,
                                     pc.min_element_wise(table.column("flushed_offset"), leo)),
        "record_bytes": pc.if_else(pc.is_null(bytes_each), None, pc.max_element_wise(bytes_each, 1)),
        "segments": _local_bases(table.column("segments"), local),
    }  # fmt: skip
    resolved = Rows(pa.table(columns).cast(INITIAL_REPLICAS_SCHEMA), rows.file, rows.place)
    resolved.check_range("log_start_offset", 0)
    check_replica_rows(resolved, layout)
    return resolved.table.combine_chunks()


def _local_bases(segments: pa.ChunkedArray, local_starts: pa.ChunkedArray) -> pa.Array:
    """The segments' bases: one that the log start cuts, or leaves behind, begins with the local log."""
    lists = [
        [start, *(base for base in bases if base is None or base > start)]
        if bases and bases[0] is not None and bases[0] < start
        else bases
        for bases, start in zip(segments.to_pylist(), local_starts.to_pylist(), strict=True)
    ]
    return pa.array(lists, pa.list_(pa.int64()))


def _known_replicas(rows: Rows, layout: Layout) -> Rows:
    """The rows with a LEO whose broker is in the assignment; places stay those of the file."""
    table = rows.table
    counts = dict.fromkeys(layout.first, 0)
    firsts = [*layout.first.values(), len(layout.replicas)]
    counts = {name: firsts[i + 1] - firsts[i] for i, name in enumerate(layout.first)}
    encoded = table.column("topic").combine_chunks().dictionary_encode()
    limits = np.array([counts.get(name, 0) for name in encoded.dictionary.to_pylist()] or [0], np.int64)
    partition = table.column("partition").to_numpy()
    known = (partition >= 0) & (partition < limits[encoded.indices.to_numpy()]) & pc.is_valid(table.column("leo")).to_numpy()
    kept = np.flatnonzero(known)
    some = table.take(kept)
    keys = layout.keys(some.column("topic"), some.column("partition"))
    kept = kept[layout.holds(keys, some.column("broker").to_numpy())]
    return Rows(table.take(kept), rows.file, lambda row, column: rows.place(int(kept[row]), column))
