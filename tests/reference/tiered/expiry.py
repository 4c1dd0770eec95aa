"""What goes from remote storage: total retention, what lies below the log start, leftovers, and whole partitions.

RLMExpirationTask.cleanupExpiredRemoteLogSegments and RemoteLogManager.stopPartitions.

Choices where docs/tiered_rounds.md is silent:

* Deleting takes no time and no quota.
* A run that the store fails is tried again with back-off; what it has not deleted yet it finds anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..partition import Replica
from .copying import learn_highest_remote
from .lineage import Epochs, is_in_lineage, without_empty_epochs
from .metadata import (
    COPY_FINISHED,
    DELETE_FINISHED,
    DELETE_STARTED,
    FINISHED,
    REMOVER,
    STARTED,
    MetadataLog,
    RemoteSegment,
    SegmentIndex,
)
from .partition import LEADER, Leaving, Task, Tier, TieredPartition


@dataclass
class Verdict:
    """What one run decides: the segments to delete, and the log start that comes first (None: it stays)."""

    segments: list[RemoteSegment]
    log_start: int | None = None


@dataclass
class Limits:
    """What total retention allows: `breached_bytes` are too many, segments written up to `expired_round` are too old."""

    breached_bytes: int
    expired_round: int | None

    def breaks(self, segment: RemoteSegment) -> bool:
        """Whether the segment has to go; then its bytes are not too many any more."""
        if self.expired_round is not None and segment.last_round <= self.expired_round:
            self.breached_bytes = max(0, self.breached_bytes - segment.size_bytes)
            return True
        if 0 < segment.size_bytes <= self.breached_bytes or (segment.size_bytes == 0 and self.breached_bytes > 0):
            self.breached_bytes -= segment.size_bytes
            return True
        return False


def run_expiry_tasks(partition: TieredPartition) -> None:
    """Leaders expire what is due."""
    for replica in partition.replicas.values():
        tier = partition.tier_of(replica.broker)
        due = tier.duty == LEADER and partition.now >= tier.expiry_task.next_round
        if not due or not partition.status(replica.broker).running:
            continue
        if partition.can_use_metadata(replica.broker) and _run(partition, replica, tier):
            tier.expiry_task.done(partition.now, partition.settings.task_interval_ms)
        else:
            tier.expiry_task.failed(partition.now, partition.settings)


def _run(partition: TieredPartition, replica: Replica, tier: Tier) -> bool:
    """One run of a leader. Returns whether it came to its end."""
    index = partition.index_of(replica.broker)
    if not index.listed():
        return True
    if tier.highest_remote < 0 and partition.tier_rules.know_remote_first:
        learn_highest_remote(partition, replica, tier)
    verdict = expired(partition, replica, tier, index)
    if not _raise_log_start(partition, replica, tier, verdict.log_start):
        return False
    for segment in verdict.segments:
        if not delete(partition, replica.broker, segment):
            return False
    # Deleting has told it what others wrote before: the index may be another one now.
    for segment in _left_behind(partition, replica):
        partition.coverage["unreferenced_deleted"] += 1
        if not delete(partition, replica.broker, segment):
            return False
    return True


def _left_behind(partition: TieredPartition, replica: Replica) -> list[RemoteSegment]:
    """The segments that have only epochs older than the cache's first, in order."""
    index, entries = partition.index_of(replica.broker), replica.log.cache.entries
    older = {epoch for one in index.listed() for epoch, _ in one.epochs if entries and epoch < entries[0][0]}
    known = {one.id: one for epoch in sorted(older) for one in index.listed_of(epoch)}
    return [one for one in known.values() if all(epoch < entries[0][0] for epoch, _ in one.epochs)]


def _raise_log_start(partition: TieredPartition, replica: Replica, tier: Tier, offset: int | None) -> bool:
    if not partition.tier_rules.log_start_first:
        offset, tier.pending_log_start = tier.pending_log_start, offset
    if offset is None:
        return True
    partition.coverage["log_start_by_retention"] += 1
    return partition.raise_log_start(replica, offset)


