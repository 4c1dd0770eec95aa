"""What each replica's log is, out of what the files say and what has to be assumed where they are silent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from emulator.importers.kafka.assumptions import Assumptions
from emulator.importers.kafka.checkpoints import EpochEntry
from emulator.importers.kafka.data_dir import BrokerFiles, PartitionFolder
from emulator.importers.kafka.describe import NO_LEADER, PartitionState
from emulator.importers.kafka.listed_offsets import ListedOffsets, PartitionOffsets
from emulator.importers.kafka.log_dirs import LogDirs
from emulator.importers.text_input import TopicPartition

_NOTHING_LISTED = PartitionOffsets()


@dataclass(slots=True)
class ReplicaLog:
    """One replica's log: offsets in records (ends exclusive), its epoch cache (None: unknown), its size in bytes.

    `segments`: base offsets and sizes in bytes of the segments on its disk, the active one last; none: not known.
    """

    log_start_offset: int = 0
    local_log_start_offset: int = 0
    leo: int = 0
    hw: int = 0
    flushed_offset: int = 0
    epochs: list[EpochEntry] | None = None
    log_bytes: int = 0
    segments: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class Sources:
    """The files logs are resolved from; data directories by broker."""

    data_dirs: Mapping[int, BrokerFiles]
    log_dirs: LogDirs
    assumptions: Assumptions
    offsets: ListedOffsets = field(default_factory=ListedOffsets)


def resolve_partition(state: PartitionState, sources: Sources, tiered: bool | None) -> tuple[int, list[ReplicaLog]]:
    """Gives a partition's leader epoch and the logs of its replicas, in their order.

    Per replica, from its own broker's data directory; without one, as the leader's log, or that of the first replica
    that has one; without any, empty. Listed offsets are the leader's: its log begins and ends at least there. The leader
    epoch is the largest in any cache. `tiered`: whether its topic has remote storage, None: not known.
    """
    key = (state.topic, state.partition)
    listed = sources.offsets.of(key) or _NOTHING_LISTED
    logs = {broker: _read_own_log(broker, key, sources, tiered) for broker in state.replicas}
    _apply_listed(state, logs, listed, sources.assumptions)
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


def _read_own_log(broker: int, key: TopicPartition, sources: Sources, tiered: bool | None) -> ReplicaLog | None:
    files = sources.data_dirs.get(broker)
    if files is None or not files.has(key):
        return None
    folder = files.folders.get(key) or PartitionFolder("", None, None)
    epochs, segments = folder.epochs, folder.segments
    hw, flushed = files.high_watermarks.get(key, 0), files.flushed.get(key, 0)
    log_start = _log_start(key, files, folder, tiered)
    if segments is None:
        sources.assumptions.leo_from_checkpoints += 1
        leo = max(hw, flushed, log_start, epochs[-1][1] if epochs else 0)
        local_start = log_start
    else:
        sources.assumptions.count_tail(folder.path, segments)
        # rolling a segment flushes everything before it
        flushed = max(flushed, segments.base_offsets[-1])
        leo = max(segments.leo, log_start)
        local_start = max(log_start, segments.base_offsets[0])
    return ReplicaLog(
        log_start_offset=log_start,
        local_log_start_offset=local_start,
        leo=leo,
        hw=_clamp(hw, local_start, leo),
        flushed_offset=_clamp(flushed, local_start, leo),
        epochs=None if epochs is None else [entry for entry in epochs if entry[1] <= leo],
        log_bytes=0 if segments is None else sum(segments.sizes_bytes),
        segments=[] if segments is None else list(zip(segments.base_offsets, segments.sizes_bytes, strict=True)),
    )


def _log_start(key: TopicPartition, files: BrokerFiles, folder: PartitionFolder, tiered: bool | None) -> int:
    """Where a log begins: the checkpoint's entry, which is absent when the log begins with its first segment.

    Of a topic without remote storage an entry below the first segment is out of date, the checkpoint is written once a
    minute. With remote storage the first segment may lie above it; there the first epoch's start says more, as whatever
    raises the log start cuts the epochs at once. Without entry and segments the first epoch's start is all there is
    (source: LogManager.checkpointLogStartOffsetsInDir, LogLoader, LeaderEpochFileCache.truncateFromStart).
    """
    first_epoch = folder.epochs[0][1] if folder.epochs else 0
    first_segment = folder.segments.base_offsets[0] if folder.segments is not None else None
    written = files.log_starts.get(key)
    if tiered is False:
        if written is not None:
            return written if first_segment is None else max(written, first_segment)
    elif written is not None:
        is_remote = tiered or (first_segment is not None and written < first_segment)
        return max(written, first_epoch) if is_remote else written
    elif tiered and folder.epochs:
        return first_epoch
    return first_epoch if first_segment is None else first_segment


def _apply_listed(
    state: PartitionState, logs: dict[int, ReplicaLog | None], listed: PartitionOffsets, assumptions: Assumptions
) -> None:
    """Brings the leader's log to where the leader says it is, and those of the ISR that only checkpoints tell of."""
    if listed is _NOTHING_LISTED or state.leader == NO_LEADER:
        return
    if logs[state.leader] is None and listed.latest is not None:
        assumptions.log_from_offsets += 1
        other = next((log for log in logs.values() if log), ReplicaLog(flushed_offset=listed.latest))
        epochs = None if other.epochs is None else list(other.epochs)
        logs[state.leader] = replace(other, epochs=epochs, segments=[])
    for broker in state.isr:
        log = logs[broker]
        if log is None or (log.segments and broker != state.leader):
            continue
        if listed.latest is not None:
            assumptions.leo_raised += bool(log.segments) and log.leo < listed.latest
            log.leo, log.hw = max(log.leo, listed.latest), max(log.hw, listed.latest)
        _raise_log_start(log, min(listed.earliest or 0, log.leo), min(listed.earliest_local or 0, log.leo))


def _raise_log_start(log: ReplicaLog, log_start: int, local_start: int) -> None:
    """Raises log start and local log start to at least these offsets; whole segments and epochs below go."""
    log.log_start_offset = max(log.log_start_offset, log_start)
    lowest = max(log.log_start_offset, local_start)
    gone = sum(base <= lowest for base, _ in log.segments[1:])
    log.log_bytes -= sum(size for _, size in log.segments[:gone])
    log.segments = log.segments[gone:]
    log.local_log_start_offset = (
        max(log.log_start_offset, log.segments[0][0]) if log.segments else max(log.local_log_start_offset, lowest)
    )
    log.hw = _clamp(log.hw, log.local_log_start_offset, log.leo)
    log.flushed_offset = _clamp(log.flushed_offset, log.local_log_start_offset, log.leo)
    if log.epochs:
        later = sum(start <= log.log_start_offset for _, start in log.epochs)
        if later:
            log.epochs = [(log.epochs[later - 1][0], log.log_start_offset), *log.epochs[later:]]


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
    local_start = min(source.local_log_start_offset, leo)
    return ReplicaLog(
        log_start_offset=source.log_start_offset,
        local_log_start_offset=local_start,
        leo=leo,
        hw=_clamp(source.hw, local_start, leo),
        flushed_offset=_clamp(source.flushed_offset, local_start, leo),
        log_bytes=source.log_bytes,
        segments=[segment for segment in source.segments if segment[0] <= leo],
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
