"""Leaps over quiet rounds: rounds in which only counters move, each by the same amount as in the round before.

A drift that was proven (probe.py) goes on until something is met that rules compare with a counter or a clock: the *horizons*
here, all of them conservative; the round at a horizon is played. Those of tiered storage: tier/leap_tiers.py.
"""

from __future__ import annotations

import numpy as np

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import end_of_run, has_like_batches, run_with
from emulator.rounds.kafka.constants import FOREVER, NEVER, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.delete_segments import until_retention
from emulator.rounds.kafka.fetch import sends
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.probe import dues_of, earliest_due, masks_of, move
from emulator.rounds.kafka.produce_within import until_others_are_oldest
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.traffic import end_bucket, last_of_bucket
from emulator.rounds.leaps import last_due, next_due, sum_of_drift
from emulator.rounds.lists import every
from emulator.rounds.records import Rows, kinds_of, word_of
from emulator.rounds.slots import has, slot_at

PARTITION_MASKS = masks_of(kinds_of(Partition))
REPLICA_MASKS = masks_of(kinds_of(Replica))
PARTITION_DUES = dues_of(kinds_of(Partition))
REPLICA_DUES = dues_of(kinds_of(Replica))
UNACKED = word_of(Partition, "unacked")
LEO, HW = word_of(Replica, "leo"), word_of(Replica, "hw")
REMOTE_LEO = word_of(Replica, "remote_leo")
CAUGHT_UP = word_of(Replica, "caught_up")
LOG_BYTES = word_of(Replica, "log_bytes")
ACTIVE_BYTES = word_of(Replica, "active_bytes")
LEADER_HW = word_of(Partition, "leader_hw")
"""Places of fields among the words of their records."""