def expired(partition: TieredPartition, replica: Replica, tier: Tier, index: SegmentIndex) -> Verdict:
    """Walk the log's epochs from the oldest, and each one's segments, as long as they have to go or are not the log's."""
    log = partition.log_of(replica)
    lineage = without_empty_epochs(log.cache.entries)
    limits = _limits(partition, replica, tier, index, lineage)
    copying = None if tier.copy is None else tier.copy.segment
    verdict = Verdict([])
    for epoch, _ in lineage:
        for segment in index.listed_of(epoch):
            if segment is copying:
                return verdict
            if index.state_of(segment) == DELETE_STARTED:
                if segment not in verdict.segments:
                    verdict.segments.append(segment)
                continue
            if segment in verdict.segments:
                continue
            if _is_below_log_start(segment, log.log_start, lineage):
                verdict.segments.append(segment)
            elif is_in_lineage(segment.epochs, segment.end_offset, lineage, log.leo):
                if not limits.breaks(segment):
                    return verdict
                verdict.segments.append(segment)
                verdict.log_start = max(verdict.log_start or 0, segment.end_offset + 1)
    return verdict


def _is_below_log_start(segment: RemoteSegment, log_start: int, lineage: Epochs) -> bool:
    if not lineage:
        return False
    return all(epoch <= lineage[0][0] for epoch, _ in segment.epochs) and segment.end_offset < log_start


def _limits(partition: TieredPartition, replica: Replica, tier: Tier, index: SegmentIndex, lineage: Epochs) -> Limits:
    settings, log = partition.settings, partition.log_of(replica)
    expired_round = None
    if settings.retention_ms >= 0:
        expired_round = partition.now - -(-settings.retention_ms // settings.round_ms)
    breached_bytes = 0
    if settings.retention_bytes >= 0:
        remote = {
            segment.id: segment.size_bytes
            for epoch, _ in lineage
            for segment in index.listed_of(epoch)
            if index.state_of(segment) == COPY_FINISHED and is_in_lineage(segment.epochs, segment.end_offset, lineage, log.leo)
        }
        local = sum(segment.size_bytes for segment in log.segments if segment.base_offset >= tier.highest_remote)
        breached_bytes = max(0, local + sum(remote.values()) - settings.retention_bytes)
    return Limits(breached_bytes, expired_round)


def delete(partition: TieredPartition, broker: int, segment: RemoteSegment) -> bool:
    """Delete one segment: said, done, said. Returns whether the store did it."""
    partition.write_metadata(segment, DELETE_STARTED, broker)
    return _delete_data(partition, partition.metadata, segment, broker)


def _delete_data(partition: TieredPartition, metadata: MetadataLog, segment: RemoteSegment, broker: int) -> bool:
    partition.ledger.counts["remote_delete_requests"] += 1
    if not partition.store_up:
        partition.ledger.counts["remote_delete_errors"] += 1
        return False
    partition.ledger.counts["remote_deleted_bytes"] += segment.stored_bytes
    segment.stored_bytes = 0
    was_deleted = segment.state == DELETE_FINISHED
    metadata.write(partition.now, segment, DELETE_FINISHED, broker)
    if not was_deleted:
        offsets = (segment.base_offset, segment.end_offset + 1)
        partition.ledger.event(partition.now, "remote_delete", broker, segment.leader_epoch, *offsets)
    return True


def watch_disabling(partition: TieredPartition) -> None:
    """Remote storage was turned off by this round's settings: all of it goes, logs start at their local start (KIP-950)."""
    is_tiered = partition.settings.is_tiered
    if partition.was_tiered and not is_tiered:
        for replica in partition.replicas.values():
            if replica.leading_epoch is not None and partition.status(replica.broker).running:
                partition.raise_log_start(replica, replica.log.local_log_start)
        mark_partition(partition)
        partition.coverage["disabled"] += 1
    partition.was_tiered = is_tiered


def mark_partition(partition: TieredPartition) -> None:
    """All of the partition's remote data has to go, and nobody knows of it any more but the remover."""
    if any(one.state != DELETE_FINISHED for one in partition.segments):
        round_ms = partition.settings.round_ms
        partition.leaving = Leaving(partition.metadata, Task(partition.now * round_ms, round_ms))
    partition.metadata = MetadataLog(partition.tier_rules.check_transitions)
    for tier in partition.tiers.values():
        tier.highest_remote, tier.copied = -1, None


def delete_partition(partition: TieredPartition) -> None:
    """Go on until all remote data of a marked partition is deleted."""
    leaving = partition.leaving
    if leaving is None or partition.now < leaving.task.next_round:
        return
    leaving.state = STARTED
    left = [one for one in leaving.metadata.complete.listed() if one.state != DELETE_FINISHED]
    for segment in left:
        leaving.metadata.write(partition.now, segment, DELETE_STARTED, REMOVER)
    for segment in left:
        if not _delete_data(partition, leaving.metadata, segment, REMOVER):
            leaving.task.failed(partition.now, partition.settings)
            return
    leaving.state, partition.leaving = FINISHED, None
    partition.coverage["partition_deleted"] += 1
