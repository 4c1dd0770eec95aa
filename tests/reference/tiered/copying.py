"""The remote log manager's duties but for expiry: who has which, and what a leader copies (RLMCopyTask, RLMFollowerTask).

Choices where docs/tiered_rounds.md is silent:

* A copy that ends after its segment was deleted (by a leader that knew better) leaves its data in the store for good.
* Bytes that an attempt moved count also when it is given up (`remote_copy_bytes`), and count as moved again
  (`remote_copied_again_bytes`) when an earlier attempt has one of its records.
"""

from __future__ import annotations

from itertools import takewhile

from ..partition import Replica
from .lineage import NOTHING_REMOTE, epochs_in_range, highest_remote_offset, remote_log_start
from .metadata import COPY_FINISHED, COPY_STARTED, DELETE_FINISHED, DELETE_STARTED, RemoteSegment
from .partition import FOLLOWER, LEADER, Copy, Tier, TieredPartition
from .segments import Segment, TieredLog


def assign_duties(partition: TieredPartition) -> None:
    """Who leads copies and expires, who follows keeps an eye on how far it is tiered; a new duty begins at once.

    Who leads again, in another epoch, goes on with its tasks.
    """
    for replica in partition.replicas.values():
        tier, status = partition.tier_of(replica.broker), partition.status(replica.broker)
        is_tiered = partition.settings.is_tiered
        epoch = replica.leading_epoch if is_tiered else None
        duty = None if not is_tiered else FOLLOWER if epoch is None else LEADER
        if not status.running or (duty, epoch) == (tier.duty, tier.epoch):
            continue
        if tier.duty == duty:
            tier.epoch = epoch
            continue
        if tier.copy is not None:
            _lose_leadership(partition, replica, tier)
        tier.take_duty(duty, epoch, partition.now, partition.settings.round_ms)


def _lose_leadership(partition: TieredPartition, replica: Replica, tier: Tier) -> None:
    """The copy under way is given up, and stays COPY_STARTED, or goes on by itself."""
    assert tier.copy is not None
    if partition.store.on_leadership_lost == "finish" and partition.settings.is_tiered:
        tier.copy.orphaned = True
        return
    _give_up(partition, replica.broker, tier)
    partition.coverage["copy_cancelled"] += 1


def forget_on_restart(partition: TieredPartition) -> None:
    """A broker whose process ended knows nothing of its tasks any more, and nobody goes on with its copy."""
    for replica in partition.replicas.values():
        status, tier = partition.status(replica.broker), partition.tier_of(replica.broker)
        if status.offline:
            if tier.copy is not None:
                _give_up(partition, replica.broker, tier)
                partition.coverage["copy_died"] += 1
            partition.tiers[replica.broker] = Tier()
    for broker in [broker for broker in partition.tiers if broker not in partition.replicas]:
        if partition.tiers[broker].copy is not None:
            _give_up(partition, broker, partition.tiers[broker])
        del partition.tiers[broker]


def follow_truncation(partition: TieredPartition) -> None:
    """What was cut off a log is not tiered any more, as far as this log goes."""
    if not partition.tier_rules.forget_on_truncation:
        return
    for replica in partition.replicas.values():
        tier = partition.tier_of(replica.broker)
        if tier.highest_remote >= replica.log.leo:
            tier.highest_remote = replica.log.leo - 1
            partition.coverage["highest_remote_lowered"] += 1


def cancel(partition: TieredPartition, replica: Replica, tier: Tier) -> None:
    """The topic copies no more."""
    _give_up(partition, replica.broker, tier)
    partition.coverage["copy_cancelled"] += 1


def run_follower_tasks(partition: TieredPartition) -> None:
    """Followers look up how far their own log is tiered (RLMFollowerTask)."""
    for replica in partition.replicas.values():
        tier = partition.tier_of(replica.broker)
        due = tier.duty == FOLLOWER and partition.now >= tier.follower_task.next_round
        if not due or not partition.status(replica.broker).running:
            continue
        if not partition.can_use_metadata(replica.broker):
            tier.follower_task.failed(partition.now, partition.settings)
            continue
        learn_highest_remote(partition, replica, tier)
        tier.follower_task.done(partition.now, partition.settings.task_interval_ms)


