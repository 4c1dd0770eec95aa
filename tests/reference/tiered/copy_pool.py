"""The copier threads of a broker, task by task: who runs, for how much of a round, who waits (RLMScheduledThreadPool, KIP-956).

Choices where docs/tiered_rounds.md is silent:

* Where two brokers copy for one partition in one round (a leader and who led before it), the pool comes first whose broker is
  named first by partitions and their replicas in order: of one partition alone its replicas' order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..partition import Replica
from . import copying
from .partition import LEADER, Tier, TieredPartition
from .store import copy_bytes

ROUND = 1_000_000
"""A round of a thread, in millionths."""


@dataclass
class PoolTask:
    """A task that has a copy under way, or is due."""

    partition: TieredPartition
    replica: Replica
    tier: Tier
    due: int
    holds: bool
    round_bytes: int | None

    @property
    def place(self) -> tuple[int, int]:
        """In line: by when it was due, or began its last segment if that is later; then partitions in their order."""
        began = self.partition.budget_of(self.replica.broker).last_begin(self.partition.number)
        return self.due if began is None else max(self.due, began), self.partition.number


def run_copy_tasks(partitions: Sequence[TieredPartition]) -> None:
    """One round of all brokers' pools."""
    tasks = [task for partition in partitions for task in _tasks_of(partition)]
    for broker in dict.fromkeys(task.replica.broker for task in tasks):
        _run_pool([task for task in tasks if task.replica.broker == broker], broker)


def _tasks_of(partition: TieredPartition) -> list[PoolTask]:
    found = []
    for replica in partition.replicas.values():
        tier = partition.tier_of(replica.broker)
        if not partition.status(replica.broker).running:
            continue
        holds = tier.copy is not None
        if tier.copy is not None and not tier.copy.orphaned and not partition.settings.copies:
            copying.cancel(partition, replica, tier)
        due = tier.copy_task.next_round
        if holds or (tier.duty == LEADER and partition.now >= due):
            found.append(PoolTask(partition, replica, tier, due, holds, _round_bytes(partition)))
    partition.coverage["two_copiers"] += len(found) > 1
    return found


def _round_bytes(partition: TieredPartition) -> int | None:
    """What one copy moves in the round, None: copies take no time, and need no thread."""
    return copy_bytes(partition.store.copy_bytes_per_second, partition.faults, partition.now, partition.settings.round_ms)


def _run_pool(tasks: list[PoolTask], broker: int) -> None:
    threads = tasks[0].partition.settings.copy_threads(broker)
    waiting = [task for task in tasks if not task.holds and not _has_nothing_to_do(task)]
    ready = [task for task in tasks if task.holds] + [task for task in waiting if task.round_bytes is None]
    free = max(0, threads - sum(task.round_bytes is not None for task in ready))
    queue = sorted((task for task in waiting if task.round_bytes is not None), key=lambda task: task.place)
    ready, queue = [*ready, *queue[:free]], queue[free:]
    until: list[int] = []  # of each thread, when it is done with its task
    for task in sorted(ready, key=lambda task: task.place):
        moved, is_done = copying.run(task.partition, task.replica, task.tier, task.round_bytes)
        if task.round_bytes is not None:
            until.append(_millionths(moved, task.round_bytes) if is_done else ROUND)
    until += [0] * (threads - len(until))
    while len(until) > threads:  # the pool was made smaller: who is done first is not replaced
        until.remove(min(until))
    for task in queue:
        assert task.round_bytes is not None
        begin = min(until, default=ROUND)
        left = task.round_bytes * (ROUND - begin) // ROUND
        if begin >= ROUND or (left == 0 and task.round_bytes > 0):
            task.partition.coverage["copy_queued"] += 1
            continue
        moved, is_done = copying.run(task.partition, task.replica, task.tier, left)
        if moved or not is_done:
            until.remove(begin)
            until.append(min(ROUND, begin + _millionths(moved, task.round_bytes)) if is_done else ROUND)


def _has_nothing_to_do(task: PoolTask) -> bool:
    """Whether the run is over without a copy; else nothing has happened."""
    _, is_done = copying.run(task.partition, task.replica, task.tier, 0, has_thread=False)
    return is_done


def _millionths(moved_bytes: int, round_bytes: int) -> int:
    """The part of a round that moving so much takes, rounded up."""
    return 0 if moved_bytes == 0 else (moved_bytes * ROUND + round_bytes - 1) // round_bytes
