"""Step 7, response: every answer that arrives changes its follower."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import bytes_allowed, bytes_at, bytes_below, chunk_end, end_of_run, run_with, start_of_batch
from emulator.rounds.kafka.constants import (
    ASKED,
    BELOW_LOG_START,
    DATA,
    DIVERGING,
    EMPTY,
    EPOCH_END,
    FETCHED,
    GONE,
    MOVED,
    MOVED_AWAY,
    NO_ANSWER,
    NO_END,
    NOBODY,
    OUT_OF_ORDER,
    OUT_OF_RANGE,
    TRUNCATED,
    UNKNOWN,
    UNORDERED,
)
from emulator.rounds.kafka.epochs import assign_epoch, own_end_of, place_of_epoch, start_of_next_epoch
from emulator.rounds.kafka.fetch import message_passes
from emulator.rounds.kafka.fetches_of_round import fetch_limit, fetch_us
from emulator.rounds.kafka.follow import cut_and_tell
from emulator.rounds.kafka.input_records import Inputs, Rules, ScenarioRow, Settings
from emulator.rounds.kafka.late_response import take_late_response
from emulator.rounds.kafka.log import begin_chunk, empty_log, end_chunk, extend_log, follow_high_watermark, raise_log_start
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.shared_budgets import note_what_is_needed
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def respond(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    scenario: ScenarioRow,
    settings: Settings,
    rules: Rules,
) -> None:
    """Step 7; followers in the order of their slots, which read logs that no response changes."""
    for slot in range(part.slots):
        follower = replicas[slot]
        if follower.late_leader != NOBODY and take_late_response(lists, inputs, part, replicas, slot):
            continue
        if follower.answer == NO_ANSWER:
            continue
        leader = replicas[follower.answer_leader]
        if not message_passes(leader, follower, slot):
            continue
        if follower.answer == DATA:
            take_data(lists, inputs, part, follower, leader, slot, scenario, settings)
        else:
            take_answer(lists, inputs, part, replicas, slot, rules)


@compiled
def take_answer(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, rules: Rules) -> None:
    """Do what an answer without data asks for."""
    follower = replicas[slot]
    leader = replicas[follower.answer_leader]
    if follower.answer == MOVED or (follower.answer == BELOW_LOG_START and starts_at_upload(inputs, part, follower)):
        follower.fetch_state = MOVED_AWAY  # it builds the state before it (tier/build_aux_state.py)
    elif follower.answer == BELOW_LOG_START:
        start_again(lists, inputs, part, follower, leader)
    elif follower.answer == EPOCH_END:
        take_epoch_end(lists, inputs, part, follower, rules)
    elif follower.answer == OUT_OF_ORDER:
        follower.fetch_state = UNORDERED
    elif follower.answer == NO_END or follower.answer == GONE:  # it asks again from where its log ends
        follower.fetch_state = OUT_OF_RANGE
    else:
        offset = leader.leo
        if follower.answer == DIVERGING:
            offset = diverging_offset(lists, follower, rules)
        cut(lists, inputs, part, follower, offset, rules)
        follower.fetch_state = TRUNCATED


@compiled
def starts_at_upload(inputs: Inputs, part: Partition, follower: Replica) -> bool:
    """Whether an empty follower starts behind what is tiered (KIP-1023)."""
    settings = inputs.settings[part.settings]
    own = inputs.spans[follower.span].at_pending_upload
    enabled = settings.at_pending_upload if own == UNKNOWN else own
    return settings.tiered != 0 and enabled != 0 and follower.leo == follower.local_start


@compiled
def cut(lists: Lists, inputs: Inputs, part: Partition, follower: Replica, offset: int, rules: Rules) -> None:
    """Truncate; before KIP-320, when a cut need not be where an epoch ends, it takes the whole batch that it meets."""
    if not rules.epochs_in_fetch:
        offset = start_of_batch(lists.runs, inputs, follower, offset)
    cut_and_tell(lists, inputs, part, follower, offset, follower.fetch_epoch)


@compiled
def diverging_offset(lists: Lists, follower: Replica, rules: Rules) -> int:
    """Where a diverging answer cuts the follower's log: where both logs end the epoch (KIP-595)."""
    if not rules.cut_by_epoch:
        return min(follower.leo, follower.hw)
    own_end = start_of_next_epoch(lists.epochs, follower, follower.epochs.count, follower.leo, follower.answer_epoch)
    end = min(follower.leo, follower.answer_end)
    return end if own_end == UNKNOWN else min(end, own_end)


