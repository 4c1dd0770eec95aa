"""Tasks of brokers that run and find nothing to do: up to when, and how often they run until then.

A run that changes nothing but its own timer (a `tick`) and what it counts (`tally`) is leapt over; the run that may do more is
played. When that is, each task's function here says from what the task's own rule looks at; in doubt, its next run.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import BEYOND_RUNS, FOREVER, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.fetch import message_passes
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
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
)
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.segments import end_of_segment
from emulator.rounds.kafka.tier.build_aux_state import segment_before, start_from
from emulator.rounds.kafka.tier.copy_segments import (
    bytes_behind,
    candidate,
    has_waited,
    next_closed,
)
from emulator.rounds.kafka.tier.duties import (
    can_use_metadata,
    found_remote,
    last_stable_offset,
    retry_rounds,
    store_is_up,
    task_interval_ms,
)
from emulator.rounds.kafka.tier.expire import first_to_stay, size_of_log
from emulator.rounds.kafka.tier.records import NO_SEGMENT, NOT_LOOKED_UP, TierReplica
from emulator.rounds.kafka.tier.within_quota import has_left_window, is_within, quota_of, window_rounds
from emulator.rounds.lists import every
from emulator.rounds.records import Rows, word_of
from emulator.rounds.slots import has

LEO, HW, ACTIVE_BYTES = word_of(Replica, "leo"), word_of(Replica, "hw"), word_of(Replica, "active_bytes")


@compiled
def round_due(settings: Settings, due_ms: int) -> int:
    """The round in which what is due at a ms runs."""
    return (due_ms + settings.round_ms - 1) // settings.round_ms


@compiled
def run_from(now: int, settings: Settings, next_ms: int, acts_from: int, pace_ms: int) -> int:
    """The round of the first run, every so many ms, that is at or after a round; now, if one is due already."""
    next_run = round_due(settings, next_ms)
    if next_run < now or acts_from >= BEYOND_RUNS:
        return now if next_run < now else FOREVER
    if acts_from <= next_run:
        return next_run
    runs = ((acts_from - 1) * settings.round_ms - next_ms) // pace_ms + 1
    return round_due(settings, next_ms + runs * pace_ms)


@compiled
def steady_retry(settings: Settings, failures: int) -> int:
    """Ms between tries that fail, if they will be as many after the next ones; 0: they still become more."""
    rounds = retry_rounds(settings, failures + 1)
    return rounds * settings.round_ms if rounds == retry_rounds(settings, failures + 64) else 0


@compiled
def until_copy_acts(
    lists: Lists,
    tiers: TierLists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    tier: TierReplica,
    drift: np.ndarray,
    paces: np.ndarray,
) -> int:
    """The run of the copy task that may start a copy, or look something up; without one it only waits."""
    settings = inputs.settings[part.settings]
    pace, acts_from = task_interval_ms(settings), part.now
    if not settings.copies:
        acts_from = part.now if tier.copy_failures else FOREVER
    elif not can_use_metadata(tiers, inputs, part, replica):
        pace = steady_retry(settings, tier.copy_failures)
        acts_from = FOREVER if pace else part.now
        paces[COPY_FAILS] = 1
    elif not tier.copy_failures and tier.knows_log_start and tier.copied != NOT_LOOKED_UP:
        rules = inputs.rules[inputs.scenarios[part.scenario].rules]
        at = candidate(lists, tiers, part, replica, settings, max(tier.copied + 1, replica.log_start), rules)
        if at == NOBODY:
            acts_from = candidate_from(lists, tiers, part, replica, tier, settings, drift, rules)
        elif tier.copy_starts == 0:
            return FOREVER
        elif tier.copy_starts != UNKNOWN and tier.copy_from > part.now:
            return max(tier.copy_from, round_due(settings, tier.copy_next_ms))
        elif tier.copy_starts == UNKNOWN and quota_of(inputs, replica, settings) != UNKNOWN:
            acts_from, is_blocked = quota_from(tiers, part, tier, settings, quota_of(inputs, replica, settings))
            if is_blocked:
                return max(part.now, acts_from, round_due(settings, tier.copy_next_ms))  # it stays due
    paces[COPY_PACE] = max(pace, 1)
    return run_from(part.now, settings, tier.copy_next_ms, acts_from, max(pace, 1))


@compiled
def candidate_from(
    lists: Lists,
    tiers: TierLists,
    part: Partition,
    replica: Replica,
    tier: TierReplica,
    settings: Settings,
    drift: np.ndarray,
    rules: Rules,
) -> int:
    """The round in which the next closed segment may be copied: it ends below the last stable offset and has waited."""
    at = next_closed(lists, replica, max(tier.copied + 1, replica.log_start))
    if at == NOBODY:
        return FOREVER  # until a segment is closed, which is played
    acts_from = part.now
    stable = last_stable_offset(tiers, replica)
    lacking = end_of_segment(lists.segments, replica, at) - stable
    if lacking > 0 and rules.below_last_stable:
        if stable < replica.hw or drift[HW] <= 0:
            return FOREVER
        acts_from = part.now + max(0, lacking // drift[HW] - 1)
    if not rules.wait_for_lag or has_waited(lists, part, replica, settings, at):
        return acts_from
    waited = FOREVER
    if settings.copy_lag_rounds > 0:
        waited = lists.segments[at].newest_round + settings.copy_lag_rounds
    if settings.copy_lag_bytes > 0 and drift[ACTIVE_BYTES] > 0:
        lacking = settings.copy_lag_bytes - bytes_behind(lists, replica, at)
        waited = min(waited, part.now + max(0, lacking // drift[ACTIVE_BYTES] - 1))
    return max(acts_from, waited)


@compiled
def quota_from(tiers: TierLists, part: Partition, tier: TierReplica, settings: Settings, quota_bytes: int) -> tuple[int, bool]:
    """(the round in which the quota lets a copy start, or the first start leaves its window; whether it holds one back)."""
    first = tier.starts.start
    if is_within(tiers, tier, settings, quota_bytes) or has_left_window(tiers, part, settings, first):
        return part.now, False
    return tiers.starts[first].at_round + window_rounds(settings), True


@compiled
def until_expiry_acts(
    lists: Lists,
    tiers: TierLists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    tier: TierReplica,
    drift: np.ndarray,
    paces: np.ndarray,
) -> int:
    """The run of the expiry task that may delete something, or look something up."""
    settings = inputs.settings[part.settings]
    pace, acts_from = task_interval_ms(settings), part.now
    if not can_use_metadata(tiers, inputs, part, replica):
        pace = steady_retry(settings, tier.expiry_failures)
        acts_from = FOREVER if pace else part.now
        paces[EXPIRY_FAILS] = 1
    elif not tier.expiry_failures:
        rules = inputs.rules[inputs.scenarios[part.scenario].rules]
        if tier.living == 0:
            acts_from = FOREVER
        elif rules.log_start_first and (replica.highest_remote != UNKNOWN or not rules.know_remote_first):
            acts_from = expires_from(lists, tiers, part, replica, tier, settings, drift)
    paces[EXPIRY_PACE] = max(pace, 1)
    return run_from(part.now, settings, tier.expiry_next_ms, acts_from, max(pace, 1))


@compiled
def expires_from(
    lists: Lists, tiers: TierLists, part: Partition, replica: Replica, tier: TierReplica, settings: Settings, drift: np.ndarray
) -> int:
    """The round in which the first segment that stays is old enough, or the log too big; now if there is one that goes."""
    may_go, number = first_to_stay(lists, tiers, replica, tier)
    if may_go:
        return part.now
    if number == NO_SEGMENT:
        return FOREVER
    segment = tiers.remote[tiers.whole[0].segments.start + number]
    acts_from = FOREVER
    if settings.retention_rounds != UNKNOWN:
        acts_from = segment.newest_round + settings.retention_rounds
    if settings.retention_bytes != UNKNOWN:
        lacking = segment.size_bytes - (size_of_log(lists, tiers, replica, tier) - settings.retention_bytes)
        if lacking <= 0 or is_ahead(tiers, replica, tier):
            return part.now
        if drift[ACTIVE_BYTES] > 0:
            acts_from = min(acts_from, part.now + max(0, lacking // drift[ACTIVE_BYTES] - 1))
    return acts_from


@compiled
def is_ahead(tiers: TierLists, replica: Replica, tier: TierReplica) -> bool:
    """Whether a broker knows of a segment that ends beyond its own log, and is of it perhaps when that has grown."""
    for at in every(tier.known):
        if tiers.remote[tiers.whole[0].segments.start + tiers.known[at].segment].end_offset >= replica.leo:
            return True
    return False


@compiled
def until_follower_acts(
    lists: Lists,
    tiers: TierLists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    tier: TierReplica,
    drift: np.ndarray,
    paces: np.ndarray,
) -> int:
    """The run of a follower's task in which it may learn that more is tiered."""
    settings = inputs.settings[part.settings]
    pace, acts_from = task_interval_ms(settings), part.now
    if not can_use_metadata(tiers, inputs, part, replica):
        pace = steady_retry(settings, tier.follower_failures)
        acts_from = FOREVER if pace else part.now
        paces[FOLLOWER_FAILS] = 1
    elif not tier.follower_failures:
        found = found_remote(lists, tiers, replica, tier, inputs.rules[inputs.scenarios[part.scenario].rules])
        grows = found == replica.leo - 1 and drift[LEO] != 0  # what ends with its log grows with it
        acts_from = part.now if found > replica.highest_remote or grows else FOREVER
    paces[FOLLOWER_PACE] = max(pace, 1)
    return run_from(part.now, settings, tier.follower_next_ms, acts_from, max(pace, 1))


