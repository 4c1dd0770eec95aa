"""Sets of records as ranges (epoch, from offset, to offset): a record is (offset, epoch), so sets of them are few rows.

A set is a list of disjoint ranges, by epoch and offset; ranges that touch are one.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.entries import make_place, remove
from emulator.rounds.kafka.epochs import own_end_of
from emulator.rounds.kafka.list_records import EpochEntry, RecordRange, Run
from emulator.rounds.kafka.records import Replica
from emulator.rounds.lists import List, append, every, last
from emulator.rounds.records import Rows


@compiled
def add_range(ranges: Rows[RecordRange], known: List, epoch: int, from_offset: int, to_offset: int) -> None:
    """Add records [from, to) of an epoch to a set."""
    if from_offset >= to_offset:
        return
    at = place_in(ranges, known, epoch, from_offset)
    end = known.start + known.count
    if at < end and ranges[at].epoch == epoch and ranges[at].from_offset <= to_offset:
        if ranges[at].from_offset <= from_offset and to_offset <= ranges[at].to_offset:
            return
        known.changes += 1
        ranges[at].from_offset = min(ranges[at].from_offset, from_offset)
        ranges[at].to_offset = max(ranges[at].to_offset, to_offset)
        swallow_next(ranges, known, at)
        return
    make_place(ranges, known, at)
    ranges[at].epoch = epoch
    ranges[at].from_offset = from_offset
    ranges[at].to_offset = to_offset


@compiled
def count_new(ranges: Rows[RecordRange], known: List, epoch: int, from_offset: int, to_offset: int) -> int:
    """How many records [from, to) of an epoch are not in a set."""
    count = max(to_offset - from_offset, 0)
    for at in every(known):
        if ranges[at].epoch == epoch:
            count -= max(min(ranges[at].to_offset, to_offset) - max(ranges[at].from_offset, from_offset), 0)
    return count


@compiled
def place_in(ranges: Rows[RecordRange], known: List, epoch: int, from_offset: int) -> int:
    """Where the first range stands that ends at or above an offset of an epoch, or is of a later one."""
    low, high = known.start, known.start + known.count
    while low < high:
        middle = (low + high) // 2
        entry = ranges[middle]
        if entry.epoch < epoch or (entry.epoch == epoch and entry.to_offset < from_offset):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def swallow_next(ranges: Rows[RecordRange], known: List, at: int) -> None:
    """A range has grown: those behind it that it touches become part of it."""
    gone = 0
    for behind in range(at + 1, known.start + known.count):
        if ranges[behind].epoch != ranges[at].epoch or ranges[behind].from_offset > ranges[at].to_offset:
            break
        ranges[at].to_offset = max(ranges[at].to_offset, ranges[behind].to_offset)
        gone += 1
    remove(ranges, known, at + 1, gone)


@compiled
def add_log(runs: Rows[Run], epochs: Rows[EpochEntry], replica: Replica, ranges: Rows[RecordRange], known: List) -> None:
    """Add all records of a log, from its log start on, in their order; for an empty list.

    Below the local log start the cache says whose they are.
    """
    for at in every(replica.epochs):
        begin = max(epochs[at].start_offset, replica.log_start)
        end = min(replica.local_start, own_end_of(epochs, replica, at))
        if begin < end:
            entry = ranges[append(known)]
            entry.epoch = epochs[at].epoch
            entry.from_offset = begin
            entry.to_offset = end
    for at in every(replica.runs):
        end = replica.leo if at == last(replica.runs) else runs[at + 1].start_offset
        begin = max(runs[at].start_offset, replica.local_start)
        if begin >= end:
            continue
        if known.count and ranges[last(known)].epoch == runs[at].epoch and ranges[last(known)].to_offset == begin:
            ranges[last(known)].to_offset = end
            continue
        entry = ranges[append(known)]
        entry.epoch = runs[at].epoch
        entry.from_offset = begin
        entry.to_offset = end


@compiled
def add_without(
    ranges: Rows[RecordRange], known: RecordRange, log: List, from_offset: int, found: Rows[RecordRange], missing: List
) -> None:
    """Add to `missing` what of a range, from an offset on, is not among the ranges of a log (by offset)."""
    begin = max(known.from_offset, from_offset)
    for at in every(log):
        entry = ranges[at]
        if entry.epoch != known.epoch or entry.to_offset <= begin:
            continue
        if entry.from_offset >= known.to_offset:
            break
        add_range(found, missing, known.epoch, begin, entry.from_offset)
        begin = max(begin, entry.to_offset)
    add_range(found, missing, known.epoch, begin, known.to_offset)


@compiled
def count_lacking(ranges: Rows[RecordRange], known: List, runs: Rows[Run], epochs: Rows[EpochEntry], replica: Replica) -> int:
    """How many records of a set, from a log's start on, the log lacks; what is not local is there if its cache has the epoch."""
    count = 0
    for place in every(known):
        entry = ranges[place]
        begin = max(entry.from_offset, replica.log_start)
        if begin >= entry.to_offset:
            continue
        count += entry.to_offset - begin
        for at in every(replica.runs):
            if runs[at].epoch != entry.epoch:
                continue
            end = replica.leo if at == last(replica.runs) else runs[at + 1].start_offset
            count -= max(0, min(end, entry.to_offset) - max(runs[at].start_offset, begin, replica.local_start))
        for at in every(replica.epochs):
            if epochs[at].epoch == entry.epoch:
                end = min(own_end_of(epochs, replica, at), replica.local_start, entry.to_offset)
                count -= max(0, end - max(epochs[at].start_offset, begin))
    return count