@compiled
def until_equal(ahead: int, ahead_drift: int, behind: int, behind_drift: int) -> int:
    """Rounds for which what is ahead stays ahead by more than a round's drift; FOREVER if it is not caught up with."""
    closing = behind_drift - ahead_drift
    if closing <= 0:
        return FOREVER
    return max(0, (ahead - behind) // closing - 2) if ahead > behind else FOREVER


@compiled
def meeting(now: int, one: int, one_drift: int, other: int, other_drift: int) -> int:
    """The round in which two offsets may meet, whichever is ahead; now, if they have just met, or are about to."""
    if one_drift == other_drift:
        return FOREVER
    if abs(one - other) <= abs(one_drift) + abs(other_drift):
        return now
    due = min(until_equal(one, one_drift, other, other_drift), until_equal(other, other_drift, one, one_drift))
    return FOREVER if due >= FOREVER else now + due


@compiled
def horizon(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    part_words: np.ndarray,
    replica_words: np.ndarray,
    part_drift: np.ndarray,
    drifts: np.ndarray,
) -> int:
    """The next round, from `part.now` on, that has to be played, wherever the stretch ends."""
    settings, scenario = inputs.settings[part.settings], inputs.scenarios[part.scenario]
    now = part.now
    due = earliest_due(PARTITION_DUES, part_words, now, scenario.rounds - 1)
    if part.waiting_rounds > 0:
        due = min(due, until_others_are_oldest(inputs, part), last_of_bucket(inputs, part))
    if settings.rebalance_ms and part.leader != slot_at(part.order, 0):
        due = min(due, next_due(now, settings.round_ms, settings.rebalance_ms))
    for slot in range(part.slots):
        replica, drift = replicas[slot], drifts[slot]
        due = earliest_due(REPLICA_DUES, replica_words[slot], now, due)
        due = min(due, until_segment_rolls(now, replica, settings, drift))
        if part.keeps_segments and has(part.assigned, slot) and not replica.status & NOT_RUNNING:
            rules = inputs.rules[scenario.rules]
            retention = until_retention(lists, inputs, part, replica, settings, rules, drift[ACTIVE_BYTES])
            if retention < due:
                due = min(due, next_due(retention, settings.round_ms, settings.retention_check_ms))
        if replica.news_lag >= 0:
            due = min(due, until_news(lists, part, replica))
        if settings.flush_messages and drift[LEO] and not flushes_every_round(replica, settings, drift):
            left = settings.flush_messages - (replica.leo - replica.flushed)
            due = min(due, now + max(0, left // drift[LEO] - 1))
        followed = leader_of(replicas, slot)
        if drift[LEO] and followed != slot:
            due = min(due, until_run_ends(lists, inputs, now, replica, replicas[followed], drift))
            if followed != part.client_leader:
                due = min(due, until_all_is_fetched(now, replica, replicas[followed], drift, drifts[followed]))
        if part.client_leader == NOBODY:
            continue
        leader, leader_drift = replicas[part.client_leader], drifts[part.client_leader]
        if slot != part.client_leader and has(part.assigned, slot):
            due = min(due, until_caught_up(now, replica, leader, drift, leader_drift))
            due = min(due, until_judged(inputs, part, replicas, slot, drift, leader_drift))
        if sends(part, replicas, slot) and replica.leo < replicas[replica.believed_leader].local_start:
            return now  # what it fetches next has just left its leader's disk
        due = min(due, until_high_watermark(now, part, replica.unlike_from, part_drift))
        due = min(due, until_high_watermark(now, part, replica.alike_again, part_drift))
        due = min(due, until_high_watermark(now, part, part.committed_before, part_drift))
    return max(due, now)


@compiled
def keep_distance(part: Partition, drifts: np.ndarray) -> bool:
    """Whether all logs grow alike: what followers lack, and ask shared budgets for, stays the same."""
    for slot in range(part.slots):  # noqa: SIM110
        if drifts[slot, LOG_BYTES] != drifts[0, LOG_BYTES]:
            return False
    return True


@compiled
def until_high_watermark(now: int, part: Partition, offset: int, part_drift: np.ndarray) -> int:
    """The round in which T's high watermark may pass an offset that invariants are about."""
    due = until_equal(offset, 0, part.leader_hw, part_drift[LEADER_HW])
    return FOREVER if due >= FOREVER else now + due


@compiled
def flushes_every_round(replica: Replica, settings: Settings, drift: np.ndarray) -> bool:
    """Whether flush.messages is met in every round, so that all is flushed at its end."""
    return 0 < settings.flush_messages <= drift[LEO] and replica.flushed == replica.leo


@compiled
def until_news(lists: Lists, part: Partition, replica: Replica) -> int:
    """The round in which news reach a replica late."""
    for at in every(part.news):
        arrives = lists.news[at].at_round + replica.news_lag
        if arrives >= part.now:
            return arrives
    return FOREVER


@compiled
def until_segment_rolls(now: int, replica: Replica, settings: Settings, drift: np.ndarray) -> int:
    """The round in which the active segment may be full or old."""
    added = drift[ACTIVE_BYTES]
    if added <= 0:
        return FOREVER
    if replica.active_bytes == 0:
        return now  # retention closed the one before: this one's age counts from its first chunk
    by_size = now + max(0, (settings.segment_bytes - replica.active_bytes) // added)
    return min(by_size, replica.active_round + settings.segment_rounds)


@compiled
def until_caught_up(now: int, replica: Replica, leader: Replica, drift: np.ndarray, leader_drift: np.ndarray) -> int:
    """The round in which a follower that is behind may reach T's LEO, or its high watermark."""
    due = until_equal(leader.leo, leader_drift[LEO], replica.leo, drift[LEO])
    due = min(due, until_equal(leader.leo, leader_drift[LEO], replica.remote_leo, drift[REMOTE_LEO]))
    due = min(due, until_equal(leader.hw, leader_drift[HW], replica.leo, drift[LEO]))
    due = min(due, until_equal(leader.hw, leader_drift[HW], replica.remote_leo, drift[REMOTE_LEO]))
    due = min(due, until_equal(replica.remote_leo, drift[REMOTE_LEO], leader.hw, leader_drift[HW]))
    due = min(due, until_equal(replica.leo, drift[LEO], leader.hw, leader_drift[HW]))
    return FOREVER if due >= FOREVER else now + due


@compiled
def until_all_is_fetched(now: int, replica: Replica, leader: Replica, drift: np.ndarray, leader_drift: np.ndarray) -> int:
    """The round in which a follower may have all of a leader that is not T, or come to its high watermark; now, if it has just
    done so: where T notes nothing, nothing else tells.
    """
    due = meeting(now, leader.leo, leader_drift[LEO], replica.leo, drift[LEO])
    return min(due, meeting(now, leader.hw, leader_drift[HW], replica.leo, drift[LEO]))


@compiled
def until_judged(
    inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, drift: np.ndarray, leader_drift: np.ndarray
) -> int:
    """The round in which a follower may come to have lagged for too long, or be found to."""
    replica, settings = replicas[slot], inputs.settings[part.settings]
    passes = FOREVER if replica.caught_up == NEVER or drift[CAUGHT_UP] == 1 else replica.caught_up + settings.lag_rounds + 1
    if passes < part.now:
        passes = FOREVER
    is_level = replica.remote_leo == replicas[part.client_leader].leo and drift[REMOTE_LEO] == leader_drift[LEO]
    if not is_level and has(part.known_isr | part.pending_joins, slot) and drift[CAUGHT_UP] != 1:
        passes = min(passes, next_due(part.now, settings.round_ms, settings.isr_check_ms))
    return passes


@compiled
def leader_of(replicas: Rows[Replica], slot: int) -> int:
    """Whom a replica fetches from, itself if nobody."""
    believed = replicas[slot].believed_leader
    return slot if believed == NOBODY else believed


@compiled
def until_run_ends(lists: Lists, inputs: Inputs, now: int, follower: Replica, leader: Replica, drift: np.ndarray) -> int:
    """The round in which a follower's fetches get to the end of a run of its leader's log, or to batches of another size."""
    if leader.runs.count == 0 or follower.leo >= leader.leo:
        return FOREVER
    at = run_with(lists.runs, leader.runs, follower.leo)
    if follower.leo <= lists.runs[at].start_offset:
        return now  # it has nothing of this run yet
    pattern = inputs.patterns[lists.runs[at].pattern]
    if drift[LEO] % pattern.records != 0 and not has_like_batches(inputs, pattern):
        return now  # its fetches begin elsewhere in the pattern in each round: rounds that were alike say nothing of the next
    if at == leader.runs.start + leader.runs.count - 1:
        return FOREVER
    left = end_of_run(lists.runs, leader.runs, at, leader.leo) - follower.leo
    return now + max(0, left // drift[LEO] - 2)


@compiled
def leap_through_buckets(
    lists: Lists,
    tiers: TierLists | None,
    readers: ReaderLists | None,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    part_words: np.ndarray,
    replica_words: np.ndarray,
    part_drift: np.ndarray,
    drifts: np.ndarray,
    then: int,
) -> None:
    """Go on to round `then`; what brokers carried is booked where time buckets end on the way.

    Of what is tiered or read that round is played, as its horizons say.
    """
    while part.now < then:
        last = last_of_bucket(inputs, part)
        leap(inputs, part, replicas, part_words, replica_words, part_drift, drifts, min(then, last + 1))
        if part.now > last:
            end_bucket(lists, tiers, readers, inputs, part, replicas, last)


@compiled_into_callers
def leap(
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    part_words: np.ndarray,
    replica_words: np.ndarray,
    part_drift: np.ndarray,
    drifts: np.ndarray,
    then: int,
) -> None:
    """Go on to round `then` at once."""
    rounds = then - part.now
    settings = inputs.settings[part.settings]
    checkpoint_round = last_due(part.now, then, settings.round_ms, settings.checkpoint_ms)
    flush_round = UNKNOWN
    if settings.flush_ms:
        flush_round = last_due(part.now, then, settings.round_ms, settings.flush_ms)
    part.unacked_rounds += sum_of_drift(part.unacked, part_drift[UNACKED], rounds)
    for slot in range(part.slots):
        replica = replicas[slot]
        is_flushed = flushes_every_round(replica, settings, drifts[slot])
        if not replica.status & NOT_RUNNING and not part.deleted:  # nobody writes of a topic that is gone
            if checkpoint_round != UNKNOWN:
                replica.checkpoint = replica.hw + (checkpoint_round - part.now + 1) * drifts[slot, HW]
            if flush_round != UNKNOWN:
                replica.flushed = replica.leo + (flush_round - part.now + 1) * drifts[slot, LEO]
        if is_flushed:
            replica.flushed = replica.leo + rounds * drifts[slot, LEO]
        move(REPLICA_MASKS, replica_words[slot], drifts[slot], rounds)
    move(PARTITION_MASKS, part_words, part_drift, rounds)
    part.now = then
