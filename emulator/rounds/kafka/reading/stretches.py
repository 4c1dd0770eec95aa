"""What a reader could not read: rows of `unread` (docs/consumer_rounds.md, What is counted)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NOBODY
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import (
    CAUSES,
    FOLLOWER_BEHIND,
    NO_CAUSE,
    NO_POSITION,
    NOT_COMMITTED,
    STRETCH,
    Reader,
    ReaderLists,
)
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.lists import append
from emulator.rounds.records import Rows


@compiled_into_callers
def is_commit_delay(cause: int) -> bool:
    """Causes that an ordinary round has too: records are committed, and known to be, in the round after they came."""
    return cause in (NOT_COMMITTED, FOLLOWER_BEHIND)


@compiled
def note_unread(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    reader: Reader,
    kind: int,
    from_round: int,
    last_round: int,
    from_offset: int,
    to_offset: int,
    cause: int,
    broker: int,
) -> None:
    """Write a row; broker -1: none was asked."""
    row = readers.unread[append(lists.filled[0].unread)]
    row.partition = part.place
    row.group = inputs.wants[reader.want].group
    row.kind = kind
    row.from_round = from_round
    row.to_round = last_round + 1
    row.from_offset = from_offset
    row.to_offset = to_offset
    row.cause = cause
    row.broker = broker


@compiled
def wait(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    cause: int,
    slot: int,
    to_offset: int,
) -> None:
    """Nothing can be read in this round, though there is something up to an offset, or the reader has not started yet."""
    waited = readers.waits[readers.whole[0].waits.start + reader.number * len(CAUSES) + cause]
    if reader.position == NO_POSITION:
        waited.waited_rounds += 1
        return
    if to_offset <= reader.position:
        return
    goes_on = reader.stretch_cause == cause and reader.stretch_slot == slot and reader.stretch_last == part.now - 1
    if not goes_on:
        end_stretch(lists, readers, inputs, part, replicas, reader)
        reader.stretch_cause = cause
        reader.stretch_slot = slot
        reader.stretch_from = part.now
        reader.stretch_offset = reader.position
    reader.stretch_last = part.now
    reader.stretch_end = to_offset
    if goes_on or not is_commit_delay(cause):
        waited.waited_rounds += 1


@compiled_into_callers
def end_stretch(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader
) -> None:
    """The reader can read again, or is not in force, or the run is over."""
    if reader.stretch_cause != NO_CAUSE:
        write_stretch(lists, readers, inputs, part, replicas, reader)


@compiled
def write_stretch(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader
) -> None:
    """A row for the stretch that is over, unless it is a single round of what every round has."""
    cause, first = reader.stretch_cause, reader.stretch_from
    reader.stretch_cause = NO_CAUSE
    if is_commit_delay(cause):
        first += 1
    if first > reader.stretch_last:
        return
    broker = -1 if reader.stretch_slot == NOBODY else replicas[reader.stretch_slot].broker
    begin, end = reader.stretch_offset, reader.stretch_end
    note_unread(lists, readers, inputs, part, reader, STRETCH, first, reader.stretch_last, begin, end, cause, broker)
