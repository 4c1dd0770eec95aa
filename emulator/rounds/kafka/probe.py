"""What proves that quiet rounds go on alike: each round's records against those of the round before.

A round is quiet that changes nothing but counters. Two in a row that move them by equal amounts prove a drift. It stands until
something changes that counters depend on (`compared`); after any other change (`apart`), and after one round that moved counters
otherwise, one round shows that it goes on: everything that is late by some rounds in a partition is late in its counters, and
would be seen. Of what is `aside`, or begins anew (`restarts`), no round has to show that. What fields do in a leap is said where
they are declared (rounds/records.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.tier.records import TierPartition, TierReplica
from emulator.rounds.records import APART, ASIDE, COMPARED, COUNTER, DUE, FLOW, RESTARTS, kinds_of
from emulator.rounds.slots import MAX_SLOTS

CHANGED, CHANGED_APART, CHANGED_ASIDE, MOVED_OTHERWISE, RESTARTED = 1, 2, 4, 8, 16
"""What a look finds: bits."""
LETS_PASS = CHANGED_ASIDE | RESTARTED
"""Of these, those that are no obstacle to a leap."""
UNPROVEN, SEEN_ONCE, PROVEN = range(3)
"""What is known of a drift: nothing, that of the round before, that it goes on."""


IF_CHANGED, IF_OTHERWISE, IF_MOVING = range(3)
"""Rows of a record's masks."""

CHANGES = {COMPARED: CHANGED, APART: CHANGED_APART, DUE: CHANGED_APART, ASIDE: CHANGED_ASIDE}
OTHERWISE = {COUNTER: MOVED_OTHERWISE, RESTARTS: RESTARTED}
MOVING = dict.fromkeys((COUNTER, RESTARTS, FLOW), -1)
"""By kind what is found where a word changed, and where it moved by another amount than its drift; whether leaps move it."""


def masks_of(kinds: list[int]) -> np.ndarray:
    """By word of a record what is found where it changed, and where it moved otherwise; last -1 where leaps move it."""
    return np.array([[row.get(kind, 0) for kind in kinds] for row in (CHANGES, OTHERWISE, MOVING)], np.int64)


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
    found = 0
    for word in range(len(before)):
        moved = words[word] - before[word]
        found |= masks[IF_CHANGED, word] if moved != 0 else 0
        found |= masks[IF_OTHERWISE, word] if moved != drift[word] else 0
    return found


@compiled_into_callers
def take_drift(words: np.ndarray, before: np.ndarray, drift: np.ndarray) -> None:
    """Note by how much everything moved since `before`."""
    for word in range(len(before)):
        drift[word] = words[word] - before[word]


@compiled_into_callers
def nothing_aside(found: int) -> int:
    """The same where nothing is aside: of a partition that is read, what readers get follows from all of it."""
    found |= CHANGED_APART if found & CHANGED_ASIDE else 0
    return found | (MOVED_OTHERWISE if found & RESTARTED else 0)


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
    if found & (CHANGED_APART | CHANGED_ASIDE):
        return PROVEN if proven == PROVEN else UNPROVEN, is_odd, False
    if found == RESTARTED and proven == PROVEN:
        return PROVEN, is_odd, False
    if found:
        if proven == PROVEN and not is_odd:
            return PROVEN, True, False
        return SEEN_ONCE, False, True
    return SEEN_ONCE if proven == UNPROVEN else PROVEN, False, True
