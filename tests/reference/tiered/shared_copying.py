"""Partitions whose brokers' copies flow side by side, as docs/tiered_rounds.md has them beyond 50,000.

    simulate_sharing(cases, window_rounds, changes) -> ([Result], edges at which a budget was used up)

Unlike simulate_together, where whole segments take turns: at quota edges every copy gets a share of what its broker may copy.

Choice where the page is silent: a leader that restarts in the edge's round has forgotten that it leads.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..broker_status import covers
from ..partition import Replica
from .copying import candidate_segments
from .partition import TieredPartition
from .settings import TieredSettings
from .simulate import Result, Run
from .store import copy_bytes

UNLIMITED = float("inf")
MOST_COPY_BYTES = 2**50


@dataclass
class Copier:
    """Who copies: its partition and broker, and what it asks for in bytes per round."""

    partition: TieredPartition
    broker: int
    demand: int


def simulate_sharing(
    cases: Sequence[Mapping[str, Any]], window_rounds: int, changes: Sequence[int]
) -> tuple[list[Result], list[int]]:
    """Simulate partitions on the same brokers; `changes`: rounds in which an input of them changes."""
    partitions = [TieredPartition(case, number, {}) for number, case in enumerate(cases)]
    runs = [Run(partition, watch=True, traced=True) for partition in partitions]
    edge, window, short_edges = 0, window_rounds, []
    for now in range(cases[0]["rounds"]):
        if now == edge:
            is_short = share_out(partitions, now, window_rounds)
            short_edges += [now] if is_short else []
            edge, window = next_edge(now, window, is_short, window_rounds, changes)
        for run in runs:
            run.play(now)
    return [run.result() for run in runs], short_edges


def next_edge(now: int, window: int, is_short: bool, unit: int, changes: Sequence[int]) -> tuple[int, int]:
    """The next edge, and how long the window after it is."""
    length = unit if is_short else window
    edge = now + length
    later = [change for change in changes if change > now]
    if later:
        at_change = now + unit
        while at_change % unit or at_change < later[0]:
            at_change += 1
        edge = min(edge, at_change)
    begins_anew = is_short or (bool(later) and edge >= later[0])
    return edge, unit if begins_anew else 2 * length


def share_out(partitions: Sequence[TieredPartition], now: int, window_rounds: int) -> bool:
    """Set what each copy may move a round until the next edge. Returns whether a broker's budget is used up."""
    for partition in partitions:
        partition.now = now
    copiers = [one for partition in partitions for one in copiers_of(partition, window_rounds)]
    settings = settings_of(partitions[0])
    brokers = sorted({broker for partition in partitions for broker in partition.case["brokers"]})
    own = {broker: [one for one in copiers if one.broker == broker] for broker in brokers}
    compete = {broker: ones for broker, ones in own.items() if len(ones) > 1}
    rate = store_bytes(partitions[0])
    budgets = {}
    for broker in compete:
        quota = settings.copy_quota_bytes_per_second(broker)
        per_round = UNLIMITED if quota is None else quota * settings.round_ms / 1000
        threads = UNLIMITED if rate is None else float(settings.copy_threads(broker) * rate)
        budgets[broker] = min(per_round, threads)
    parts = rise_together(budgets, {broker: sum(one.demand for one in ones) for broker, ones in compete.items()})
    for partition in partitions:
        partition.copy_shares = dict.fromkeys(parts, 1)
    for broker, part in parts.items():
        for one in own[broker]:
            one.partition.copy_shares[broker] = max(1, int(one.demand * part))
    return bool(parts)


def rise_together(budgets: Mapping[int, float], demands: Mapping[int, int]) -> dict[int, float]:
    """By broker whose budget is used up, the part of its demands at which it stays where all rise together from 0 to 1."""
    left, level, parts = dict(budgets), 0.0, {}
    rising = {broker for broker, demand in demands.items() if demand > 0}
    while rising:
        step = min([1.0 - level, *(left[broker] / demands[broker] for broker in rising)])
        level += step
        if level >= 1.0:
            break
        for broker in sorted(rising):
            left[broker] = max(left[broker] - step * demands[broker], 0.0)
            if left[broker] <= 1e-9 * max(budgets[broker], 1.0):
                parts[broker] = level
                rising.remove(broker)
    return parts


def copiers_of(partition: TieredPartition, window_rounds: int) -> list[Copier]:
    """Who copies at an edge, before the round."""
    if partition.deleted:
        return []
    found, settings = [], settings_of(partition)
    before = partition.settings
    partition.settings = settings
    for replica in partition.replicas.values():
        under_way = partition.tier_of(replica.broker).copy
        if leads(partition, replica) and settings.copies or under_way is not None:
            appends = appended(partition) if leads(partition, replica) and replica is partition.client_leader else 0
            wanted = -(-backlog(partition, replica) // window_rounds) + appends
            most = store_bytes(partition)
            found.append(Copier(partition, replica.broker, min(wanted, MOST_COPY_BYTES if most is None else most)))
    partition.settings = before
    return found


def leads(partition: TieredPartition, replica: Replica) -> bool:
    """Whether a replica runs and knows that it leads."""
    status = partition.status(replica.broker)
    return replica.leading_epoch is not None and bool(status.running) and not status.restarted


def backlog(partition: TieredPartition, replica: Replica) -> int:
    """Bytes that its copy task could move at once, less those that it has moved already."""
    tier = partition.tier_of(replica.broker)
    if tier.copy is not None and tier.copy.orphaned:
        return tier.copy.left_bytes
    copied = tier.highest_remote if tier.copied is None else tier.copied
    candidates = candidate_segments(partition, replica, max(copied + 1, replica.log.log_start))
    moved = 0 if tier.copy is None else tier.copy.segment.size_bytes - tier.copy.left_bytes
    return max(0, sum(segment.size_bytes for segment in candidates) - moved)


def settings_of(partition: TieredPartition) -> TieredSettings:
    """The settings in force in the round, which it has not begun with."""
    settings = copy.deepcopy(partition.settings)
    for command in partition.case["commands"]:
        if command["round"] == partition.now and command["kind"] == "alter_config":
            settings.alter(command)
    return settings


def store_bytes(partition: TieredPartition) -> int | None:
    """What one copy moves in the round, None: as much as it likes."""
    return copy_bytes(partition.store.copy_bytes_per_second, partition.faults, partition.now, partition.settings.round_ms)


def appended(partition: TieredPartition) -> int:
    """Bytes that the workload appends in the round."""
    rows = [row for row in partition.case["workload"] if covers(row, partition.now)]
    return sum(row["records_per_round"] * row["record_bytes"] for row in rows)
