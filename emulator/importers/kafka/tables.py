"""The tables of an import, as Arrow tables; offsets in records, sizes in bytes.

brokers: broker, rack. partitions: placement and state of the controller. replicas: logs. remote_segments: what is in
remote storage. topic_configs: overrides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain

import pyarrow as pa

from emulator.importers.kafka.checkpoints import EpochEntry
from emulator.importers.kafka.describe import PartitionState
from emulator.importers.kafka.remote_metadata import RemoteSegment
from emulator.importers.kafka.resolve import ReplicaLog

_BROKER_LIST = pa.list_(pa.int32())
_LONG_LIST = pa.list_(pa.int64())
_EPOCH_ENTRY = pa.struct([("epoch", pa.int32()), ("start_offset", pa.int64())])

BROKERS = pa.schema([("broker", pa.int32()), ("rack", pa.string())])
PARTITIONS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("replicas", _BROKER_LIST),
        ("leader", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("isr", _BROKER_LIST),
        ("elr", _BROKER_LIST),
        ("last_known_elr", _BROKER_LIST),
        ("adding", _BROKER_LIST),
        ("removing", _BROKER_LIST),
    ]
)
REPLICAS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("broker", pa.int32()),
        ("log_start_offset", pa.int64()),
        ("leo", pa.int64()),
        ("hw", pa.int64()),
        ("flushed_offset", pa.int64()),
        ("epochs", pa.list_(_EPOCH_ENTRY)),
        ("log_bytes", pa.int64()),
        ("local_log_start_offset", pa.int64()),
        ("segments", _LONG_LIST),
        ("segment_bytes", _LONG_LIST),
    ]
)
REMOTE_SEGMENTS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("base_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("epochs", pa.list_(_EPOCH_ENTRY)),
        ("bytes", pa.int64()),
        ("state", pa.string()),
    ]
)
TOPIC_CONFIGS = pa.schema([("topic", pa.string()), ("key", pa.string()), ("value", pa.string())])


def brokers_table(brokers: Sequence[int]) -> pa.Table:
    """One row a broker; racks are in none of the files read, so null."""
    return pa.table({"broker": brokers, "rack": [None] * len(brokers)}, schema=BROKERS)


def partitions_table(states: Sequence[PartitionState], leader_epochs: Sequence[int]) -> pa.Table:
    """One row a partition: replicas in order of preference, leader -1 for none, isr and elr sorted."""
    columns = {
        "topic": [state.topic for state in states],
        "partition": [state.partition for state in states],
        "replicas": [state.replicas for state in states],
        "leader": [state.leader for state in states],
        "leader_epoch": leader_epochs,
        "isr": [sorted(state.isr) for state in states],
        "elr": [sorted(state.elr) for state in states],
        "last_known_elr": [state.last_known_elr for state in states],
        "adding": [state.adding for state in states],
        "removing": [state.removing for state in states],
    }
    return pa.table(columns, schema=PARTITIONS)


def replicas_table(states: Sequence[PartitionState], logs: Sequence[Sequence[ReplicaLog]]) -> pa.Table:
    """One row a replica, in the order of partitions and of their replica lists.

    segments: base offsets, the active one last; segment_bytes: their sizes; both null if no file tells of them.
    """
    flat_logs = list(chain.from_iterable(logs))
    columns = {
        "topic": [state.topic for state in states for _ in state.replicas],
        "partition": [state.partition for state in states for _ in state.replicas],
        "broker": list(chain.from_iterable(state.replicas for state in states)),
        "log_start_offset": [log.log_start_offset for log in flat_logs],
        "leo": [log.leo for log in flat_logs],
        "hw": [log.hw for log in flat_logs],
        "flushed_offset": [log.flushed_offset for log in flat_logs],
        "epochs": _epochs_column([log.epochs or [] for log in flat_logs]),
        "log_bytes": [log.log_bytes for log in flat_logs],
        "local_log_start_offset": [log.local_log_start_offset for log in flat_logs],
        "segments": [[base for base, _ in log.segments] or None for log in flat_logs],
        "segment_bytes": [[size for _, size in log.segments] or None for log in flat_logs],
    }
    return pa.table(columns, schema=REPLICAS)


def remote_segments_table(states: Sequence[PartitionState], segments: Sequence[Sequence[RemoteSegment]]) -> pa.Table:
    """One row a remote segment, in the order of partitions and of base offsets; end_offset is inclusive."""
    rows = [(state, segment) for state, of_one in zip(states, segments, strict=True) for segment in of_one]
    columns = {
        "topic": [state.topic for state, _ in rows],
        "partition": [state.partition for state, _ in rows],
        "base_offset": [segment.base_offset for _, segment in rows],
        "end_offset": [segment.end_offset for _, segment in rows],
        "epochs": _epochs_column([segment.epochs for _, segment in rows]),
        "bytes": [segment.size_bytes for _, segment in rows],
        "state": [segment.state for _, segment in rows],
    }
    return pa.table(columns, schema=REMOTE_SEGMENTS)


def topic_configs_table(rows: Iterable[tuple[str, str, str]]) -> pa.Table:
    """One row a setting that a topic overrides: (topic, key, value)."""
    topics, keys, values = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), ())
    return pa.table({"topic": topics, "key": keys, "value": values}, schema=TOPIC_CONFIGS)


def _epochs_column(caches: Sequence[Sequence[EpochEntry]]) -> pa.Array:
    """Builds the list-of-structs column from flat columns: a dict for every entry would take most of the import."""
    entries = list(chain.from_iterable(caches))
    flat = pa.StructArray.from_arrays(
        [
            pa.array([epoch for epoch, _ in entries], pa.int32()),
            pa.array([start for _, start in entries], pa.int64()),
        ],
        fields=list(_EPOCH_ENTRY),
    )
    offsets = pa.array(accumulate(map(len, caches), initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, flat)
