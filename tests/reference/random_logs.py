"""Random initial logs that one history could have left: tails diverge, but (epoch, offset) is always one record."""

from __future__ import annotations

import random
from typing import Any

Runs = list[tuple[int, int]]
"""A log as runs of records: (epoch, how many)."""


def random_initial(rng: random.Random, replicas: list[int]) -> dict[str, Any]:
    """Initial logs of all replicas: the first leads with the highest epoch, others follow, lag or diverge.

    Every branch has its own epochs. The ISR are the leader and some of those that have all below its high watermark.
    """
    leader_runs, epoch = _runs(rng, 0, 1)
    followers: dict[int, Runs] = {}
    for broker in replicas[1:]:
        runs = _prefix(leader_runs, rng.randint(0, _length(leader_runs)))
        if rng.random() < 0.4:
            # Its epochs are above those of the prefix, and nobody else's.
            tail, epoch = _runs(rng, epoch, 0)
            runs = runs + tail
        followers[broker] = runs
    leader_runs = [*leader_runs, (epoch, rng.randint(0, 4))]
    hw = rng.randint(0, _length(leader_runs))
    low = rng.choice((0, 0, rng.randint(0, hw)))
    shared = {broker: _common_length(runs, leader_runs) for broker, runs in followers.items()}
    record_bytes = rng.choice((1, 50, 400))
    logs = {replicas[0]: _as_initial(rng, leader_runs, low, hw, record_bytes)}
    for broker, runs in followers.items():
        if rng.random() < 0.12:
            # It fell out of range once and started anew at a log start, perhaps of a leader that is gone.
            at = rng.randint(0, _length(leader_runs) + 3)
            logs[broker] = {"log_start_offset": at, "leo": at, "hw": at, "epochs": [], "record_bytes": record_bytes}
            shared[broker] = -1
            continue
        its_hw = rng.randint(0, min(hw, shared[broker]))
        its_low = rng.choice((0, min(low, its_hw)))
        logs[broker] = _as_initial(rng, runs, its_low, its_hw, record_bytes)
    initial: dict[str, Any] = {"replicas": logs}
    if rng.random() < 0.6:
        isr = [replicas[0], *[broker for broker, same in shared.items() if same >= hw and rng.random() < 0.8]]
        initial |= {"leader": replicas[0], "leader_epoch": epoch, "isr": sorted(isr)}
    return initial


def _runs(rng: random.Random, epoch: int, least: int) -> tuple[Runs, int]:
    """Some runs with epochs from `epoch` on, and the next unused epoch."""
    runs: Runs = []
    for _ in range(rng.randint(max(least, 1), 3)):
        runs.append((epoch, rng.randint(least, 6)))
        epoch += rng.randint(1, 2)
    return runs, epoch


def _length(runs: Runs) -> int:
    return sum(count for _, count in runs)


def _prefix(runs: Runs, length: int) -> Runs:
    prefix: Runs = []
    for epoch, count in runs:
        if length == 0:
            break
        prefix.append((epoch, min(count, length)))
        length -= prefix[-1][1]
    return prefix


def _epochs_by_record(runs: Runs) -> list[int]:
    return [epoch for epoch, count in runs for _ in range(count)]


def _common_length(one: Runs, other: Runs) -> int:
    length = 0
    for mine, theirs in zip(_epochs_by_record(one), _epochs_by_record(other), strict=False):
        if mine != theirs:
            break
        length += 1
    return length


def _as_initial(rng: random.Random, runs: Runs, low: int, hw: int, record_bytes: int) -> dict[str, Any]:
    leo = _length(runs)
    start, epochs = 0, []
    for index, (epoch, count) in enumerate(runs):
        # An empty epoch keeps its entry only at the end of the log: the next one at the same offset replaces it.
        if count or index == len(runs) - 1:
            epochs.append([epoch, start])
        start += count
    known = [entry for entry in epochs if entry[1] <= low]
    if known:
        epochs = [[known[-1][0], low], *epochs[len(known) :]]
    log = {
        "log_start_offset": low,
        "leo": leo,
        "hw": hw,
        "epochs": epochs,
        "record_bytes": record_bytes,
    }
    if rng.random() < 0.4:
        log["flushed_offset"] = rng.randint(low, leo)
    return log
