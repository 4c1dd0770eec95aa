"""What goes from a replica's own disk (UnifiedLog.deleteOldSegments), by its own clock, tiered or not.

Choices where docs/tiered_rounds.md is silent:

* The clock is the round: every running replica looks in the rounds in which the check is due, round 0 excepted.
* Ages are in whole rounds: a segment is as old as its newest record.
"""

from __future__ import annotations

from collections.abc import Callable

from ..partition import Replica
from .partition import Deletion, TieredPartition
from .segments import Segment, TieredLog

Breaks = Callable[[int, Segment], bool]
"""Whether the segment at this place has to go."""


def delete_old_segments(partition: TieredPartition) -> None:
    """In rounds of the check: below the log start first, then by size, then by age."""
    partition.deletions = []
    settings = partition.settings
    if partition.now == 0 or not settings.is_due(partition.now, settings.retention_check_ms):
        return
    for replica in partition.replicas.values():
        if not partition.status(replica.broker).running:
            continue
        log = partition.log_of(replica)
        _delete(partition, replica, _below_log_start(log), "log_start")
        _delete(partition, replica, _too_big(partition, log), "size")
        _delete(partition, replica, _too_old(partition), "age")


def _below_log_start(log: TieredLog) -> Breaks:
    return lambda at, _: at + 1 < len(log.segments) and log.end_of(at) <= log.local_log_start


def _too_big(partition: TieredPartition, log: TieredLog) -> Breaks:
    limit = partition.settings.local_retention_bytes
    left = [log.size_bytes - limit]

    def breaks(_: int, segment: Segment) -> bool:
        if limit < 0 or left[0] < segment.size_bytes:
            return False
        left[0] -= segment.size_bytes
        return True

    return breaks


def _too_old(partition: TieredPartition) -> Breaks:
    settings = partition.settings

    def breaks(_: int, segment: Segment) -> bool:
        if settings.local_retention_ms < 0:
            return False
        written = partition.now if segment.last_round is None else segment.last_round
        return (partition.now - written) * settings.round_ms > settings.local_retention_ms

    return breaks


def _delete(partition: TieredPartition, replica: Replica, breaks: Breaks, cause: str) -> None:
    """Delete from the front as long as segments break the limit, end at or below the HW, and may go."""
    log, settings = partition.log_of(replica), partition.settings
    count = 0
    for at, segment in enumerate(list(log.segments)):
        is_active = at + 1 == len(log.segments)
        if log.end_of(at) > replica.hw or not breaks(at, segment) or (is_active and log.leo == segment.base_offset):
            break
        may_go = _may_go(partition, replica, at)
        if is_active and (may_go or settings.is_tiered):
            _roll(partition, replica, log)
        if not may_go:
            break
        count += 1
    if count == 0:
        return
    first, records = log.segments[0].base_offset, log.delete_first_segments(count)
    end = log.segments[0].base_offset
    partition.deletions.append(Deletion(replica.broker, records, log.log_start))
    partition.ledger.counts["local_deleted_bytes"] += sum(record.size_bytes for record in records)
    if not settings.copies:
        partition.raise_log_start(replica, max(end, log.log_start))
    partition.ledger.event(partition.now, "local_delete", replica.broker, replica.believed_epoch, first, end)
    partition.coverage[f"local_delete_{cause}"] += 1


def _may_go(partition: TieredPartition, replica: Replica, at: int) -> bool:
    """Whether the segment is copied, lies below the log start, or needs no copy."""
    log, tier = partition.log_of(replica), partition.tier_of(replica.broker)
    end = log.end_of(at)
    if not partition.settings.copies or not partition.tier_rules.copy_before_delete:
        return True
    return 0 < end <= tier.highest_remote + 1 or (at + 1 < len(log.segments) and log.log_start >= end)


def _roll(partition: TieredPartition, replica: Replica, log: TieredLog) -> None:
    """The active segment has to go: it is closed first. In a tiered topic it goes once it is copied."""
    log.roll()
    partition.ledger.event(partition.now, "segment_roll", replica.broker, replica.believed_epoch, log.leo)
    partition.coverage["active_rolled_by_retention"] += 1
