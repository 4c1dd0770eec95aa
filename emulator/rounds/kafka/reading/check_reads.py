"""What must hold of everything that groups read (docs/consumer_rounds.md, Invariants); what breaks it is written down.

A read is of parts, each of one epoch. An invariant that several parts of a read break is told of once.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.invariants import (
    READ_ACCOUNTED,
    READ_COMMITTED,
    READ_CONSISTENTLY,
    READS_LINEAGE,
    READS_ONE_LOG,
    RESET_ONLY_IF_GONE,
)
from emulator.rounds.kafka.leaderships import own_start
from emulator.rounds.kafka.reading.read_ranges import add_read, other_epoch_in
from emulator.rounds.kafka.reading.records import ABOVE_END, BELOW_START, Reader, ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tier.lineage import epoch_of_offset
from emulator.rounds.kafka.witness import new_violation
from emulator.rounds.lists import every, last
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def tell_of_read(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    invariant: int,
    slot: int,
    epoch: int,
    from_offset: int,
    to_offset: int,
    other_epoch: int,
) -> None:
    """A row of `violations`: what was read of whom, and the epoch that it should have, UNKNOWN if that is not the point."""
    if has(reader.broken, invariant):
        return
    reader.broken |= 1 << invariant
    replica = replicas[slot]
    row = lists.violations[new_violation(lists, part, invariant, 0)]
    row.group = inputs.wants[reader.want].group
    row.cause = replica.cause
    row.broker = replica.broker
    row.leader_epoch = other_epoch
    row.leo = replica.leo
    row.hw = replica.hw
    row.from_offset = from_offset
    row.to_offset = to_offset
    row.records_epoch = epoch


@compiled_into_callers
def check_begin(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader, slot: int) -> None:
    """What a read at the position says of what came before it: ReadsOneLog, ReadAccounted.

    ReadsOneLog: the record before the position is, by the replica's epochs, the one that the reader read there; but where the
    check of its position does not see that, which Kafka allows (P).
    """
    replica, position = replicas[slot], reader.position
    reader.broken = 0
    if reader.goes_on and not reader.misled and position > replica.log_start:
        epoch = epoch_of_offset(lists.epochs, replica.epochs, position - 1)
        if epoch != reader.epoch:
            begin = position - 1
            tell_of_read(lists, inputs, part, replicas, reader, READS_ONE_LOG, slot, reader.epoch, begin, position, epoch)
    if position > reader.accounted_to:
        begin = reader.accounted_to
        tell_of_read(lists, inputs, part, replicas, reader, READ_ACCOUNTED, slot, UNKNOWN, begin, position, UNKNOWN)
        reader.accounted_to = position


@compiled_into_callers
def account_for(reader: Reader, from_offset: int, to_offset: int) -> None:
    """Records were read, or are known to be skipped."""
    if from_offset <= reader.accounted_to:
        reader.accounted_to = max(reader.accounted_to, to_offset)


@compiled_into_callers
def check_read(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    epoch: int,
    from_offset: int,
    to_offset: int,
) -> None:
    """Hold a part of a read against ReadCommitted, ReadsLineage and ConsistentRead, and remember it."""
    replica = replicas[slot]
    if to_offset > replica.hw:
        begin = max(from_offset, replica.hw)
        tell_of_read(lists, inputs, part, replicas, reader, READ_COMMITTED, slot, epoch, begin, to_offset, UNKNOWN)
    elif not is_committed(lists, part, epoch, from_offset, to_offset):
        tell_of_read(lists, inputs, part, replicas, reader, READ_COMMITTED, slot, epoch, from_offset, to_offset, UNKNOWN)
    check_lineage(lists, inputs, part, replicas, reader, slot, epoch, from_offset, to_offset)
    since = max(part.unclean_epoch, part.lossy_epoch)  # what was read before it is lost, others take its place (Q)
    if epoch >= since:
        other = other_epoch_in(readers.read_ranges, readers.whole[0].ranges, since, epoch, from_offset, to_offset)
        if other != UNKNOWN:
            tell_of_read(lists, inputs, part, replicas, reader, READ_CONSISTENTLY, slot, epoch, from_offset, to_offset, other)
        add_read(readers.read_ranges, readers.whole[0].ranges, epoch, from_offset, to_offset)


@compiled_into_callers
def check_lineage(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    epoch: int,
    from_offset: int,
    to_offset: int,
) -> None:
    """ReadsLineage: what is read is what the replica's epoch cache says of its offsets."""
    cache = replicas[slot].epochs
    at = last(cache)
    while at >= cache.start and lists.epochs[at].start_offset > from_offset:
        at -= 1
    if at < cache.start or lists.epochs[at].epoch != epoch:
        other = UNKNOWN if at < cache.start else lists.epochs[at].epoch
        tell_of_read(lists, inputs, part, replicas, reader, READS_LINEAGE, slot, epoch, from_offset, to_offset, other)
    elif at < last(cache) and lists.epochs[at + 1].start_offset < to_offset:
        begin, other = lists.epochs[at + 1].start_offset, lists.epochs[at + 1].epoch
        tell_of_read(lists, inputs, part, replicas, reader, READS_LINEAGE, slot, epoch, begin, to_offset, other)


@compiled
def is_committed(lists: Lists, part: Partition, epoch: int, from_offset: int, to_offset: int) -> bool:
    """Whether records [from, to) of an epoch were committed: by T, or by a leader before it."""
    reached = from_offset
    own = own_start(part)
    if own != UNKNOWN and epoch == part.client_epoch and own <= reached:
        reached = max(reached, part.lead_hw)
    while reached < to_offset:
        before = reached
        for at in every(part.lead_entries):
            entry = lists.ranges[at]
            if entry.epoch == epoch and entry.from_offset <= reached:
                reached = max(reached, min(entry.to_offset, part.lead_hw))
        for at in every(part.committed):
            entry = lists.ranges[at]
            if entry.epoch == epoch and entry.from_offset <= reached:
                reached = max(reached, entry.to_offset)
        if own != UNKNOWN and epoch == part.client_epoch and own <= reached:
            reached = max(reached, part.lead_hw)
        if reached == before:
            return False
    return True


@compiled
def check_reset(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader, cause: int) -> None:
    """ResetOnlyIfGone: a position that is below T's log start, or above its end, is not in T's log, if there was a T ever (R)."""
    if part.client_leader == NOBODY or cause not in (BELOW_START, ABOVE_END):
        return
    leader, position = replicas[part.client_leader], reader.position
    start = leader.log_start if inputs.settings[part.settings].tiered else leader.local_start
    reader.broken = 0
    if start <= position <= leader.leo:
        slot = part.client_leader
        tell_of_read(lists, inputs, part, replicas, reader, RESET_ONLY_IF_GONE, slot, reader.epoch, position, position, UNKNOWN)
