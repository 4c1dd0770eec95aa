"""The pieces of a remote read: which segments it goes through, and where records and whole fetches of them end.

Choices where docs/consumer_rounds.md is silent:

* A piece that begins below the local log start may go beyond it: it ends with the limits of its segment.
* In the mutant that goes on to a segment's end, the next piece is of the segment that B's own epochs give for the offset
  behind that end: what the read has passed over stays passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..log import Log
from ..partition import Replica
from ..tiered.metadata import RemoteSegment
from .settings import Row
from .site import Site
from .sources import remote_bytes


class Piece(NamedTuple):
    """What a read may take of a segment: from where it gets there, [begin, end) within the limits of the segment."""

    segment: RemoteSegment
    begin: int
    end: int


def pieces_from(site: Site, row: Row, replica: Replica, position: int, most: int) -> list[Piece]:
    """So many pieces at the most, one behind the other; none if B knows no segment that has the position.

    That the data of the first one was deleted is an error of the read; any other one is not begun then.
    """
    log, end = replica.log, site.end_of(replica, row)
    index = site.partition.index_of(replica.broker)
    pieces: list[Piece] = []
    offset = position
    while len(pieces) < most:
        epoch = log.cache.epoch_of(offset)
        segment = None if epoch is None else index.lookup(epoch, offset)
        if segment is None or (pieces and is_deleted(segment)):
            break
        piece_end = segment.end_offset + 1
        if site.rules.remote_within_lineage:
            piece_end = min(piece_end, max(end, offset + 1), _first_of_another_epoch(segment, log, offset))
        pieces.append(Piece(segment, offset, piece_end))
        offset = piece_end
        if offset >= min(end, log.local_log_start):
            break
    return pieces


def is_deleted(segment: RemoteSegment) -> bool:
    """Whether the data of a segment that was copied is not there any more."""
    return segment.stored_bytes < segment.size_bytes


def _first_of_another_epoch(segment: RemoteSegment, log: Log, position: int) -> int:
    """Up to where a segment and a log that agree on the position give its offsets the same epochs."""
    offset = position
    while offset <= segment.end_offset and segment.covers(log.cache.epoch_of(offset) or 0, offset):
        offset += 1
    return offset


def bytes_of_pieces(pieces: Sequence[Piece], begin: int, end: int) -> int:
    """Bytes of the records in [begin, end), of each segment by itself."""
    total = 0
    for piece in pieces:
        first, last = max(piece.begin, begin), min(piece.end, end)
        if first < last:
            total += remote_bytes(piece.segment, first, last)
    return total


def whole_records(pieces: Sequence[Piece], begin: int, last: int, limit_bytes: int) -> int:
    """Where records from `begin` on end, one at least, that have so many bytes together and are below `last`."""
    end, total = begin, 0
    for piece in pieces:
        while piece.begin <= end < min(piece.end, last):
            total += remote_bytes(piece.segment, end, end + 1)
            if end > begin and total > limit_bytes:
                return end
            end += 1
    return end


def whole_fetches(pieces: Sequence[Piece], begin: int, fetches: int, limit_bytes: int) -> int:
    """Where so many whole fetches end that follow each other from `begin` on, each of one piece."""
    end = begin
    for piece in pieces:
        while fetches > 0 and piece.begin <= end < piece.end:
            end = whole_records([piece], end, piece.end, limit_bytes)
            fetches -= 1
    return end
