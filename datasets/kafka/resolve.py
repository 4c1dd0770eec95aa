"""What each replica's log is, out of what the files say and what has to be assumed where they are silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from datasets.kafka.assumptions import Assumptions
from datasets.kafka.checkpoints import EpochEntry
from datasets.kafka.data_dir import BrokerFiles, PartitionFolder
from datasets.kafka.describe import NO_LEADER, PartitionState
from datasets.kafka.log_dirs import LogDirs
from datasets.kafka.text_input import TopicPartition


@dataclass(slots=True)
class ReplicaLog:
    """One replica's log: offsets in records (ends exclusive), its epoch cache (None: unknown), its size in bytes."""

    log_start_offset: int = 0
    leo: int = 0
    hw: int = 0
    flushed_offset: int = 0
    epochs: list[EpochEntry] | None = None
    log_bytes: int = 0


@dataclass
class Sources:
    """The files logs are resolved from; data directories by broker."""

    data_dirs: Mapping[int, BrokerFiles]
    log_dirs: LogDirs
    assumptions: Assumptions


def resolve_partition(state: PartitionState, sources: Sources) -> tuple[int, list[ReplicaLog]]:
    """Gives a partition's leader epoch and the logs of its replicas, in their order.

    Per replica, from its own broker's data directory; without one, as the leader's log, or that of the first replica
    that has one; without any, empty. The leader epoch is the largest in any cache.
    """
    key = (state.topic, state.partition)
    logs = {broker: _read_own_log(broker, key, sources) for broker in state.replicas}
    preferred = state.replicas if state.leader == NO_LEADER else (state.leader, *state.replicas)
    source = next((log for broker in preferred if (log := logs[broker])), None)
    known_caches = (log.epochs for broker in preferred if (log := logs[broker]) and log.epochs)
    source_epochs = next(known_caches, None)
    resolved: dict[int, ReplicaLog] = {}
    for broker, own_log in logs.items():
        log = own_log or _stand_in(broker, key, source, broker == state.leader, sources)
        log.log_bytes = sources.log_dirs.sizes_bytes.get(broker, {}).get(key, log.log_bytes)
        if log.epochs is None:
            log.epochs = _assume_epochs(log, source_epochs, broker == state.leader, sources.assumptions)
        resolved[broker] = log
    leader_epoch = max((log.epochs[-1][0] for log in resolved.values() if log.epochs), default=0)
    _count_inconsistencies(state, leader_epoch, resolved, sources.assumptions)
    return leader_epoch, list(resolved.values())


def _read_own_log(broker: int, key: TopicPartition, sources: Sources) -> ReplicaLog | None:
    files = sources.data_dirs.get(broker)
    if files is None or not files.has(key):
        return None
    folder = files.folders.get(key) or PartitionFolder("", None, None)
    epochs, segments = folder.epochs, folder.segments
    hw, flushed = files.high_watermarks.get(key, 0), files.flushed.get(key, 0)
    log_start = _log_start(key, files, folder)
    if segments is None:
        sources.assumptions.leo_from_checkpoints += 1
        leo = max(hw, flushed, log_start, epochs[-1][1] if epochs else 0)
    else:
        sources.assumptions.count_tail(folder.path, segments)
        # rolling a segment flushes everything before it
        flushed = max(flushed, segments.active_base_offset)
        leo = max(segments.leo, log_start)
    return ReplicaLog(
        log_start_offset=log_start,
        leo=leo,
        hw=_clamp(hw, log_start, leo),
        flushed_offset=_clamp(flushed, log_start, leo),
        epochs=None if epochs is None else [entry for entry in epochs if entry[1] <= leo],
        log_bytes=0 if segments is None else segments.log_bytes,
    )


def _log_start(key: TopicPartition, files: BrokerFiles, folder: PartitionFolder) -> int:
    """Where a log begins: the checkpoint's entry, which is absent when the log begins with its first segment.

    Without segments to look at that is the first epoch's start, as retention cuts the cache there too (source:
    LogManager.checkpointLogStartOffsetsInDir, LeaderEpochFileCache.truncateFromStart).
    """
    if key in files.log_starts:
        return files.log_starts[key]
    if folder.segments is not None:
        return folder.segments.first_base_offset
    return folder.epochs[0][1] if folder.epochs else 0


def _stand_in(broker: int, key: TopicPartition, source: ReplicaLog | None, is_leader: bool, sources: Sources) -> ReplicaLog:
    """The log of a replica that no file of its own broker tells of."""
    if broker in sources.data_dirs:
        sources.assumptions.absent_in_data_dir += 1
        return ReplicaLog()
    if source is None:
        sources.assumptions.empty_without_data_dir += 1
        return ReplicaLog()
    sources.assumptions.copied_from_other_replica += 1
    leo = source.leo
    lag = 0 if is_leader else sources.log_dirs.offset_lags.get(broker, {}).get(key, 0)
    if lag > 0:
        sources.assumptions.lowered_by_lag += 1
        leo = _clamp(source.hw - lag, source.log_start_offset, leo)
    return ReplicaLog(
        log_start_offset=source.log_start_offset,
        leo=leo,
        hw=min(source.hw, leo),
        flushed_offset=min(source.flushed_offset, leo),
        log_bytes=source.log_bytes,
    )


def _assume_epochs(
    log: ReplicaLog, source_epochs: list[EpochEntry] | None, is_leader: bool, assumptions: Assumptions
) -> list[EpochEntry]:
    """An epoch cache for a log without one: another replica's up to this log's end, else epoch 0 throughout."""
    has_records = log.leo > log.log_start_offset
    clipped = _clip_epochs(source_epochs or [], log.log_start_offset, log.leo)
    if clipped:
        assumptions.epochs_from_other_replica += 1
        return clipped
    if has_records:
        assumptions.epochs_unknown += 1
    return [(0, log.log_start_offset)] if has_records or is_leader else []


def _clip_epochs(epochs: list[EpochEntry], log_start: int, leo: int) -> list[EpochEntry]:
    """The entries of a cache that have records from log_start on and below leo."""
    entries_and_next = pairwise([*epochs, (0, leo)])
    return [
        (epoch, max(start, log_start)) for (epoch, start), (_, end) in entries_and_next if max(start, log_start) < min(end, leo)
    ]


def _clamp(offset: int, lowest: int, highest: int) -> int:
    return max(lowest, min(offset, highest))


def _count_inconsistencies(
    state: PartitionState, leader_epoch: int, logs: Mapping[int, ReplicaLog], assumptions: Assumptions
) -> None:
    leader = logs.get(state.leader)
    if leader is None:
        return
    assumptions.isr_below_hw += sum(logs[member].leo < leader.hw for member in state.isr)
    if not leader.epochs or leader.epochs[-1][0] < leader_epoch:
        assumptions.leader_behind_epoch += 1
