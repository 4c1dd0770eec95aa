"""NoCommittedRecordLost: a committed record that a leader lacks is in some replica's log, on whatever broker, running or not.

Vanlightly/kafka-tlaplus, kip-966: NoCommittedRecordLostGlobally. LeaderCompleteness is of the leader's log alone; a record that
it lacks may still be on a replica that the leader will cut. Looked at while T lacks any.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import FOREVER
from emulator.rounds.kafka.epochs import own_end_of
from emulator.rounds.kafka.invariants import NO_COMMITTED_RECORD_LOST, SUSPECTED
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.witness import tell_of_missing
from emulator.rounds.lists import clear, every, last
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def follow_losses(lists: Lists, part: Partition, replicas: Rows[Replica]) -> int:
    """The bit of NoCommittedRecordLost if some of what T lacks is in no log; its rows in the first round in which it is so."""
    bit = NO_COMMITTED_RECORD_LOST + (SUSPECTED if part.missing_suspect else 0)
    is_told, found = has(replicas[0].broken, bit), False
    held = lists.filled[0].held
    clear(held)
    piece = lists.work[held.start]
    kept_from = max(replicas[part.client_leader].log_start, part.expired_to)
    for at in every(part.missing):
        epoch, end = lists.ranges[at].epoch, lists.ranges[at].to_offset
        offset = max(lists.ranges[at].from_offset, kept_from)
        while offset < end:
            next_held = end
            held_to = offset
            for slot in range(part.slots):
                held_to = max(held_to, end_in_log(lists, replicas[slot], epoch, offset))
                next_held = min(next_held, first_in_log(lists, replicas[slot], epoch, offset))
            if held_to == offset:
                found = True
                if not is_told:
                    piece.epoch, piece.from_offset, piece.to_offset = epoch, offset, next_held
                    tell_of_missing(lists, part, NO_COMMITTED_RECORD_LOST, piece, part.missing_suspect, part.now)
                held_to = next_held
            offset = held_to
    return 1 << bit if found else 0


@compiled
def end_in_log(lists: Lists, replica: Replica, epoch: int, offset: int) -> int:
    """Up to where a log has records of an epoch from an offset on; the offset if it has not that one."""
    for at in every(replica.epochs):  # what is remote only, its cache says
        begin = max(lists.epochs[at].start_offset, replica.log_start)
        end = min(own_end_of(lists.epochs, replica, at), replica.local_start)
        if lists.epochs[at].epoch == epoch and begin <= offset < end:
            offset = end
    for at in every(replica.runs):
        end = replica.leo if at == last(replica.runs) else lists.runs[at + 1].start_offset
        begin = max(lists.runs[at].start_offset, replica.local_start)
        if lists.runs[at].epoch == epoch and begin <= offset < end:
            offset = end
    return offset


@compiled
def first_in_log(lists: Lists, replica: Replica, epoch: int, offset: int) -> int:
    """The first offset, from one on, at which a log has a record of an epoch; FOREVER if there is none."""
    first = FOREVER
    for at in every(replica.epochs):
        begin = max(lists.epochs[at].start_offset, replica.log_start, offset)
        if lists.epochs[at].epoch == epoch and begin < min(own_end_of(lists.epochs, replica, at), replica.local_start):
            first = min(first, begin)
    for at in every(replica.runs):
        end = replica.leo if at == last(replica.runs) else lists.runs[at + 1].start_offset
        begin = max(lists.runs[at].start_offset, replica.local_start, offset)
        if lists.runs[at].epoch == epoch and begin < end:
            first = min(first, begin)
    return first