@compiled
def until_built(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, paces: np.ndarray
) -> int:
    """The round in which a follower that builds gets further, as build_aux_states has it; what it asks and is not told."""
    follower, tier = replicas[slot], tiers.replicas[slot]
    believed = follower.believed_leader
    if not follower.builds or follower.status & NOT_RUNNING or slot == part.leader or believed in (NOBODY, slot):
        return FOREVER
    if not has(part.assigned, slot):
        return FOREVER
    paces[BUILD_PACE] = inputs.settings[part.settings].backoff_rounds
    leader = replicas[believed]
    passes = message_passes(follower, leader, believed) and message_passes(leader, follower, slot)
    if not passes or leader.status & NOT_RUNNING or leader.leading_epoch != follower.believed_epoch:
        return FOREVER
    start = start_from(inputs, part, replicas, slot)
    if start == UNKNOWN and tier.aux_start == UNKNOWN:
        paces[BUILD_ASKS] = 1
        paces[BUILD_FAILS] = 0 if inputs.scenarios[part.scenario].from_leader else 1
        return FOREVER
    rules = inputs.rules[inputs.scenarios[part.scenario].rules]
    is_told = inputs.scenarios[part.scenario].from_leader or start <= leader.log_start
    if is_told or (store_is_up(tiers, inputs) and segment_before(lists, tiers, inputs, part, replicas, slot, start, rules) >= 0):
        return tier.aux_next
    paces[BUILD_ASKS] = paces[BUILD_FAILS] = 1
    return FOREVER
