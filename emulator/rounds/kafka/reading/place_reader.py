"""Where a reader is: start, reset, and the check of its position against a new leader (KIP-320; OffsetFetcherUtils)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NO_EPOCH, NOBODY
from emulator.rounds.kafka.epochs import end_of_epoch
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.reading.check_reads import account_for, check_reset
from emulator.rounds.kafka.reading.in_hand import give_up_fetch
from emulator.rounds.kafka.reading.read_ranges import forget_reads
from emulator.rounds.kafka.reading.records import (
    EARLIEST,
    EPOCH_UNKNOWN,
    LATEST,
    LOSS,
    NO_CAUSE,
    NO_POLICY,
    NO_POSITION,
    NO_START,
    OFFSET_UNAVAILABLE,
    SKIP,
    TRUNCATED_LOG,
    Reader,
    ReaderLists,
    Want,
)
from emulator.rounds.kafka.reading.stretches import end_stretch, note_unread, wait
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.duties import last_stable_offset
from emulator.rounds.records import Rows


@compiled_into_callers
def committed_end(part: Partition, replicas: Rows[Replica]) -> int:
    """The high watermark of T, or of the last one."""
    return 0 if part.client_leader == NOBODY else replicas[part.client_leader].hw


@compiled_into_callers
def end_for(tiers: TierLists, replica: Replica, want: Want, rules: Rules) -> int:
    """Where what a replica gives out ends: its high watermark, or its last stable offset."""
    if not rules.reads_committed_only:
        return replica.leo
    return last_stable_offset(tiers, replica) if want.reads_committed else replica.hw


@compiled_into_callers
def place_reader(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    rules: Rules,
) -> bool:
    """Start, reset or check a position at T, which serves; whether this was the answer of the round."""
    is_new = reader.leader != part.client_leader or reader.leader_epoch != part.client_epoch
    if is_new:
        reader.leader = part.client_leader
        reader.leader_epoch = part.client_epoch
        reader.replica = NOBODY
        give_up_fetch(reader)
    if reader.position == NO_POSITION or reader.reset_cause != NO_CAUSE:
        find_position(lists, tiers, readers, inputs, part, replicas, reader, rules)
        return True
    if is_new and reader.epoch != NO_EPOCH and rules.checks_position:
        return check_position(lists, tiers, readers, inputs, part, replicas, reader, rules)
    return False


@compiled
def check_position(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    rules: Rules,
) -> bool:
    """Ask T where the position's epoch ends (OffsetsForLeaderEpochClient); whether that says more than "go on".

    Kafka's client compares offsets only (SubscriptionState.maybeCompleteValidation): where T has another epoch up to the position
    it goes on, misled.
    """
    leader = replicas[part.client_leader]
    epoch, end = end_of_epoch(lists.epochs, leader, leader.epochs.count, leader.leo, reader.epoch)
    if epoch == NO_EPOCH:
        reset(lists, tiers, readers, inputs, part, replicas, reader, EPOCH_UNKNOWN, rules)
        return True
    if end >= reader.position:
        if epoch != reader.epoch:
            reader.misled = 1
        return False
    end_stretch(lists, readers, inputs, part, replicas, reader)
    reader.truncations += 1
    lose(lists, readers, inputs, part, reader, end, TRUNCATED_LOG)
    if inputs.wants[reader.want].reset == NO_POLICY:
        reader.stopped = TRUNCATED_LOG
    else:
        reader.position = end
        reader.epoch = epoch
    return True


@compiled
def reset(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    cause: int,
    rules: Rules,
) -> None:
    """The position cannot be read: find another one by auto.offset.reset, or stop, as its application sees the error."""
    check_reset(lists, inputs, part, replicas, reader, cause)
    reader.reset_cause = cause
    if inputs.wants[reader.want].reset == NO_POLICY:
        end_stretch(lists, readers, inputs, part, replicas, reader)
        reader.stopped = cause
    else:
        find_position(lists, tiers, readers, inputs, part, replicas, reader, rules)


@compiled
def find_position(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    rules: Rules,
) -> None:
    """Ask T for its log start or its end (ListOffsets); right after its election it may not know its end yet (KIP-207)."""
    want, leader = inputs.wants[reader.want], replicas[part.client_leader]
    found = want.begins_at if reader.position == NO_POSITION else want.reset
    if found == NO_POLICY:
        reader.stopped = NO_START
        return
    if found == LATEST:
        if leader.hw < part.epoch_start:
            end = committed_end(part, replicas)
            wait(lists, readers, inputs, part, replicas, reader, OFFSET_UNAVAILABLE, NOBODY, end)
            return
        found = end_for(tiers, leader, want, rules)
    elif found == EARLIEST:
        found = leader.log_start
    if reader.position != found:
        end_stretch(lists, readers, inputs, part, replicas, reader)
    if reader.position == NO_POSITION:
        reader.position = found
        reader.accounted_to = found
        reader.epoch = NO_EPOCH
        reader.goes_on = 0
        return
    old, cause = reader.position, reader.reset_cause
    move_to(lists, readers, inputs, part, reader, found, leader.leo)
    if found == old:
        wait(lists, readers, inputs, part, replicas, reader, cause, part.client_leader, committed_end(part, replicas))


@compiled
def move_to(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, reader: Reader, position: int, log_end: int
) -> None:
    """Another position instead of one that cannot be read: what lies between is skipped, read again, or lost."""
    old, cause = reader.position, reader.reset_cause
    reader.resets += 1
    if position > old:
        reader.skipped += position - old
        note_unread(lists, readers, inputs, part, reader, SKIP, part.now, part.now, old, position, cause, -1)
        account_for(reader, old, position)
    reader.read_again += max(0, min(old, log_end) - position)
    if reader.epoch != NO_EPOCH:
        lose(lists, readers, inputs, part, reader, log_end, cause)
    reader.position = position
    give_up_fetch(reader)
    reader.epoch = NO_EPOCH
    reader.reset_cause = NO_CAUSE
    reader.goes_on = 0


@compiled
def lose(lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, reader: Reader, end: int, cause: int) -> None:
    """What was read from an offset on is not in T's log any more."""
    if end < reader.position:
        reader.read_lost += reader.position - end
        note_unread(lists, readers, inputs, part, reader, LOSS, part.now, part.now, end, reader.position, cause, -1)
        forget_reads(readers.read_ranges, readers.whole[0].ranges, end)
        reader.goes_on = 0
