"""Simulates one Kafka partition with tiered storage round by round, in the order of docs/tiered_rounds.md.

    simulate(case) -> Result          simulate_together(cases) -> [Result]

A case is one of the Kafka reference (kafka.py), of the protocol `kafka`, and may have:

    "remote_storage": the fields of Store (settings.py), "tier_rules": TierRules (rules.py),
    in "initial": "remote_segments": [{"base_offset", "end_offset" (inclusive), "epochs" (all of the log up to its end;
    absent: the leader's), "bytes", "state"}], and of replicas also "local_log_start_offset" and "segments": [base offsets],
    faults remote_storage_outage, slow_remote_storage, remote_metadata_lag and open_transaction, command delete_topic.

Cases that are simulated together are partitions on the same brokers, whose copies share threads and quotas.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import kafka
from ..accounting import Event
from ..controller import fence_and_elect
from ..elr import ask_for_recovery
from ..fetching import fetch, respond
from ..invariants import Violation
from ..leading import append, join_and_shrink
from ..log import Log
from ..partition import NO_LEADER, Replica
from ..truncation import log_ends
from . import copy_pool, copying, election, expiry, following, retention
from .invariants import Watch
from .lineage import is_in_lineage
from .partition import BEFORE_THE_RUN, TieredPartition
from .store import CopyBudget

TIER_COUNTERS = (
    "remote_copy_requests", "remote_copy_bytes", "remote_copied_again_bytes", "remote_copy_errors", "remote_delete_requests",
    "remote_delete_errors", "remote_deleted_bytes", "local_deleted_bytes", "moved_to_tiered_storage", "aux_state_requests",
    "aux_state_errors", "aux_state_downloads",
)  # fmt: skip


@dataclass
class Result:
    """What happened: rows are dicts with the columns of design.md section 7, `coverage` counts branches."""

    trace: list[dict[str, Any]]
    trace_partitions: list[dict[str, Any]]
    remote_segments: list[dict[str, Any]]
    outcomes: dict[str, Any]
    events: list[Event]
    coverage: Counter[str]
    violations: list[Violation]
    logs: dict[int, Log]


def simulate(case: Mapping[str, Any], watch: bool = False, trace: bool = True) -> Result:
    """Simulate rounds 0 to `rounds` - 1 of one partition; with `watch`, look for violations of the invariants.

    Without `trace` the tables `trace` and `trace_partitions` stay empty.
    """
    return simulate_together([case], watch, trace)[0]


def simulate_together(cases: Sequence[Mapping[str, Any]], watch: bool = False, trace: bool = True) -> list[Result]:
    """Simulate partitions whose brokers have their copy threads and quotas in common."""
    budgets: dict[int, CopyBudget] = {}
    runs = [Run(TieredPartition(case, number, budgets), watch, trace) for number, case in enumerate(cases)]
    for now in range(cases[0]["rounds"]):
        for run in runs:
            run.partition.now = now
        play_rounds([run.partition for run in runs])
        for run in runs:
            run.look()
    return [run.result() for run in runs]


class Run:
    """One partition, and the rows of the rounds so far."""

    def __init__(self, partition: TieredPartition, watch: bool, traced: bool) -> None:
        assert partition.protocol == "kafka"
        self.traced = traced
        self.partition = partition
        self.observer = Watch(partition) if watch else None
        self.violations: list[Violation] = []
        self.trace: list[dict[str, Any]] = []
        self.trace_partitions: list[dict[str, Any]] = []

    def play(self, now: int) -> None:
        """Play a round of this partition alone."""
        self.partition.now = now
        play_rounds([self.partition])
        self.look()

    def look(self) -> None:
        """What came of the round."""
        partition = self.partition
        if partition.deleted:
            return
        if self.observer is not None:
            self.violations += self.observer.look()
        if not self.traced:
            return
        self.trace += [trace_row(partition, partition.replicas[broker]) for broker in sorted(partition.replicas)]
        self.trace_partitions.append(kafka.partition_row(partition))

    def result(self) -> Result:
        return result_of(self.partition, self.trace, self.trace_partitions, self.violations)


def result_of(
    partition: TieredPartition,
    trace: list[dict[str, Any]],
    trace_partitions: list[dict[str, Any]],
    violations: list[Violation],
) -> Result:
    """What became of a partition after the last round, with the rows of the rounds."""
    counts = {name: partition.ledger.counts[name] for name in TIER_COUNTERS}
    logs = {broker: replica.log for broker, replica in partition.replicas.items()}
    return Result(
        trace,
        trace_partitions,
        remote_segment_rows(partition),
        {**kafka.outcomes(partition), **counts, "remote_list_requests": list_requests(partition)},
        partition.ledger.events,
        partition.coverage,
        violations,
        logs,
    )


def play_rounds(partitions: Sequence[TieredPartition]) -> None:
    """One round of partitions on the same brokers; the steps are those of docs/tiered_rounds.md."""
    hw_at_start: dict[int, Mapping[int, int]] = {}
    for partition in partitions:
        if not partition.deleted:
            _take_inputs(partition)
        if not partition.deleted:
            hw_at_start[partition.number] = kafka.high_watermarks(partition)
            _replicate(partition, hw_at_start[partition.number])
            _begin_tier(partition)
    copy_pool.run_copy_tasks([partition for partition in partitions if not partition.deleted])
    for partition in partitions:
        if not partition.deleted:
            _end_tier(partition)
            election.report_all(partition)
            kafka.checkpoint_and_flush(partition)
            kafka.count_outcomes(partition)
            kafka.count_waiting(partition, hw_at_start[partition.number])
        expiry.delete_partition(partition)


def _take_inputs(partition: TieredPartition) -> None:
    """Step 1: what the plain round does, and what comes over the remote storage."""
    kafka.take_inputs(partition)
    expiry.watch_disabling(partition)
    copying.forget_on_restart(partition)
    partition.read_metadata()
    commands = partition.case.get("commands", [])
    if any(command["round"] == partition.now and command["kind"] == "delete_topic" for command in commands):
        _delete_topic(partition)


def _delete_topic(partition: TieredPartition) -> None:
    """Every replica's log goes, and then the remote data."""
    expiry.mark_partition(partition)
    for replica in partition.replicas.values():
        replica.log.restart_at(replica.log.leo)
        replica.hw, replica.leading_epoch = replica.log.leo, None
    controller = partition.controller
    controller.leader, controller.isr, controller.elr = NO_LEADER, set(), set()
    partition.deleted = True
    partition.ledger.event(partition.now, "topic_deleted", NO_LEADER, controller.epoch)


