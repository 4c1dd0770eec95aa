"""Simulates one Kafka partition round by round, in the order of docs/kafka_rounds.md: `kafka` (KIP-320) and its variants.

    simulate(case) -> Result

A case is plain data:

    {"rounds", "round_ms", "session_timeout_rounds", "brokers": [ids], "racks": {id: rack}, "config": {...},
     "topic_config": {...}, "replicas": [broker ids], "workload": [rows in file order], "faults": [rows],
     "commands": [rows], "initial": optional {"leader", "leader_epoch", "isr", "elr", "replicas": {broker: {"log_start_offset",
     "leo", "hw", "epochs", "flushed_offset", "record_bytes"}}}, "protocol": optional, one of "kafka" (default),
     "kafka-high-watermark", "kafka-kip101", "kafka-kip279", "rules": optional Rules (rules.py; REAL if absent),
     "features": optional {"eligible.leader.replicas.version": 0 or 1}}

choices
-------
Where the page is silent the most natural reading was taken. Each module lists its own under the same words ("Choices
where ..."): broker_status (faults), log (truncation, segments), settings (lookup), partition (belief and roles),
controller (elections and commands), elr (eligible leader replicas), leading (append, ISR, high watermark), fetching
(requests and responses), truncation (the variants), rules (the mutants), accounting (what is counted). Of this module:

* power_loss keeps max(log start, min(LEO, flushed)), and cuts the epoch cache there also when no record is lost; the
  HW falls with it. disk_loss leaves (0, 0, 0) and an empty cache, nothing flushed, no credit.
* A restarted HW is max(log start, min(checkpoint, LEO)).
* alter_config and delete_records don't need the controller.
* A leader told at the end of a round is told only if the controller's leader is still itself, or by late news.
* What replicas learn at the end of a round they learn also while the controller is down.
* The trace holds assigned replicas, added ones included from the round of their command on; remote_leo of a follower
  is null from an election on until its first noted fetch, and what T knew stays while there is no leader.
* The trace of a variant has `fetch_state` too (fetching.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import invariants
from .accounting import Event
from .controller import fence_and_elect
from .elr import ask_for_recovery, forget_elr
from .fetching import fetch, keep_late_responses, respond
from .last_moments import play_last_moments
from .leading import append, join_and_shrink, records_due
from .log import Log
from .partition import Partition, Replica
from .rules import REAL
from .truncation import begin_to_follow, log_ends, start_truncating

Case = Mapping[str, Any]


@dataclass
class Result:
    """What happened: rows are dicts with the columns of design.md section 7, `coverage` counts branches.

    `violations` is empty unless they were watched for; `logs` are the replicas' at the end.
    """

    trace: list[dict[str, Any]]
    trace_partitions: list[dict[str, Any]]
    outcomes: dict[str, Any]
    events: list[Event]
    coverage: Counter[str]
    violations: list[invariants.Violation]
    logs: dict[int, Log]


def simulate(case: Case, watch: bool = False, trace: bool = True) -> Result:
    """Simulate rounds 0 to `rounds` - 1 of one partition.

    At the end of each round `kafka` asserts what must hold after anything that can happen (`invariants.check`); a
    variant or a mutant does not. With `watch` all of them tell the violations of docs/invariants.md. Without `trace` the
    tables `trace` and `trace_partitions` stay empty.
    """
    partition = Partition(case)
    start_truncating(partition)
    observer = invariants.Watch(partition)
    violations: list[invariants.Violation] = []
    rows: list[dict[str, Any]] = []
    rows_of_partition: list[dict[str, Any]] = []
    for now in range(case["rounds"]):
        partition.now = now
        play_round(partition)
        if partition.protocol == "kafka" and partition.rules == REAL:
            invariants.check(partition)
        if watch:
            violations += observer.look()
        if trace:
            rows += [trace_row(partition, partition.replicas[broker]) for broker in sorted(partition.replicas)]
            rows_of_partition.append(partition_row(partition))
    logs = {broker: replica.log for broker, replica in partition.replicas.items()}
    return Result(rows, rows_of_partition, outcomes(partition), partition.ledger.events, partition.coverage, violations, logs)


def play_round(partition: Partition) -> None:
    """One round; the steps are those of docs/kafka_rounds.md."""
    take_inputs(partition)
    play_after_inputs(partition)


def play_after_inputs(partition: Partition) -> None:
    """Steps 2 to 10."""
    hw_at_start = high_watermarks(partition)
    ends_at_start = log_ends(partition)
    fence_and_elect(partition)
    append(partition)
    ask_for_recovery(partition)
    answers = fetch(partition, ends_at_start)
    join_and_shrink(partition, hw_at_start)
    respond(partition, answers, hw_at_start)
    learn(partition)
    checkpoint_and_flush(partition)
    count_outcomes(partition)
    count_waiting(partition, hw_at_start)


def high_watermarks(partition: Partition) -> Mapping[int, int]:
    """Those of all replicas; of one that a reassignment of this round adds, which may lead at once, 0."""
    return defaultdict(int, {broker: replica.hw for broker, replica in partition.replicas.items()})


def take_inputs(partition: Partition) -> None:
    """Step 1: settings of this round, damage, clean stops and restarts."""
    for command in partition.case.get("commands", []):
        if command["round"] == partition.now and command["kind"] == "alter_config":
            partition.settings.alter(command)
            if command.get("broker") is None and "min.insync.replicas" in command["config"]:
                forget_elr(partition)
    play_last_moments(partition)
    partition.damaged = []
    for replica in partition.replicas.values():
        status = partition.status(replica.broker)
        leo = replica.log.leo
        if replica is partition.client_leader and (status.power_loss or status.disk_loss):
            kept = 0 if status.disk_loss else replica.log.flushed
            partition.ledger.damaged[:0] = replica.log.whole(kept)
        if status.power_loss:
            partition.coverage["power_loss_cut"] += replica.log.lose_unflushed() > 0
            replica.lower_hw(replica.hw)
        if status.disk_loss:
            replica.log = partition.empty_log()
            replica.hw = replica.checkpoint = replica.credit_bytes = 0
            partition.coverage["disk_loss"] += 1
        if replica.log.leo < leo:
            partition.damaged.append((replica.broker, leo, replica.log.leo))
        if status.clean_stop:
            replica.checkpoint = replica.hw
            replica.log.flushed = replica.log.leo
            partition.coverage["clean_stop"] += 1
        if status.restarted:
            replica.lower_hw(replica.checkpoint)
            replica.leading_epoch = None
            replica.believed_leader, replica.believed_epoch = partition.controller.leader, partition.controller.epoch
            replica.late_response = None
            if partition.leadership is not None and replica.broker in partition.leadership.pending_joins:
                partition.leadership.asked_in_vain = True  # KIP-903: it asked to join as another broker
            begin_to_follow(partition, replica)
            partition.coverage["restart"] += 1


def learn(partition: Partition) -> None:
    """Step 8: whoever hears learns what the controller says, or said; who leads by that leads, the others follow."""
    controller, leadership = partition.controller, partition.leadership
    partition.announced.append((controller.leader, controller.epoch))
    heard = {replica.broker: partition.news_for(replica) for replica in partition.replicas.values()}
    news = {broker: told for broker, told in heard.items() if told is not None}
    if not partition.rules.response_in_leader_epoch:
        keep_late_responses(partition, news)
    for broker, (leader, epoch) in news.items():
        replica = partition.replicas[broker]
        partition.coverage["late_news"] += partition.is_deaf(broker)
        is_new = (replica.believed_leader, replica.believed_epoch) != (leader, epoch)
        replica.believed_leader, replica.believed_epoch = leader, epoch
        if leader != broker:
            partition.coverage["zombie_stepped_down"] += replica.leading_epoch is not None
            replica.leading_epoch = None
            if is_new:
                begin_to_follow(partition, replica)
        elif leadership is not None and (leadership.broker, leadership.epoch) == (broker, epoch):
            if replica.leading_epoch != epoch:
                partition.tell_leadership(replica, leadership)
                partition.coverage["late_leader"] += 1
                partition.coverage["late_leader_by_late_news"] += partition.is_deaf(broker)
        else:
            partition.take_lead(replica, epoch)
            partition.coverage["superseded_leader_by_late_news"] += 1
    if leadership is not None and not partition.is_deaf(leadership.broker):
        leadership.known_isr = set(controller.isr)


def checkpoint_and_flush(partition: Partition) -> None:
    """Step 9: in rounds in which they are due, running replicas write the HW checkpoint and flush."""
    settings, now = partition.settings, partition.now
    checkpoints = settings.is_due(now, settings.checkpoint_ms)
    flushes = settings.flush_ms is not None and settings.is_due(now, settings.flush_ms)
    for replica in partition.replicas.values():
        if not partition.status(replica.broker).running:
            continue
        if checkpoints:
            replica.checkpoint = replica.hw
        if flushes:
            replica.log.flushed = replica.log.leo


def count_outcomes(partition: Partition) -> None:
    """Step 10: rounds without a serving leader, under the minimum ISR, under-replicated."""
    working = partition.working_leader()
    serves = working is not None and not partition.status(working[0].broker).clients_cut
    counts, isr_size = partition.ledger.counts, len(partition.controller.isr)
    counts["leaderless_rounds"] += not serves
    counts["under_min_isr_rounds"] += isr_size < partition.min_insync_replicas
    counts["under_replicated_rounds"] += isr_size < len(partition.controller.replicas)
    _note_logs_of_isr_changes(partition)
    for broker, leo, kept in partition.damaged:
        replica = partition.replicas.get(broker)  # None, or without an epoch: a reassignment dropped it
        epoch = None if replica is None or replica.believed_epoch < 0 else replica.believed_epoch
        partition.ledger.event(partition.now, "log_damaged", broker, epoch, leo, kept, partition.cause_of(broker))


def count_waiting(partition: Partition, hw_at_start: Mapping[int, int]) -> None:
    """Step 10: rounds in which something waits and nothing is acknowledged; what waits at the end of each.

    What is appended in this round is acknowledged in the next one at the earliest: so only what waited before it counts.
    """
    counts, working = partition.ledger.counts, partition.working_leader()
    rows, round_ms = partition.case.get("workload", []), partition.case["round_ms"]
    due_of = [(row, records_due(row, partition.now, round_ms)) for row in rows]
    due = sum(records for _, records in due_of)
    taken = counts["appended"] - partition.appended_before
    acks = working is not None and working[1].hw > hw_at_start[working[1].broker]
    most = partition.settings.max_message_bytes
    on_append = sum(records for row, records in due_of if str(row["acks"]) != "all" and row["record_bytes"] <= most)
    acks = acks or partition.taken_on_append > 0
    waits = partition.unacked > 0 or due > taken
    counts["unwritable_rounds"] += waits and not acks
    last = partition.client_leader
    partition.unacked = 0 if on_append > 0 or last is None else max(last.log.leo - last.hw, 0)
    counts["unacked_rounds"] += partition.unacked
    partition.appended_before = counts["appended"]


def _note_logs_of_isr_changes(partition: Partition) -> None:
    """Events of brokers that left or joined the ISR in this round have their log's start and end at its end."""
    events = partition.ledger.events
    for at in range(len(events) - 1, -1, -1):
        event = events[at]
        if event.round < partition.now:
            break
        if event.kind in ("isr_shrink", "isr_expand"):
            replica = partition.replicas.get(event.broker)  # None: a reassignment dropped it, and its log
            log_start, leo = (0, 0) if replica is None else (replica.log.log_start, replica.log.leo)
            events[at] = event._replace(from_offset=log_start, to_offset=leo)


