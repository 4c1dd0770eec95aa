"""Readers of a partition between two stretches, and what becomes of them at the end of the run."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import ReaderLists
from emulator.rounds.kafka.reading.stretches import end_stretch
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.words import Words
from emulator.rounds.leaps import remember
from emulator.rounds.lists import every
from emulator.rounds.packed import load, store
from emulator.rounds.records import Rows
from emulator.rounds.slots import MAX_SLOTS


@compiled
def load_readers(old: State, readers: ReaderLists, part: Partition, number: int, words: Words) -> None:
    """A partition's records and lists of reading into the scratch arrays; none where no partition of the block is read."""
    whole = readers.whole[0]
    if len(old.reading) == 0:
        whole.readers.count = 0
        return
    remember(words.old_reading[number], words.reading[0])
    load(whole.readers, old.readers, number, words.readers, 0, len(words.readers))
    load(whole.waits, old.waits, number, words.waits, 0, len(words.waits))
    load(whole.ranges, old.read_ranges, number, words.read_ranges, 0, len(words.read_ranges))
    room = len(words.cached) // MAX_SLOTS
    for slot in range(part.slots):
        at = part.first_replica + slot
        remember(words.old_served[at], words.served[slot])
        load(readers.served[slot].cached, old.cached, at, words.cached, slot * room, room)


@compiled
def store_readers(new: State, readers: ReaderLists, part: Partition, number: int, words: Words) -> bool:
    """Pack what `load_readers` loaded. False: there is no room."""
    if len(new.reading) == 0:
        return True
    whole = readers.whole[0]
    fits = store(whole.readers, new.readers, number, words.readers)
    fits = fits and store(whole.waits, new.waits, number, words.waits)
    fits = fits and store(whole.ranges, new.read_ranges, number, words.read_ranges)
    for slot in range(part.slots):
        at = part.first_replica + slot
        fits = fits and store(readers.served[slot].cached, new.cached, at, words.cached)
        remember(words.served[slot], words.new_served[at])
    remember(words.reading[0], words.new_reading[number])
    return fits


@compiled
def is_reading_full(readers: ReaderLists, part: Partition) -> int:
    """Not 0: a list of the partition's readers had no room."""
    whole = readers.whole[0]
    full = whole.readers.full | whole.waits.full | whole.ranges.full
    for slot in range(part.slots):
        full |= readers.served[slot].cached.full
    return full


@compiled
def end_reading(lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """The run is over: so are stretches without records."""
    for at in every(readers.whole[0].readers):
        end_stretch(lists, readers, inputs, part, replicas, readers.readers[at])