def _replicate(partition: TieredPartition, hw_at_start: Mapping[int, int]) -> None:
    """Steps 2 to 8."""
    ends_at_start = log_ends(partition)
    fence_and_elect(partition)
    partition.pin_transactions()
    append(partition)
    ask_for_recovery(partition)
    answers = fetch(partition, ends_at_start)
    join_and_shrink(partition, hw_at_start)
    respond(partition, answers, hw_at_start)
    following.build(partition)
    kafka.learn(partition)
    following.forget_stale(partition)


def _begin_tier(partition: TieredPartition) -> None:
    """Step 9, the remote log manager of each broker: what comes before copies."""
    copying.follow_truncation(partition)
    copying.assign_duties(partition)
    expiry.run_expiry_tasks(partition)


def _end_tier(partition: TieredPartition) -> None:
    """What comes after them, then local retention."""
    copying.run_follower_tasks(partition)
    copying.count_listing(partition)
    retention.delete_old_segments(partition)


def list_requests(partition: TieredPartition) -> int:
    """LIST requests for metadata: one in every interval of a broker's tasks, and one for each question of a follower."""
    if partition.store.metadata != "list":
        return 0
    asked = 0 if partition.store.aux_state == "leader" else partition.ledger.counts["aux_state_requests"]
    round_ms = partition.settings.round_ms
    interval_ms = max(partition.settings.task_interval_ms, round_ms)
    return asked + sum(rounds * round_ms // interval_ms for rounds in partition.listing_rounds.values())


def trace_row(partition: TieredPartition, replica: Replica) -> dict[str, Any]:
    """One row of the table `trace`; what only a leader is asked for is null on others."""
    tier, log = partition.tier_of(replica.broker), partition.log_of(replica)
    row = kafka.trace_row(partition, replica)
    offsets: dict[str, int | None] = dict.fromkeys(LIST_OFFSETS)
    if row["role"] == "leader":
        offsets = list_offsets(partition, replica)
    return {
        **row,
        "fetch_state": partition.fetch_states.get(replica.broker),
        "local_segments": [segment.base_offset for segment in log.segments],
        "local_bytes": log.size_bytes,
        "highest_remote_offset": tier.highest_remote,
        **offsets,
    }


LIST_OFFSETS = {
    "latest_offset": -1,
    "earliest_offset": -2,
    "max_timestamp_offset": -3,
    "earliest_local_offset": -4,
    "latest_tiered_offset": -5,
    "earliest_pending_upload_offset": -6,
}
"""The columns of what ListOffsets answers, and the timestamps that ask for them."""


def list_offsets(partition: TieredPartition, leader: Replica) -> dict[str, int | None]:
    """What a leader answers to each special timestamp of ListOffsets; -1 for what there is not."""
    log, tier = partition.log_of(leader), partition.tier_of(leader.broker)
    newest = max((record.batch[0] for record in log.records), default=None)
    newest_offsets = [record.offset for record in log.records if record.batch[0] == newest]
    is_tiered = partition.settings.is_tiered
    pending = following.earliest_pending_upload(partition, leader) if is_tiered else None
    return {
        "latest_offset": leader.hw,
        "earliest_offset": log.log_start,
        "max_timestamp_offset": newest_offsets[0] if newest_offsets else -1,
        "earliest_local_offset": log.local_log_start,
        "latest_tiered_offset": tier.highest_remote if is_tiered else -1,
        "earliest_pending_upload_offset": -1 if pending is None else pending,
    }


def remote_segment_rows(partition: TieredPartition) -> list[dict[str, Any]]:
    """The table `remote_segments`: one row per attempt; in_lineage by the log of T, or of the last one there was."""
    leader = partition.client_leader
    return [
        {
            "segment": segment.id,
            "base_offset": segment.base_offset,
            "end_offset": segment.end_offset,
            "epochs": [list(entry) for entry in segment.epochs],
            "checkpoint": [list(entry) for entry in segment.checkpoint],
            "bytes": segment.size_bytes,
            "stored_bytes": segment.stored_bytes,
            "state": segment.state,
            "broker": segment.broker,
            "leader_epoch": segment.leader_epoch,
            "started_round": segment.started_round,
            "copied_round": None if segment.copied_round == BEFORE_THE_RUN else segment.copied_round,
            "deleted_round": segment.deleted_round,
            "in_lineage": leader is not None
            and is_in_lineage(segment.epochs, segment.end_offset, leader.log.cache.entries, leader.log.leo),
        }
        for segment in partition.segments
    ]