def trace_row(partition: Partition, replica: Replica) -> dict[str, Any]:
    """One row of the table `trace`."""
    progress = None if partition.leadership is None else partition.leadership.progress.get(replica.broker)
    leads = "leader" if replica.leading_epoch is not None else "follower"
    own = {} if partition.protocol == "kafka" else {"fetch_state": partition.fetch_states.get(replica.broker)}
    return {
        **own,
        "round": partition.now,
        "broker": replica.broker,
        "role": "offline" if partition.status(replica.broker).offline else leads,
        "leader_epoch": replica.believed_epoch,
        "log_start_offset": replica.log.log_start,
        "local_log_start_offset": replica.log.local_log_start,
        "leo": replica.log.leo,
        "hw": replica.hw,
        "remote_leo": None if progress is None else progress.remote_leo,
        "in_isr": replica.broker in partition.controller.isr,
        "epochs": [list(entry) for entry in replica.log.cache.entries],
    }


def partition_row(partition: Partition) -> dict[str, Any]:
    """One row of the table `trace_partitions`."""
    controller = partition.controller
    return {
        "round": partition.now,
        "leader": controller.leader,
        "leader_epoch": controller.epoch,
        "isr": sorted(controller.isr),
        "elr": sorted(controller.elr),
        "last_known_elr": sorted(controller.last_known_elr),
    }


def outcomes(partition: Partition) -> dict[str, Any]:
    """The partition's row of the table `outcomes`."""
    last = partition.client_leader or Replica(broker=-1)
    controller = partition.controller
    return {
        **partition.ledger.outcomes(last.log),
        "leader": controller.leader,
        "leader_epoch": controller.epoch,
        "isr": sorted(controller.isr),
        "hw": last.hw,
        "leo": last.log.leo,
        "elr": sorted(controller.elr),
    }
