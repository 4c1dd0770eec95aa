"""What leaderships acknowledge and commit, and what of it elections lose (docs/kafka_rounds.md, "What is counted").

A leadership begins with a log and appends to it; what it acknowledged and committed is known when it ends. Then the log that the
next leader begins with is held against it: what the leader before had and the new one has not is lost (`acked_lost`,
`unacknowledged_lost`, `committed_lost`), and what any earlier one committed and the new one lacks breaks an invariant, unless it
is given up: an unclean election, or one of a replica that lost records to a fault, gives up what that leader lacks
(docs/invariants.md, Excuses).
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import ACKED_LOST, COMMITTED_LOST, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.invariants import (
    CONSISTENT_READ,
    LEADER_COMPLETENESS,
    NO_ACKED_RECORD_LOST,
    NO_COMMITTED_RECORD_LOST,
    SUSPECTED,
)
from emulator.rounds.kafka.list_records import RecordRange
from emulator.rounds.kafka.record_ranges import add_log, add_range, add_without, count_new
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.unacknowledged import keep_latest_sent, sent_in_range, tell_of_lost_range
from emulator.rounds.kafka.witness import tell_of_missing
from emulator.rounds.lists import List, append, clear, every, last
from emulator.rounds.records import Rows
from emulator.rounds.slots import size


@compiled
def end_leadership(lists: Lists, part: Partition) -> None:
    """Note what T acknowledged and committed: it is another leadership's turn, or the run is over.

    What has acks=0 is noted twice: as acknowledged, and as sent, which is taken off it where it is counted or told of. What T
    was elected with and cut before it knew that it leads, it did not commit.
    """
    if part.client_leader == NOBODY:
        return
    ranges, hw, own = lists.ranges, part.lead_hw, own_start(part)
    hw_before = hw if own == UNKNOWN else min(hw, own)
    for at in every(part.lead_entries):
        entry = ranges[at]
        epoch, begin, end = entry.epoch, entry.from_offset, entry.to_offset
        add_range(ranges, part.acked, epoch, begin, min(end, part.lead_acked_before))
        add_range(ranges, part.committed, epoch, begin, min(end, hw_before))
        if own != UNKNOWN:
            answer_earlier_epoch(lists, part, epoch, begin, min(end, hw_before))
    if own != UNKNOWN:
        add_range(ranges, part.acked, part.client_epoch, own, hw)
        add_range(ranges, part.committed, part.client_epoch, own, hw)
        add_range(ranges, part.acked_for_all, part.client_epoch, own, hw)
    for at in every(part.acked_ranges):
        add_range(ranges, part.acked, part.client_epoch, ranges[at].from_offset, ranges[at].to_offset)
    add_range(ranges, part.acked, part.client_epoch, part.acked_from, part.acked_to)
    part.acked_records += acked_in_run(lists, part)
    keep_latest_sent(lists, part)
    for at in every(part.missing):
        if ranges[at].from_offset < hw:
            tell_of_missing(lists, part, CONSISTENT_READ, ranges[at], part.missing_suspect, part.lead_round)


@compiled
def answer_earlier_epoch(lists: Lists, part: Partition, epoch: int, from_offset: int, to_offset: int) -> None:
    """T committed these records; those that its broker appended in earlier epochs, without a break, it acknowledged.

    A delayed produce request waits for an offset, of whatever epoch (Partition.checkEnoughReplicasReachOffset).
    """
    begin = max(from_offset, part.owes_from)
    part.acked_records += count_new(lists.ranges, part.acked, epoch, max(begin, part.owes_in_run), to_offset)
    add_range(lists.ranges, part.acked, epoch, begin, to_offset)
    add_range(lists.ranges, part.acked_for_all, epoch, begin, to_offset)


@compiled
def own_start(part: Partition) -> int:
    """Where the records that T appended itself begin, UNKNOWN if it never knew that it leads."""
    return UNKNOWN if part.epoch_start == UNKNOWN else max(part.epoch_start, part.lead_log_start)


@compiled
def reach(lists: Lists, part: Partition) -> int:
    """The end of all that T acknowledged or committed."""
    end = max(part.lead_hw, part.lead_acked_before, part.acked_to if part.acked_to > part.acked_from else 0)
    for at in every(part.acked_ranges):
        end = max(end, lists.ranges[at].to_offset)
    return end


@compiled
def acked_in_run(lists: Lists, part: Partition) -> int:
    """Records that T acknowledged, or appended with acks=0, in this run: the initial log's lie below its LEO."""
    count, hw = 0, part.lead_hw
    if part.epoch_start != UNKNOWN:
        count += max(hw - max(part.epoch_start, part.owes_in_run), 0)
    for at in every(part.acked_ranges):
        count += max(lists.ranges[at].to_offset - max(lists.ranges[at].from_offset, hw), 0)
    return count + max(part.acked_to - max(part.acked_from, hw), 0)


