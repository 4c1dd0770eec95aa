"""What anybody read of a partition: offsets with the epoch that the record there had, as disjoint ranges by offset."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.entries import make_place, remove
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import ReadRange
from emulator.rounds.lists import List, every, keep_first, last
from emulator.rounds.records import Rows


@compiled
def first_ending_above(ranges: Rows[ReadRange], known: List, offset: int) -> int:
    """Where the first range stands that ends above an offset; behind the last if none does."""
    low, high = known.start, known.start + known.count
    while low < high:
        middle = (low + high) // 2
        if ranges[middle].to_offset <= offset:
            low = middle + 1
        else:
            high = middle
    return low


@compiled_into_callers
def other_epoch_in(ranges: Rows[ReadRange], known: List, since: int, epoch: int, from_offset: int, to_offset: int) -> int:
    """The first other epoch, from `since` on, in which somebody read one of the offsets [from, to); UNKNOWN: nobody did."""
    if known.count == 0 or ranges[last(known)].to_offset <= from_offset:
        return UNKNOWN
    for at in range(first_ending_above(ranges, known, from_offset), known.start + known.count):
        if ranges[at].from_offset >= to_offset:
            break
        if ranges[at].epoch != epoch and ranges[at].epoch >= since:
            return ranges[at].epoch
    return UNKNOWN


@compiled_into_callers
def add_read(ranges: Rows[ReadRange], known: List, epoch: int, from_offset: int, to_offset: int) -> None:
    """Offsets [from, to) were read, in an epoch; what others said of them before is forgotten."""
    if known.count:
        newest = ranges[last(known)]
        if newest.epoch == epoch and newest.from_offset <= from_offset <= newest.to_offset:
            newest.to_offset = max(newest.to_offset, to_offset)
            return
    at = range_at_or_ending(ranges, known, from_offset)
    if at >= 0 and ranges[at].epoch == epoch and (at == last(known) or to_offset < ranges[at + 1].from_offset):
        ranges[at].to_offset = max(ranges[at].to_offset, to_offset)
        return
    replace_reads(ranges, known, epoch, from_offset, to_offset)


@compiled
def range_at_or_ending(ranges: Rows[ReadRange], known: List, offset: int) -> int:
    """Where the range stands that holds an offset, or ends at it; -1: there is none."""
    at = first_ending_above(ranges, known, offset - 1)
    return at if at < known.start + known.count and ranges[at].from_offset <= offset else -1


@compiled
def replace_reads(ranges: Rows[ReadRange], known: List, epoch: int, from_offset: int, to_offset: int) -> None:
    """As `add_read`, anywhere among the ranges."""
    at = first_ending_above(ranges, known, from_offset)
    end = known.start + known.count
    if at < end and ranges[at].epoch == epoch and ranges[at].from_offset <= from_offset and to_offset <= ranges[at].to_offset:
        return
    if at < end and ranges[at].from_offset < from_offset:  # its first part stays
        split(ranges, known, at, from_offset)
        at += 1
    while at < known.start + known.count and ranges[at].from_offset < to_offset:
        if ranges[at].to_offset <= to_offset:
            remove(ranges, known, at, 1)
        else:
            ranges[at].from_offset = to_offset
            known.changes += 1
    insert_range(ranges, known, at, epoch, from_offset, to_offset)
    join_with_next(ranges, known, at)
    if at > known.start:
        join_with_next(ranges, known, at - 1)


@compiled
def split(ranges: Rows[ReadRange], known: List, at: int, offset: int) -> None:
    """Cut a range in two at an offset within it."""
    end = ranges[at].to_offset
    ranges[at].to_offset = offset
    insert_range(ranges, known, at + 1, ranges[at].epoch, offset, end)


@compiled
def insert_range(ranges: Rows[ReadRange], known: List, at: int, epoch: int, from_offset: int, to_offset: int) -> None:
    """A range at a place; those from there on move down."""
    make_place(ranges, known, at)
    ranges[at].epoch = epoch
    ranges[at].from_offset = from_offset
    ranges[at].to_offset = to_offset


@compiled
def join_with_next(ranges: Rows[ReadRange], known: List, at: int) -> None:
    """Make one of a range and the next, where they touch and are of one epoch."""
    if at >= last(known) or ranges[at].epoch != ranges[at + 1].epoch or ranges[at].to_offset < ranges[at + 1].from_offset:
        return
    ranges[at].to_offset = ranges[at + 1].to_offset
    remove(ranges, known, at + 1, 1)


@compiled
def forget_reads(ranges: Rows[ReadRange], known: List, offset: int) -> None:
    """What was read from an offset on is gone: something else may be read there."""
    kept = 0
    for at in every(known):
        kept += ranges[at].from_offset < offset
    keep_first(known, kept)
    if kept and ranges[last(known)].to_offset > offset:
        ranges[last(known)].to_offset = offset
        known.changes += 1
