"""The pieces of a remote read, each of one segment: where they begin and end, and how far so many bytes of them go."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Rules
from emulator.rounds.kafka.reading.records import ReaderLists, RemoteRead, Want
from emulator.rounds.kafka.reading.within_segment import bytes_between, end_of_lineage, end_within, is_gone
from emulator.rounds.kafka.records import Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.lineage import epoch_of_offset
from emulator.rounds.kafka.tier.metadata import look_up
from emulator.rounds.lists import append


@compiled
def segment_for(lists: Lists, tiers: TierLists, replica: Replica, slot: int, offset: int, rules: Rules) -> int:
    """The number of the segment that a broker looks up for an offset, -1 if it knows of none."""
    epoch = epoch_of_offset(lists.epochs, replica.epochs, offset)
    return -1 if epoch == UNKNOWN else look_up(tiers, tiers.replicas[slot], epoch, offset, rules)


@compiled
def add_pieces(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    read: RemoteRead,
    replica: Replica,
    want: Want,
    number: int,
    replica_end: int,
    rules: Rules,
) -> None:
    """Give a read its first piece, of the segment with this number, and the next ones as far as its round may bring them.

    Where the limits of a segment end a piece the read goes on in what the broker looks up there, up to the end of what it gives
    out (`replica_end`) and to its own log; a segment that it does not know, or whose data is gone, is left to the next round.
    """
    pieces = lists.filled[0].pieces
    read.first_piece = pieces.start + pieces.count
    most_end = replica.leo if want.records_per_round == UNKNOWN else read.begin + want.records_per_round
    begin, fetches, size_bytes = read.begin, want.remote_fetches, 0
    read.end = begin
    while number >= 0:
        segment = tiers.remote[tiers.whole[0].segments.start + number]
        limit = segment.end_offset + 1
        if rules.reads_within_lineage:
            limit = min(limit, max(read.begin + 1, replica_end))
            limit = min(limit, end_of_lineage(lists, tiers, segment, replica, begin))
        if begin > read.begin and (limit <= begin or is_gone(segment)):
            break
        piece = readers.pieces[append(pieces)]
        piece.segment, piece.begin, piece.limit = number, begin, limit
        while fetches > 0 and read.end < limit:
            read.end = end_within(segment, read.end, limit, want.request_bytes)
            fetches -= 1
        size_bytes += bytes_between(segment, begin, limit)
        number = -1
        if fetches > 0 and size_bytes <= read.limit_bytes and begin < limit < min(most_end, replica_end, replica.local_start):
            number = segment_for(lists, tiers, replica, read.slot, limit, rules)
        begin = limit
    if want.records_per_round != UNKNOWN:
        read.end = min(read.end, most_end)
    read.pieces = pieces.start + pieces.count - read.first_piece


@compiled_into_callers
def pieces_of(read: RemoteRead) -> range:
    """Where the pieces of a read are, first to last."""
    return range(read.first_piece, read.first_piece + read.pieces)


@compiled
def end_of_bytes(tiers: TierLists, readers: ReaderLists, read: RemoteRead, end: int, limit_bytes: int) -> int:
    """Where a read ends that may have so many bytes, one record of its first piece at least; at `end` at the latest."""
    found, left = read.begin, limit_bytes
    for at in pieces_of(read):
        piece = readers.pieces[at]
        segment, until = tiers.remote[tiers.whole[0].segments.start + piece.segment], min(end, piece.limit)
        if found >= end or (found > read.begin and bytes_between(segment, found, found + 1) > left):
            break
        found = end_within(segment, piece.begin, until, left)
        left -= bytes_between(segment, piece.begin, found)
        if found < until:
            break
    return found


@compiled
def bytes_up_to(tiers: TierLists, readers: ReaderLists, read: RemoteRead, end: int) -> int:
    """Bytes of a read that ends there."""
    size_bytes = 0
    for at in pieces_of(read):
        piece = readers.pieces[at]
        if piece.begin < end:
            segment = tiers.remote[tiers.whole[0].segments.start + piece.segment]
            size_bytes += bytes_between(segment, piece.begin, min(end, piece.limit))
    return size_bytes