@compiled
def begin_leadership(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, cause: int, is_unclean: int, epoch: int
) -> None:
    """The replica in a slot is elected with an epoch: hold its log against what was known before, and begin anew."""
    replica, before = replicas[slot], lists.filled[0].held
    had_leader = part.client_leader != NOBODY
    if had_leader:
        held_by_leader(lists, part)
        end_leadership(lists, part)
    else:
        clear(before)
    clear(part.missing)
    part.missing_suspect = 0
    replicas[0].broken &= ~(1 << NO_COMMITTED_RECORD_LOST | 1 << (NO_COMMITTED_RECORD_LOST + SUSPECTED))
    clear(part.acked_ranges)
    clear(part.lead_entries)
    add_log(lists.runs, lists.epochs, replica, lists.ranges, part.lead_entries)
    part.lead_broker = replica.broker
    part.lead_epoch = epoch
    part.lead_round = part.now
    part.lead_cause = cause
    part.lead_unclean = is_unclean
    part.lead_runs = 0 if replica.status & NOT_RUNNING else 1
    part.lead_log_start = replica.log_start
    part.lead_acked_before = 0
    part.lead_deleted_to = 0
    part.lead_hw = 0
    part.acked_from = 0
    part.acked_to = 0
    if had_leader:
        tell_of_losses(lists, inputs, part, replica, part.acked, ACKED_LOST)
        tell_of_losses(lists, inputs, part, replica, part.committed, COMMITTED_LOST)
        hold_against_committed(lists, inputs, part, replicas, slot, epoch)


@compiled
def held_by_leader(lists: Lists, part: Partition) -> None:
    """Into `held`: the log that T began with and all that it acknowledged or committed of its own, less what was deleted."""
    held = lists.filled[0].held
    clear(held)
    least = max(part.lead_log_start, part.lead_deleted_to)
    for at in every(part.lead_entries):
        entry = lists.ranges[at]
        add_range(lists.work, held, entry.epoch, max(entry.from_offset, least), entry.to_offset)
    own = own_start(part)
    if own != UNKNOWN:
        add_range(lists.work, held, part.client_epoch, max(own, least), reach(lists, part))


@compiled
def tell_of_losses(lists: Lists, inputs: Inputs, part: Partition, replica: Replica, known: List, kind: int) -> None:
    """An event for each range of known records that the leader before held and the new one did not begin with.

    Of those that were acknowledged it is an event of its own kind where they have acks=0.
    """
    work, lost = lists.work, lists.filled[0].lost
    clear(lost)
    for place in every(known):
        entry = lists.ranges[place]
        for at in every(lists.filled[0].held):
            if work[at].epoch != entry.epoch:
                continue
            common = work[last(lists.filled[0].held) + 1]
            common.epoch = entry.epoch
            common.from_offset = max(entry.from_offset, work[at].from_offset)
            common.to_offset = min(entry.to_offset, work[at].to_offset)
            if common.from_offset < common.to_offset:
                add_without(lists.ranges, common, part.lead_entries, part.lead_log_start, work, lost)
    for at in every(lost):
        if kind == ACKED_LOST and part.sent.count:
            tell_of_lost_range(lists, inputs, part, replica.broker, work[at])
            continue
        tell(lists, part, kind, replica.broker, work[at].epoch, work[at].from_offset, work[at].to_offset, part.lead_cause)


