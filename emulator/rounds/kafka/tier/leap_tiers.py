"""Leaps of tiered partitions: how far they go, and what moves in them.

Runs of tasks that find nothing to do are leapt over in whole periods: quiet_tasks.py.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import FOREVER, NO_NEWS
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.probe import (
    BUILD_ASKS,
    BUILD_FAILS,
    BUILD_PACE,
    COPY_FAILS,
    COPY_PACE,
    EXPIRY_FAILS,
    EXPIRY_PACE,
    FOLLOWER_FAILS,
    FOLLOWER_PACE,
    PACES,
    dues_of,
    earliest_due,
    masks_of,
    move,
)
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.segments import disk_bytes, round_of
from emulator.rounds.kafka.tier.duties import (
    can_use_metadata,
    runs_tasks,
)
from emulator.rounds.kafka.tier.metadata import metadata_lag
from emulator.rounds.kafka.tier.quiet_tasks import until_built, until_copy_acts, until_expiry_acts, until_follower_acts
from emulator.rounds.kafka.tier.records import FOLLOWER_DUTY, LEADER_DUTY, NO_SEGMENT, TierPartition, TierReplica
from emulator.rounds.kafka.traffic import last_of_bucket
from emulator.rounds.records import APART, Rows, compared_as, kinds_of, word_of
from emulator.rounds.slots import has

TIER_MASKS = masks_of(compared_as(APART, kinds_of(TierPartition)))
TIER_REPLICA_MASKS = masks_of(compared_as(APART, kinds_of(TierReplica)))
"""How counters of logs move does not depend on what is remote: all that is compared is so apart."""
TIER_DUES = dues_of(kinds_of(TierPartition))
TIER_REPLICA_DUES = dues_of(kinds_of(TierReplica))
LEFT_BYTES = word_of(TierReplica, "left_bytes")
ACTIVE_BYTES = word_of(Replica, "active_bytes")


@compiled
def tier_horizon(
    lists: Lists,
    tiers: TierLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    tier_words: np.ndarray,
    tier_replica_words: np.ndarray,
    drifts: np.ndarray,
    tier_drifts: np.ndarray,
    paces: np.ndarray,
) -> int:
    """The next round, from `part.now` on, that has to be played for what is remote; `paces` of tasks until then."""
    whole, now = tiers.whole[0], part.now
    due = min(last_of_bucket(inputs, part), inputs.store[whole.store + 1].from_round)
    due = earliest_due(TIER_DUES, tier_words, now, due)
    for slot in range(part.slots):
        for place in range(PACES):
            paces[slot, place] = 0
        due = earliest_due(TIER_REPLICA_DUES, tier_replica_words[slot], now, due)
        replica, tier = replicas[slot], tiers.replicas[slot]
        due = min(due, until_built(lists, tiers, inputs, part, replicas, slot, paces[slot]))
        if paces[slot, BUILD_PACE] and tier.aux_next < now:
            return now
        if not has(part.has_enough, slot):
            due = min(due, until_enough(lists, inputs, part, replica, drifts[slot]))
        if not runs_tasks(part, replicas, slot):
            continue
        due = min(due, until_read(tiers, inputs, part, replica, tier))
        if tier.copying != NO_SEGMENT:
            due = min(due, until_copied(now, tier, tier_drifts[slot]))
        if tier.duty == LEADER_DUTY:
            if tier.copying == NO_SEGMENT:
                due = min(due, until_copy_acts(lists, tiers, inputs, part, replica, tier, drifts[slot], paces[slot]))
            due = min(due, until_expiry_acts(lists, tiers, inputs, part, replica, tier, drifts[slot], paces[slot]))
        elif tier.duty == FOLLOWER_DUTY:
            due = min(due, until_follower_acts(lists, tiers, inputs, part, replica, tier, drifts[slot], paces[slot]))
    return due


@compiled
def until_enough(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, drift: np.ndarray) -> int:
    """The round at whose end a replica that has too little of the log itself may come to have enough (KIP-1303)."""
    settings = inputs.settings[part.settings]
    due = FOREVER
    if settings.eligible_log_bytes > 0 and drift[ACTIVE_BYTES] > 0:
        lacking = settings.eligible_log_bytes - disk_bytes(lists.segments, replica)
        due = part.now + max(0, lacking // drift[ACTIVE_BYTES] - 1)
    if settings.eligible_log_rounds > 0 and replica.leo > replica.local_start:
        reached = round_of(lists.runs, inputs, replica, replica.local_start) + settings.eligible_log_rounds
        due = min(due, max(part.now, reached))
    return due


@compiled
def until_read(tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, tier: TierReplica) -> int:
    """The round in which a broker reads the next event."""
    whole, scenario = tiers.whole[0], inputs.scenarios[part.scenario]
    if tier.read_to >= whole.events.count or not can_use_metadata(tiers, inputs, part, replica):
        return FOREVER
    lag = metadata_lag(inputs, scenario, replica)
    if lag == NO_NEWS:
        return FOREVER
    return tiers.remote_events[whole.events.start + tier.read_to].at_round + lag + 1


@compiled
def until_copied(now: int, tier: TierReplica, tier_drift: np.ndarray) -> int:
    """The round in which a copy under way has moved everything."""
    moved = -tier_drift[LEFT_BYTES]
    return FOREVER if moved <= 0 else now + (tier.left_bytes - 1) // moved


@compiled
def leap_tiers(
    tiers: TierLists,
    settings: Settings,
    part: Partition,
    tier_words: np.ndarray,
    tier_replica_words: np.ndarray,
    tier_drift: np.ndarray,
    tier_drifts: np.ndarray,
    paces: np.ndarray,
    then: int,
) -> None:
    """Go on to round `then`, before the partition does."""
    whole = tiers.whole[0]
    then_ms = (then - 1) * settings.round_ms + 1  # what is due before it runs in a round before
    for slot in range(part.slots):
        tier, pace = tiers.replicas[slot], paces[slot]
        runs = runs_before(tier.copy_next_ms, pace[COPY_PACE], then_ms)
        tier.copy_next_ms += runs * pace[COPY_PACE]
        tier.copy_failures += runs * pace[COPY_FAILS]
        runs = runs_before(tier.expiry_next_ms, pace[EXPIRY_PACE], then_ms)
        tier.expiry_next_ms += runs * pace[EXPIRY_PACE]
        tier.expiry_failures += runs * pace[EXPIRY_FAILS]
        runs = runs_before(tier.follower_next_ms, pace[FOLLOWER_PACE], then_ms)
        tier.follower_next_ms += runs * pace[FOLLOWER_PACE]
        tier.follower_failures += runs * pace[FOLLOWER_FAILS]
        runs = runs_before(tier.aux_next, pace[BUILD_PACE], then)
        tier.aux_next += runs * pace[BUILD_PACE]
        whole.aux_requests += runs * pace[BUILD_ASKS]
        whole.aux_errors += runs * pace[BUILD_FAILS]
        move(TIER_REPLICA_MASKS, tier_replica_words[slot], tier_drifts[slot], then - part.now)
    move(TIER_MASKS, tier_words, tier_drift, then - part.now)


@compiled
def runs_before(next_run: int, pace: int, then: int) -> int:
    """How often something runs before a round, or a ms; a pace of 0: not at all."""
    return 0 if pace == 0 or next_run >= then else (then - next_run + pace - 1) // pace