@compiled
def start_again(lists: Lists, inputs: Inputs, part: Partition, follower: Replica, leader: Replica) -> None:
    """OUT_OF_RANGE below the leader's log start: the follower empties its log and starts there."""
    offset, checkpoint, credit_bytes = leader.log_start, follower.checkpoint, follower.credit_bytes
    part.truncated += follower.leo - follower.local_start
    empty_log(follower)
    follower.log_start = offset
    follower.local_start = offset
    follower.leo = offset
    follower.hw = offset
    follower.flushed = offset
    follower.active_base = offset
    follower.log_bytes = bytes_at(lists.runs, inputs, leader, offset)
    follower.checkpoint = checkpoint
    follower.credit_bytes = credit_bytes
    follower.compares = 1
    follower.fetch_state = OUT_OF_RANGE


@compiled
def take_epoch_end(lists: Lists, inputs: Inputs, part: Partition, follower: Replica, rules: Rules) -> None:
    """The answer to a question: cut there; afterwards the follower fetches, or asks once more (KIP-101, KIP-279)."""
    follower.truncating = 0
    follower.fetch_state = ASKED
    offset = min(follower.leo, follower.answer_end)
    if follower.answer_end == UNKNOWN:
        offset = min(follower.leo, follower.hw)
    elif rules.answers_epoch:
        at = place_of_epoch(lists.epochs, follower, follower.answer_epoch)
        if at < 0:
            offset = follower.log_start
        elif lists.epochs[at].epoch == follower.answer_epoch:
            offset = min(offset, own_end_of(lists.epochs, follower, at))
        else:
            offset = own_end_of(lists.epochs, follower, at)
            follower.truncating = 1 if offset > follower.log_start else 0
    cut(lists, inputs, part, follower, offset, rules)


@compiled_into_callers
def rate_between(inputs: Inputs, leader: Replica, follower: Replica, slot: int) -> int:
    """Bytes per round that a slow link from the leader, a slow disk and the quota of the follower leave; UNKNOWN: any."""
    rate = follower.disk_bytes
    if follower.quota_bytes != UNKNOWN:
        rate = follower.quota_bytes if rate == UNKNOWN else min(rate, follower.quota_bytes)
    if has(leader.slow_to, slot):
        span = inputs.spans[leader.span]
        for at in range(span.first_slow, span.first_slow + span.slow_count):
            link = inputs.links[at]
            if link.peer == follower.broker_place:
                rate = link.number if rate == UNKNOWN else min(rate, link.number)
    return rate