@compiled
def may_lose_committed(inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> bool:
    """Whether so many replicas have lost records to faults that what is committed may be lost (D).

    Without eligible leader replicas one is enough (KIP-966, Motivation: the last replica standing); with them as many as
    min.insync.replicas (kip-966 of Vanlightly/kafka-tlaplus, NoCommittedRecordLostGlobally).
    """
    damaged = 0
    for other in range(part.slots):
        damaged += replicas[other].damaged_round <= part.now
    if inputs.scenarios[part.scenario].elr:
        return damaged >= min(inputs.settings[part.settings].min_insync_replicas, size(part.assigned))
    return damaged > 0


@compiled
def hold_against_committed(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, epoch: int) -> None:
    """An elected leader lacks committed records: LeaderCompleteness and its like, or its election gives them up (C, D).

    Suspect is what is lacking after faults that may lose it, where the leader is none of those that lost records (S2). A leader
    that does not run has to prove nothing (B).
    """
    work, lost = lists.work, lists.filled[0].lost
    may_lose = may_lose_committed(inputs, part, replicas)
    is_lossy = may_lose and replicas[slot].impaired
    if part.lead_unclean:
        part.unclean_epoch = epoch
    if is_lossy:
        part.lossy_epoch = epoch
    log_start = max(part.lead_log_start, part.expired_to)  # any leader may have expired what is older (F)
    if part.lead_unclean or is_lossy:
        clear(part.given_up)
        lacking_of(lists, part, part.committed, log_start)
        for at in every(lost):
            add_range(lists.ranges, part.given_up, work[at].epoch, work[at].from_offset, work[at].to_offset)
        return
    if not part.lead_runs:
        return
    part.missing_suspect = 1 if may_lose else 0
    lacking_of(lists, part, part.committed, log_start)
    for at in every(lost):
        add_range(lists.ranges, part.missing, work[at].epoch, work[at].from_offset, work[at].to_offset)
    for at in every(part.missing):
        tell_of_missing(lists, part, LEADER_COMPLETENESS, lists.ranges[at], part.missing_suspect, part.now)
    lacking_of(lists, part, part.acked_for_all, log_start)
    for at in every(lost):
        if sent_in_range(lists, inputs, part, work[at]) < work[at].to_offset - work[at].from_offset:
            tell_of_missing(lists, part, NO_ACKED_RECORD_LOST, work[at], part.missing_suspect, part.now)


@compiled
def lacking_of(lists: Lists, part: Partition, known: List, log_start: int) -> None:
    """Into `lost`: what of known records T did not begin with, though no election gave it up."""
    work, held, lost = lists.work, lists.filled[0].held, lists.filled[0].lost
    clear(held)
    for place in every(known):
        add_without(lists.ranges, lists.ranges[place], part.lead_entries, log_start, work, held)
    clear(lost)
    for at in every(held):
        without_given_up(lists, part, work[at], lost)


@compiled
def without_given_up(lists: Lists, part: Partition, records: RecordRange, kept: List) -> None:
    """Add to `kept` what of a range no election gave up."""
    begin, work = records.from_offset, lists.work
    epoch, end = records.epoch, records.to_offset
    for at in every(part.given_up):
        entry = lists.ranges[at]
        if entry.epoch != epoch or entry.to_offset <= begin:
            continue
        if entry.from_offset >= end:
            break
        add_range(work, kept, epoch, begin, entry.from_offset)
        begin = max(begin, entry.to_offset)
    add_range(work, kept, epoch, begin, end)


@compiled
def acknowledge_on_append(lists: Lists, part: Partition, replica: Replica, from_offset: int, to_offset: int) -> None:
    """acks 1, and 0 too: the latest range grows, or becomes one of the earlier ones, kept while above the high watermark."""
    if part.acked_to == from_offset and part.acked_to > part.acked_from:
        part.acked_to = to_offset
        return
    if part.acked_to > max(part.acked_from, replica.hw):
        forget_below_high_watermark(lists, part, replica)
        entry = lists.ranges[append(part.acked_ranges)]
        entry.epoch = part.client_epoch
        entry.from_offset = part.acked_from
        entry.to_offset = part.acked_to
    part.acked_from = from_offset
    part.acked_to = to_offset


@compiled
def forget_below_high_watermark(lists: Lists, part: Partition, replica: Replica) -> None:
    """What lies below T's high watermark is acknowledged anyway."""
    kept = part.acked_ranges.start
    for at in every(part.acked_ranges):
        if lists.ranges[at].to_offset > replica.hw:
            lists.ranges[kept].epoch = lists.ranges[at].epoch
            lists.ranges[kept].from_offset = lists.ranges[at].from_offset
            lists.ranges[kept].to_offset = lists.ranges[at].to_offset
            kept += 1
    if kept < part.acked_ranges.start + part.acked_ranges.count:
        part.acked_ranges.count = kept - part.acked_ranges.start
        part.acked_ranges.changes += 1
