"""What proves that quiet rounds go on alike: each round's records against those of the round before.

A round is quiet that changes nothing but counters. Two in a row that move them by equal amounts prove a drift. It stands until
something changes that counters depend on (`compared`); after any other change (`apart`), and after one round that moved counters
otherwise (a time bucket ends), one round shows that it goes on: everything that is late by some rounds in a partition is late in
its counters, and would be seen. What fields do in a leap is said where they are declared (rounds/records.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.tier.records import TierPartition, TierReplica
from emulator.rounds.records import APART, COMPARED, COUNTER, DUE, FLOW, kinds_of
from emulator.rounds.slots import MAX_SLOTS

CHANGED, CHANGED_APART, MOVED_OTHERWISE = 1, 2, 4
"""What a look finds: bits."""
UNPROVEN, SEEN_ONCE, PROVEN = range(3)
"""What is known of a drift: nothing, that of the round before, that it goes on."""


IF_COMPARED, IF_APART, IF_COUNTER, IF_MOVING = range(4)
"""Rows of a record's masks."""


def masks_of(kinds: list[int]) -> np.ndarray:
    """The words of a record, by what a change of them means: in each row -1 where it does, else 0."""
    words, meant = np.array(kinds, np.int64), ((COMPARED,), (APART, DUE), (COUNTER,), (COUNTER, FLOW))
    return np.stack([-np.isin(words, row).astype(np.int64) for row in meant])


def dues_of(kinds: list[int]) -> np.ndarray:
    """The places of words that are `due`."""
    return np.flatnonzero(np.array(kinds) == DUE).astype(np.int64)


class Probe(NamedTuple):
    """Words of the round before and drifts: of a partition, its replicas by slot, and what both have of tiered storage."""

    part: np.ndarray
    part_drift: np.ndarray
    replicas: np.ndarray
    drifts: np.ndarray
    tier: np.ndarray
    tier_drift: np.ndarray
    tiers: np.ndarray
    tier_drifts: np.ndarray
    # By slot: of its tasks, and of what it builds, the rounds from run to run, and what a run counts
    paces: np.ndarray


def new_probe() -> Probe:
    """Arrays for one partition."""
    part, replica, tier, tier_replica = (len(kinds_of(r)) for r in (Partition, Replica, TierPartition, TierReplica))
    return Probe(
        part=np.zeros(part, np.int64),
        part_drift=np.zeros(part, np.int64),
        replicas=np.zeros((MAX_SLOTS, replica), np.int64),
        drifts=np.zeros((MAX_SLOTS, replica), np.int64),
        tier=np.zeros(tier, np.int64),
        tier_drift=np.zeros(tier, np.int64),
        tiers=np.zeros((MAX_SLOTS, tier_replica), np.int64),
        tier_drifts=np.zeros((MAX_SLOTS, tier_replica), np.int64),
        paces=np.zeros((MAX_SLOTS, PACES), np.int64),
    )


COPY_PACE, EXPIRY_PACE, FOLLOWER_PACE, BUILD_PACE = range(4)
"""Places in a row of `paces`: rounds from run to run, 0: it does not run."""
COPY_FAILS, EXPIRY_FAILS, FOLLOWER_FAILS, BUILD_ASKS, BUILD_FAILS = range(4, 9)
"""1: every run counts a failure, or a question."""
PACES = 9


@compiled_into_callers
def look_at(masks: np.ndarray, words: np.ndarray, before: np.ndarray, drift: np.ndarray) -> int:
    """What the round changed in a record: bits."""
    changed = changed_apart = otherwise = 0
    for word in range(len(before)):
        moved = words[word] - before[word]
        changed |= moved & masks[IF_COMPARED, word]
        changed_apart |= moved & masks[IF_APART, word]
        otherwise |= (moved ^ drift[word]) & masks[IF_COUNTER, word]
    return (CHANGED if changed else 0) | (CHANGED_APART if changed_apart else 0) | (MOVED_OTHERWISE if otherwise else 0)


@compiled_into_callers
def take_drift(words: np.ndarray, before: np.ndarray, drift: np.ndarray) -> None:
    """Note by how much everything moved since `before`."""
    for word in range(len(before)):
        drift[word] = words[word] - before[word]


@compiled
def move(masks: np.ndarray, words: np.ndarray, drift: np.ndarray, rounds: int) -> None:
    """Counters after so many more rounds."""
    for word in range(len(drift)):
        words[word] += rounds * (drift[word] & masks[IF_MOVING, word])


@compiled
def earliest_due(dues: np.ndarray, words: np.ndarray, now: int, due: int) -> int:
    """The first round to come that a record tells of, `due` if none comes earlier."""
    for at in range(len(dues)):
        if words[dues[at]] >= now:
            due = min(due, words[dues[at]])
    return due


@compiled_into_callers
def judge(found: int, proven: int, is_odd: bool) -> tuple[int, bool, bool]:
    """What is known of a drift after a look at all records.

    Returns (UNPROVEN, SEEN_ONCE or PROVEN; whether the last round, of a proven drift, moved otherwise; whether the drift is to be
    taken anew from this round).
    """
    if found & CHANGED:
        return UNPROVEN, False, False
    if found & CHANGED_APART:
        return PROVEN if proven == PROVEN else UNPROVEN, is_odd, False
    if found & MOVED_OTHERWISE:
        if proven == PROVEN and not is_odd:
            return PROVEN, True, False
        return SEEN_ONCE, False, True
    return SEEN_ONCE if proven == UNPROVEN else PROVEN, False, True