def learn_highest_remote(partition: TieredPartition, replica: Replica, tier: Tier) -> int:
    """Look up how far the replica's log is tiered; what it knows only rises by that."""
    index = partition.index_of(replica.broker)
    found, _ = highest_remote_offset(replica.log.cache.entries, replica.log.leo, index.highest_offset)
    if not partition.tier_rules.within_lineage:
        found = max((one.end_offset for one in index.listed() if index.state_of(one) == COPY_FINISHED), default=NOTHING_REMOTE[0])
    tier.highest_remote = max(tier.highest_remote, found)
    return found


def run(
    partition: TieredPartition, replica: Replica, tier: Tier, budget_bytes: int | None, has_thread: bool = True
) -> tuple[int, bool]:
    """One round of a copy task: as many segments as it has bytes for. Returns (bytes moved, whether its thread is free)."""
    broker, moved_bytes = replica.broker, 0
    while True:
        if tier.copy is None:
            segment = _next_segment(partition, replica, tier)
            if segment is None:
                return moved_bytes, True
            if not has_thread:
                return moved_bytes, False
            if not _may_begin(partition, broker):
                partition.coverage["copy_throttled"] += 1
                return moved_bytes, False
            _start(partition, replica, tier, segment)
        assert tier.copy is not None
        if not partition.store_up or not partition.can_use_metadata(broker):
            _fail(partition, replica, tier)
            return moved_bytes, True
        left = tier.copy.left_bytes
        moved = left if budget_bytes is None else min(left, budget_bytes - moved_bytes)
        tier.copy.left_bytes -= moved
        moved_bytes += moved
        if tier.copy.left_bytes > 0:
            partition.coverage["copy_over_rounds"] += 1
            return moved_bytes, False
        _finish(partition, replica, tier)


def _may_begin(partition: TieredPartition, broker: int) -> bool:
    settings = partition.settings
    quota = settings.copy_quota_bytes_per_second(broker)
    return partition.budget_of(broker).may_begin(quota, partition.now, settings.round_ms)


def _next_segment(partition: TieredPartition, replica: Replica, tier: Tier) -> Segment | None:
    """The segment to copy now, or None: then the task's run is over."""
    settings, broker, now = partition.settings, replica.broker, partition.now
    if now < tier.copy_task.next_round:
        return None
    if tier.duty != LEADER or not settings.copies:
        tier.copy_task.done(now, settings.task_interval_ms)
        return None
    if not partition.can_use_metadata(broker):
        tier.copy_task.failed(now, settings)
        return None
    if not _prepare(partition, replica, tier):
        tier.copy_task.failed(now, settings)
        partition.coverage["log_start_above_hw"] += 1
        return None
    assert tier.copied is not None
    candidates = candidate_segments(partition, replica, max(tier.copied + 1, replica.log.log_start))
    if not candidates:
        tier.copy_task.done(now, settings.task_interval_ms)
        return None
    return candidates[0]


def _prepare(partition: TieredPartition, replica: Replica, tier: Tier) -> bool:
    """First of all a new leader finds its log start and how far it is tiered. Returns whether it could."""
    index = partition.index_of(replica.broker)
    if not tier.knows_log_start:
        start = remote_log_start(replica.log.cache.entries, index.first_offset, replica.log.local_log_start)
        if not partition.raise_log_start(replica, start):
            return False
        tier.knows_log_start = True
    if tier.copied is None:
        tier.copied = learn_highest_remote(partition, replica, tier)
    return True


def count_listing(partition: TieredPartition) -> None:
    """Rounds in which brokers ask the store for metadata every now and then, where it has them (`list`)."""
    if partition.settings.is_tiered:
        running = [broker for broker in partition.replicas if partition.status(broker).running]
        partition.listing_rounds.update(running)


def candidate_segments(partition: TieredPartition, replica: Replica, from_offset: int) -> list[Segment]:
    """The segments from the one with `from_offset` on that end below the last stable offset; never the active one.

    The first that has not waited for its lag yet (KIP-1241) ends them.
    """
    log, stable = partition.log_of(replica), partition.last_stable_offset(replica)
    if not partition.tier_rules.below_last_stable:
        stable = log.leo
    closed = [(segment, log.end_of(at)) for at, segment in enumerate(log.segments[:-1])]
    candidates = [segment for segment, end in closed if end > from_offset and end <= stable]
    if not partition.tier_rules.wait_for_lag:
        return candidates
    return list(takewhile(lambda segment: _has_waited(partition, log, segment), candidates))


