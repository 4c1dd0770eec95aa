"""Remote reads: what the store allows, what is in hand, and requests with their index."""

from __future__ import annotations

from ..fetching import full_fetches
from ..partition import Replica
from ..tiered.metadata import RemoteSegment
from ..tiered.store import copy_bytes
from .pieces import Piece, bytes_of_pieces, is_deleted, pieces_from, whole_fetches, whole_records
from .placing import out_of_range
from .reader import REMOTE, InHand, Reader, Taken
from .settings import Row
from .sharing import RemoteRead
from .site import Site, take
from .sources import IndexCache, remote_bytes


def look_up_remote(site: Site, reader: Reader, row: Row, replica: Replica, order: int) -> RemoteRead | None:
    """Look the segments up that have the position and what comes after it."""
    partition = site.partition
    assert reader.position is not None
    if partition.store.metadata == "list" and not partition.store_up:
        reader.counts["remote_errors"] += 1
        reader.wait("store_away", replica.broker, site.now, site.committed_end())
        return None
    fetches = full_fetches(partition.case, partition.settings.round_ms, row.fetch_limit, site.store.read_ms)
    # a fetch is of one piece: there are no more pieces than fetches
    pieces = pieces_from(site, row, replica, reader.position, fetches)
    if not pieces:
        out_of_range(site, reader, row, replica, "segment_unknown")
        return None
    member = site.number if row.members is None else site.number % row.members
    fetched_by = (reader.group, member, replica.broker)
    place = (order, site.number, replica.broker)
    return RemoteRead(reader, row, fetched_by, *place, pieces, fetches, end=pieces[-1].end)


def allowed_by_store(site: Site, read: RemoteRead) -> bool:
    """Whether the store gives the read anything; if so, where the read ends and what it needs for that; if not, why not."""
    partition, segment, position = site.partition, read.pieces[0].segment, read.reader.position
    assert position is not None
    rate = copy_bytes(site.store.read_bytes_per_second, partition.faults, site.now, partition.settings.round_ms)
    if not partition.store_up:
        read.failure, read.refused = "store_away", True
    elif is_deleted(segment):
        read.failure, read.refused = "segment_gone", True
    elif rate is not None and rate < remote_bytes(segment, position, position + 1):
        read.failure = "store_slow"
    else:
        _limit(read, rate)
        read.needed = read.dealt = sum(requests for _, requests in _requests_up_to(read, read.end)[0])
    return read.failure is None


def _limit(read: RemoteRead, rate: int | None) -> None:
    """The read ends with the last fetch of the round, and by what its reader and the store limit; it has one record at least."""
    position, row = read.reader.position, read.row
    assert position is not None
    read.end = whole_fetches(read.pieces, position, read.fetches, row.fetch_limit)
    if row.records_per_round is not None:
        read.end = min(read.end, position + max(1, row.records_per_round))
    for limit_bytes in (row.bytes_per_round, rate):
        if limit_bytes is not None:
            read.end = whole_records(read.pieces, position, read.end, limit_bytes)


def _requests_up_to(read: RemoteRead, end: int) -> tuple[list[tuple[Piece, int]], int]:
    """How many requests a read up to `end` makes in each piece for what comes after what is in hand, and up to where they
    bring it."""
    requests, held = [], read.reader.held_to(read.broker)
    for piece in read.pieces:
        if piece.begin < end:
            count = 0
            while held < min(piece.end, end):
                count, held = count + 1, whole_fetches([piece], held, 1, read.row.fetch_limit)
            requests.append((piece, count))
    return requests, held


def end_with_what_was_dealt(read: RemoteRead) -> None:
    """The read goes no further than the last fetch that it was dealt."""
    if read.dealt < read.needed:
        read.end = whole_fetches(read.pieces, read.reader.held_to(read.broker), read.dealt, read.row.fetch_limit)


def wanted_bytes(read: RemoteRead) -> int:
    """What the read takes, before the quota."""
    assert read.reader.position is not None
    return bytes_of_pieces(read.pieces, read.reader.position, read.end)


def make_remote_read(site: Site, read: RemoteRead, cache: IndexCache) -> None:
    """Read what was granted: of what is in hand, and of requests as far as it goes beyond that."""
    reader = read.reader
    assert reader.position is not None
    end = whole_records(read.pieces, reader.position, read.end, read.granted_bytes)
    reader.counts["throttled_rounds"] += end < read.end
    requests, held = _requests_up_to(read, end)
    records: list[tuple[int, int]] = []
    for piece, count in requests:
        _look_up_indexes(site, read, piece.segment, count, cache)
        epochs = piece.segment.epochs
        for offset in range(piece.begin, min(piece.end, end)):
            records.append((max(known for known, start in epochs if start <= offset), offset))
    count = sum(count for _, count in requests)
    if count > 0:
        reader.in_hand = InHand(read.broker, held)
    size_bytes = bytes_of_pieces(read.pieces, reader.position, end)
    taken = Taken(site.now, read.broker, REMOTE, records, count, pieces=len(requests))
    take(site, reader, read.row, taken, size_bytes)


def _look_up_indexes(site: Site, read: RemoteRead, segment: RemoteSegment, requests: int, cache: IndexCache) -> None:
    """Each request for a segment finds its indexes in the broker's cache, or fetches them; what is in hand just uses them."""
    settings, counts, key = site.partition.settings, read.reader.counts, (site.number, segment.id)
    if requests == 0:
        cache.touch(key)
    index_bytes = settings.index_bytes(segment.size_bytes)
    limit = int(settings.of_broker(read.broker, "remote.log.index.file.cache.total.size.bytes"))
    for _ in range(requests):
        if cache.use(key, index_bytes, limit):
            counts["index_hits"] += 1
        else:
            counts["index_misses"] += 1
            counts["index_bytes"] += index_bytes
