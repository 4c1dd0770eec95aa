"""A mutant's response: it comes a round after its follower learned of another leader or epoch, and is taken all the same.

Kafka's fetcher drops a response whose partition has another leader epoch by then (AbstractFetcherThread.processFetchRequest);
without that check records of the old leader land behind what the follower has cut, or will not cut any more.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.batches import bytes_at, bytes_below, chunk_end, end_of_run, run_with
from emulator.rounds.kafka.constants import DATA, FETCHED, NO_EPOCH, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.epochs import assign_epoch
from emulator.rounds.kafka.fetch import answer, message_passes
from emulator.rounds.kafka.fetches_of_round import fetch_limit
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.log import begin_chunk, end_chunk, extend_log, follow_high_watermark
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.lists import append, clear
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def keep_response(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, told_leader: int, told_epoch: int
) -> None:
    """Step 8: who learns of another leader or epoch gets one more answer of the one before, in the next round."""
    follower = replicas[slot]
    believed = follower.believed_leader
    if follower.status & NOT_RUNNING or slot == part.leader or believed in (NOBODY, slot):
        return
    if (believed == told_leader and follower.believed_epoch == told_epoch) or not has(part.assigned, slot):
        return
    leader = replicas[believed]
    if leader.status & NOT_RUNNING or leader.leading_epoch == NO_EPOCH or leader.leading_epoch != follower.believed_epoch:
        return
    if not message_passes(follower, leader, believed) or not message_passes(leader, follower, slot):
        return
    if answer(lists, follower, leader, False) != DATA or follower.leo >= leader.leo:
        return
    limit = fetch_limit(inputs.settings[part.settings], follower)
    at = run_with(lists.runs, leader.runs, follower.leo)
    begin = bytes_below(inputs, lists.runs[at], follower.leo)
    end = chunk_end(lists.runs, inputs, leader, at, follower.leo, begin, limit, UNKNOWN)
    follower.late_leader = believed
    follower.late_offset = follower.leo
    follower.late_end = end
    follower.late_hw = part.leader_hw if believed == part.client_leader else leader.hw
    follower.late_bytes = bytes_at(lists.runs, inputs, leader, end) - begin
    copy_runs(lists, inputs, follower, leader, end, begin)


@compiled
def copy_runs(lists: Lists, inputs: Inputs, follower: Replica, leader: Replica, end: int, begin_bytes: int) -> None:
    """The leader's records from the follower's LEO up to an offset, bytes counted from there."""
    clear(follower.late_runs)
    offset = follower.leo
    at = run_with(lists.runs, leader.runs, offset)
    while offset < end:
        run = lists.runs[at]
        copied = lists.runs[append(follower.late_runs)]
        copied.start_offset = offset
        copied.epoch = run.epoch
        copied.pattern = run.pattern
        copied.phase = run.phase + offset - run.start_offset
        copied.start_bytes = bytes_below(inputs, run, offset) - begin_bytes
        copied.first_round = run.first_round
        offset = end_of_run(lists.runs, leader.runs, at, leader.leo)
        at += 1


@compiled
def take_late_response(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int) -> bool:
    """Take what comes late, if it still fits the log. Then the response to this round's fetch is dropped."""
    follower = replicas[slot]
    leader = replicas[follower.late_leader]
    follower.late_leader = NOBODY
    if follower.status & NOT_RUNNING or follower.leading_epoch != NO_EPOCH or follower.late_offset != follower.leo:
        return False
    if not message_passes(leader, follower, slot):
        return False
    settings = inputs.settings[part.settings]
    before = follower.log_bytes
    begin_chunk(lists, inputs, part, follower, settings, follower.late_bytes, follower.believed_epoch)
    for at in range(follower.late_runs.start, follower.late_runs.start + follower.late_runs.count):
        run = lists.runs[at]
        extend_log(lists.runs, inputs, follower, run.epoch, run.pattern, run.phase, run.first_round, part.keeps_segments)
        assign_epoch(lists.epochs, follower, run.epoch, follower.leo)
        end = end_of_run(lists.runs, follower.late_runs, at, follower.late_end)
        follower.log_bytes = before + bytes_below(inputs, run, end)
        follower.leo = end
    end_chunk(follower, settings)
    clear(follower.late_runs)
    follower.fetched_bytes += follower.late_bytes
    part.replicated_bytes += follower.late_bytes
    follow_high_watermark(follower, follower.late_hw)
    follower.compares = 1
    follower.fetch_state = FETCHED
    return True