def _has_waited(partition: TieredPartition, log: TieredLog, segment: Segment) -> bool:
    assert segment.last_round is not None
    behind_bytes = sum(one.size_bytes for one in log.segments if one.base_offset > segment.base_offset)
    has_waited = partition.settings.may_copy((partition.now - segment.last_round) * partition.settings.round_ms, behind_bytes)
    if not has_waited:
        partition.coverage["copy_waits_for_lag"] += 1
    return has_waited


def _start(partition: TieredPartition, replica: Replica, tier: Tier, segment: Segment) -> None:
    log = partition.log_of(replica)
    end = log.end_of(log.segments.index(segment))
    assert tier.epoch is not None and segment.last_round is not None
    remote = RemoteSegment(
        len(partition.segments),
        segment.base_offset,
        end - 1,
        epochs_in_range(log.cache.entries, segment.base_offset, end),
        epochs_in_range(log.cache.entries, -1, end),
        segment.size_bytes,
        segment.last_round,
        replica.broker,
        tier.epoch,
        started_round=partition.now,
    )
    partition.budget_of(replica.broker).begin(partition.number, segment.size_bytes, partition.now)
    partition.segments.append(remote)
    partition.write_metadata(remote, COPY_STARTED, replica.broker)
    partition.ledger.counts["remote_copy_requests"] += 1
    partition.ledger.event(partition.now, "copy_started", replica.broker, tier.epoch, remote.base_offset, end)
    tier.copy = Copy(remote, segment.size_bytes)
    if not partition.tier_rules.finished_counts:
        tier.highest_remote = max(tier.highest_remote, remote.end_offset)


def _finish(partition: TieredPartition, replica: Replica, tier: Tier) -> None:
    assert tier.copy is not None
    segment, orphaned = tier.copy.segment, tier.copy.orphaned
    segment.stored_bytes = segment.size_bytes
    partition.write_metadata(segment, COPY_FINISHED, replica.broker)
    _count_bytes(partition, tier.copy)
    partition.ledger.event(
        partition.now, "copy_finished", replica.broker, segment.leader_epoch, segment.base_offset, segment.end_offset + 1
    )
    tier.copy = None
    if orphaned:
        partition.coverage["orphaned_copy_finished"] += 1
        return
    tier.copied = segment.end_offset
    tier.highest_remote = max(tier.highest_remote, segment.end_offset)


def _fail(partition: TieredPartition, replica: Replica, tier: Tier) -> None:
    """The store fails a copy: what it has of the segment is to be deleted, now if it can be, else by expiry."""
    assert tier.copy is not None
    segment = tier.copy.segment
    _give_up(partition, replica.broker, tier)
    if partition.can_use_metadata(replica.broker):
        partition.write_metadata(segment, DELETE_STARTED, replica.broker)
    partition.ledger.counts["remote_copy_errors"] += 1
    partition.ledger.event(
        partition.now, "copy_failed", replica.broker, segment.leader_epoch, segment.base_offset, segment.end_offset + 1
    )
    tier.copy_task.failed(partition.now, partition.settings)


def _give_up(partition: TieredPartition, broker: int, tier: Tier) -> None:
    """The task lets go of its copy; what it moved stays in the store, until expiry finds it."""
    assert tier.copy is not None
    if tier.copy.segment.state != DELETE_FINISHED:
        tier.copy.segment.stored_bytes = tier.copy.segment.size_bytes - tier.copy.left_bytes
    _count_bytes(partition, tier.copy)
    tier.copy = None


def _count_bytes(partition: TieredPartition, copy: Copy) -> None:
    segment, counts = copy.segment, partition.ledger.counts
    moved = segment.size_bytes - copy.left_bytes
    of_run = moved - segment.moved_bytes  # without what was in the store before the run
    segment.moved_bytes = moved
    counts["remote_copy_bytes"] += of_run
    earlier = [one for one in partition.segments if one.id < segment.id and _share_records(one, segment)]
    if any(one.was_finished or one.moved_bytes > 0 for one in earlier):
        counts["remote_copied_again_bytes"] += of_run


def _share_records(one: RemoteSegment, other: RemoteSegment) -> bool:
    overlap = one.base_offset <= other.end_offset and other.base_offset <= one.end_offset
    return overlap and bool({epoch for epoch, _ in one.epochs} & {epoch for epoch, _ in other.epochs})