@compiled_into_callers
def take_data(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    follower: Replica,
    leader: Replica,
    slot: int,
    scenario: ScenarioRow,
    settings: Settings,
) -> None:
    """Append what the round's fetches bring, then take the high watermark and log start."""
    rate = rate_between(inputs, leader, follower, slot)
    allowance = UNKNOWN if rate == UNKNOWN else rate + follower.credit_bytes
    has_data = waits = follower.leo < leader.leo
    size_bytes = 0
    if waits:
        at = run_with(lists.runs, leader.runs, follower.leo)
        begin_bytes = bytes_below(inputs, lists.runs[at], follower.leo)
        limit = bytes_allowed(fetch_limit(settings, follower), allowance)
        if leader.log_bytes - begin_bytes <= limit:  # who is caught up with one response asks once
            size_bytes = append_chunk(lists, inputs, part, follower, leader, settings, at, begin_bytes, leader.leo)
            waits = False
        else:
            fetches, size_bytes = take_chunks(lists, inputs, part, follower, leader, slot, scenario, settings, allowance)
            has_data, waits = fetches > 0, follower.leo < leader.leo
    follower.most_fetched_bytes = max(follower.most_fetched_bytes, size_bytes)
    if scenario.shares:
        note_what_is_needed(follower, rate, size_bytes, waits)
    follower.credit_bytes = allowance - size_bytes if waits and allowance != UNKNOWN else 0
    at_once = has_data or not follower.answer_is_t or never_waits(settings, follower)
    follow_high_watermark(follower, leader.hw_at_start if at_once else part.leader_hw)
    if follower.log_start < leader.log_start <= follower.hw:
        raise_log_start(lists, follower, leader.log_start)
    if not follower.answer_is_t or follower.unlike_from != UNKNOWN or follower.leo > leader.leo or follower.epochs_fall:
        follower.compares = 1
    follower.fetch_state = FETCHED if has_data else EMPTY


@compiled_into_callers
def never_waits(settings: Settings, follower: Replica) -> bool:
    """Whether a fetch that finds no data is answered at once."""
    return (settings.no_wait if follower.no_wait == UNKNOWN else follower.no_wait) != 0


@compiled
def take_chunks(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    follower: Replica,
    leader: Replica,
    slot: int,
    scenario: ScenarioRow,
    settings: Settings,
    allowance: int,
) -> tuple[int, int]:
    """Append what the round's fetches bring a follower that lacks more than one of them does. Returns (how many did, bytes)."""
    limit = fetch_limit(settings, follower)
    fetches, size_bytes, spent_us = 0, 0, 0
    while follower.leo < leader.leo:
        left = UNKNOWN if allowance == UNKNOWN else allowance - size_bytes
        at = run_with(lists.runs, leader.runs, follower.leo)
        begin_bytes = bytes_below(inputs, lists.runs[at], follower.leo)
        end = chunk_end(lists.runs, inputs, leader, at, follower.leo, begin_bytes, limit, left)
        if end == follower.leo:
            break
        if scenario.fetches_per_round:
            if fetches == scenario.fetches_per_round:
                break
        elif fetches or end < leader.leo:  # one that brings everything is alone in its round: no time to tell
            chunk_bytes = bytes_at(lists.runs, inputs, leader, end) - begin_bytes
            spent_us += fetch_us(inputs, scenario, leader, follower, slot, max(limit, chunk_bytes))
            if fetches and spent_us > scenario.round_us:
                break
        size_bytes += append_chunk(lists, inputs, part, follower, leader, settings, at, begin_bytes, end)
        fetches += 1
    return fetches, size_bytes


@compiled_into_callers
def append_chunk(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    follower: Replica,
    leader: Replica,
    settings: Settings,
    at: int,
    begin_bytes: int,
    end: int,
) -> int:
    """Append the leader's records from the follower's LEO up to an offset as one chunk. Returns its bytes.

    `at`: where the leader's run with that LEO stands; `begin_bytes`: of the leader's log below it.
    """
    runs = lists.runs
    chunk_bytes = bytes_at(runs, inputs, leader, end) - begin_bytes
    begin_chunk(lists, inputs, part, follower, settings, chunk_bytes, follower.fetch_epoch)
    before = follower.log_bytes
    while follower.leo < end:
        run = runs[at]
        first_round = run.first_round
        run_end = min(end, end_of_run(runs, leader.runs, at, leader.leo))
        phase = run.phase + follower.leo - run.start_offset
        extend_log(runs, inputs, follower, run.epoch, run.pattern, phase, first_round, part.keeps_segments)
        assign_epoch(lists.epochs, follower, run.epoch, follower.leo)
        follower.leo = run_end
        follower.log_bytes = before + bytes_at(runs, inputs, leader, run_end) - begin_bytes
        at += 1
    end_chunk(follower, settings)
    follower.fetched_bytes += chunk_bytes
    part.replicated_bytes += chunk_bytes
    return chunk_bytes
