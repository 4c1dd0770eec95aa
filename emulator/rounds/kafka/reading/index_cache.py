"""The indexes of remote segments that a broker keeps (RemoteIndexCache): the least recently used go first."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.entries import remove
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import CachedIndex, ReaderLists
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.lists import List, append, every, last
from emulator.rounds.records import Rows

ENTRY_BYTES = 8 + 12
"""Of an offset index and a time index, for every index.interval.bytes of a segment."""


@compiled
def bytes_of_indexes(segment_bytes: int, interval_bytes: int) -> int:
    """Bytes that the indexes of a segment take in the cache."""
    return ENTRY_BYTES * max(1, segment_bytes // interval_bytes)


@compiled
def is_cached(cached: Rows[CachedIndex], entries: List, segment: int) -> bool:
    """Whether the broker has a segment's indexes."""
    return place_behind(cached, entries, entries.start - 1, segment) >= 0


@compiled
def use_index(cached: Rows[CachedIndex], entries: List, segment: int, size_bytes: int, limit_bytes: int) -> None:
    """Keep a segment's indexes, which are used last now, as long as all fit."""
    place = place_behind(cached, entries, entries.start - 1, segment)
    if 0 <= place < last(entries):
        remove(cached, entries, place, 1)
        place = -1
    if place < 0:
        place = append(entries)
    cached[place].segment = segment
    cached[place].size_bytes = size_bytes
    keep_within(cached, entries, limit_bytes)


@compiled
def keep_within(cached: Rows[CachedIndex], entries: List, limit_bytes: int) -> None:
    """Only so much is kept: the least recently used go (RemoteIndexCache.resizeCacheSize does it at once, too)."""
    total = 0
    for at in every(entries):
        total += cached[at].size_bytes
    while total > limit_bytes and entries.count > 0:
        total -= cached[entries.start].size_bytes
        remove(cached, entries, entries.start, 1)


@compiled
def room_for_indexes(inputs: Inputs, part: Partition, replica: Replica) -> int:
    """Bytes of indexes that a broker keeps."""
    room = inputs.spans[replica.span].index_cache_bytes
    return inputs.settings[part.settings].index_cache_bytes if room == UNKNOWN else room


@compiled
def room_may_change(inputs: Inputs, part: Partition, replica: Replica) -> bool:
    """Whether what says how many begins in this round."""
    return part.now in (inputs.spans[replica.span].from_round, inputs.settings[part.settings].from_round)


@compiled
def used_last(readers: ReaderLists, entries: List, reads: List, slot: int) -> bool:
    """Whether the reads of a replica use, in their order, the last indexes that its broker keeps, which are as before then.

    Not asked of reads of several pieces: no leap goes on after one of them.
    """
    cached, place = readers.cached, last(entries)
    for at in range(reads.start + reads.count - 1, reads.start - 1, -1):
        read = readers.reads[at]
        piece = readers.pieces[read.first_piece]
        if read.slot != slot or read.waits:
            continue
        if read.wanted_end > piece.limit:
            return False
        if place_behind(cached, entries, place, piece.segment) >= 0:
            continue
        if place < entries.start or cached[place].segment != piece.segment:
            return False
        place -= 1
    return True


@compiled
def place_behind(cached: Rows[CachedIndex], entries: List, place: int, segment: int) -> int:
    """Where a segment's indexes stand behind a place, -1: nowhere."""
    for at in range(place + 1, entries.start + entries.count):
        if cached[at].segment == segment:
            return at
    return -1
