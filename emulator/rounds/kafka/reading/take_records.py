"""The reader gets records: its position moves behind them, and is committed at once."""

from __future__ import annotations

from emulator.rounds.compiled import compiled_into_callers
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.check_reads import account_for
from emulator.rounds.kafka.reading.records import NO_RACK, Reader, ReaderLists
from emulator.rounds.kafka.reading.stretches import end_stretch
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.records import Rows


@compiled_into_callers
def take_records(
    lists: Lists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    end: int,
    epoch: int,
    size_bytes: int,
) -> None:
    """Records up to an end, the last one of an epoch."""
    end_stretch(lists, readers, inputs, part, replicas, reader)
    readers.served[slot].sent_bytes += size_bytes
    rack = inputs.wants[reader.want].rack
    account_for(reader, reader.position, end)
    reader.records += end - reader.position
    reader.position = end
    reader.epoch = epoch
    reader.goes_on = 1
    reader.misled = 0
    if slot != reader.leader:
        reader.follower_bytes += size_bytes
    if rack != NO_RACK and replicas[slot].rack != rack:
        reader.cross_rack_bytes += size_bytes
