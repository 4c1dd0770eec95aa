"""Writing down what happened: rows of `events`."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import BEFORE_THE_RUN, REFUSED, SEGMENT_ROLL, TRUNCATE, UNKNOWN
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.lists import append, last
from emulator.rounds.records import Rows


@compiled
def tell(lists: Lists, part: Partition, kind: int, broker: int, epoch: int, from_offset: int, to_offset: int, cause: int) -> None:
    """Write an event of this round. UNKNOWN offsets and epochs, and a cause of -1, are null in the table."""
    event = lists.events[append(lists.filled[0].events)]
    event.partition = part.place
    event.at_round = part.now
    event.kind = kind
    event.broker = broker
    event.leader_epoch = epoch
    event.from_offset = from_offset
    event.to_offset = to_offset
    event.cause = cause
    event.records = UNKNOWN


@compiled
def tell_of_some(
    lists: Lists, part: Partition, kind: int, broker: int, epoch: int, from_offset: int, to_offset: int, cause: int, records: int
) -> None:
    """Likewise, of so many of the records between two offsets; without a number where it is all of them."""
    tell(lists, part, kind, broker, epoch, from_offset, to_offset, cause)
    if records < to_offset - from_offset:
        lists.events[last(lists.filled[0].events)].records = records


@compiled
def tell_of_segment(lists: Lists, part: Partition, broker: int, epoch: int, base_offset: int) -> None:
    """A new segment begins."""
    tell(lists, part, SEGMENT_ROLL, broker, epoch, base_offset, UNKNOWN, -1)


@compiled
def tell_of_cut(lists: Lists, part: Partition, replica: Replica, epoch: int, old_leo: int) -> None:
    """A log was cut, if its end fell."""
    if replica.leo < old_leo:
        tell(lists, part, TRUNCATE, replica.broker, epoch, old_leo, replica.leo, replica.cause)


@compiled_into_callers
def note_refusals(lists: Lists, part: Partition, replicas: Rows[Replica], records: int) -> None:
    """T turns so many records away in this round: an event for as long as it is the same number in each."""
    slot = part.client_leader
    if records == part.refusing and (records == 0 or slot == part.refusing_slot):
        return
    end_refusals(lists, part, replicas)
    part.refusing = records
    part.refusing_slot = slot
    part.refusing_round = part.now
    part.refusing_epoch = part.client_epoch
    part.refusing_leo = replicas[slot].leo if slot >= 0 else 0


@compiled
def end_refusals(lists: Lists, part: Partition, replicas: Rows[Replica]) -> None:
    """Tell of a stretch of rounds that refused, which ends before this round."""
    if part.refusing == 0 or part.refusing_round == BEFORE_THE_RUN:
        return
    records = part.refusing * (part.now - part.refusing_round)
    event = lists.events[append(lists.filled[0].events)]
    event.partition = part.place
    event.at_round = part.refusing_round
    event.kind = REFUSED
    event.broker = replicas[part.refusing_slot].broker
    event.leader_epoch = part.refusing_epoch
    event.from_offset = part.refusing_leo
    event.to_offset = part.refusing_leo + records
    event.cause = -1
    event.records = UNKNOWN
    part.refusing = 0
