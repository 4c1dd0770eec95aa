"""What a remote read gets of a segment: how far both are of one log, and how many records so many bytes are."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.records import Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.lineage import end_of_cached
from emulator.rounds.kafka.tier.records import RemoteSegment
from emulator.rounds.lists import every


@compiled
def end_of_lineage(lists: Lists, tiers: TierLists, segment: RemoteSegment, replica: Replica, position: int) -> int:
    """Up to where a segment and a log that agree on a position give offsets the same epochs."""
    first = tiers.whole[0].epochs.start + segment.first_epoch
    offset = position
    while offset <= segment.end_offset:
        at = epoch_within(tiers, segment, offset)
        there = place_in_cache(lists, replica, offset)
        if at < first or there < 0 or tiers.remote_epochs[at].epoch != lists.epochs[there].epoch:
            return offset
        end = segment.end_offset + 1 if at + 1 == first + segment.epochs else tiers.remote_epochs[at + 1].start_offset
        offset = min(end, max(offset + 1, end_of_cached(lists.epochs, replica.epochs, there, end)))
    return offset


@compiled
def epoch_within(tiers: TierLists, segment: RemoteSegment, offset: int) -> int:
    """Where the epoch of an offset stands among a segment's own, before the first below it."""
    first = tiers.whole[0].epochs.start + segment.first_epoch
    at = first + segment.epochs - 1
    while at >= first and tiers.remote_epochs[at].start_offset > offset:
        at -= 1
    return at


@compiled
def place_in_cache(lists: Lists, replica: Replica, offset: int) -> int:
    """Where the entry of an offset stands in a replica's epoch cache, -1 below its first."""
    found = -1
    for at in every(replica.epochs):
        if lists.epochs[at].start_offset <= offset:
            found = at
    return found


@compiled
def is_gone(segment: RemoteSegment) -> bool:
    """Whether a segment's data was deleted."""
    return segment.stored_bytes < segment.size_bytes


@compiled
def bytes_between(segment: RemoteSegment, from_offset: int, to_offset: int) -> int:
    """Bytes of a segment's records [from, to): the first k of its n have floor(bytes * k / n)."""
    records = segment.end_offset - segment.base_offset + 1
    end = segment.size_bytes * (to_offset - segment.base_offset) // records
    return end - segment.size_bytes * (from_offset - segment.base_offset) // records


@compiled
def end_within(segment: RemoteSegment, position: int, end: int, limit_bytes: int) -> int:
    """Where a read ends that may have so many bytes, one record at least."""
    if bytes_between(segment, position, end) <= limit_bytes:
        return end
    records = segment.end_offset - segment.base_offset + 1
    most = segment.size_bytes * (position - segment.base_offset) // records + limit_bytes
    return max(position + 1, segment.base_offset + ((most + 1) * records - 1) // segment.size_bytes)
