"""Remote reads: the segment that has the position, what the store allows, what is in hand, and requests with their index."""

from __future__ import annotations

from ..fetching import full_fetches
from ..log import Log
from ..partition import Replica
from ..tiered.metadata import RemoteSegment
from ..tiered.store import copy_bytes
from .placing import out_of_range
from .reader import REMOTE, InHand, Reader, Taken
from .settings import Row
from .sharing import RemoteRead
from .site import Site, take
from .sources import IndexCache, remote_bytes


def look_up_remote(site: Site, reader: Reader, row: Row, replica: Replica, order: int) -> RemoteRead | None:
    """Look the segment up that has the position."""
    partition, log = site.partition, replica.log
    assert reader.position is not None
    position, end = reader.position, site.end_of(replica, row)
    epoch = log.cache.epoch_of(position)
    if partition.store.metadata == "list" and not partition.store_up:
        reader.counts["remote_errors"] += 1
        reader.wait("store_away", replica.broker, site.now, site.committed_end())
        return None
    segment = None if epoch is None else partition.index_of(replica.broker).lookup(epoch, position)
    if segment is None:
        out_of_range(site, reader, row, replica, "segment_unknown")
        return None
    segment_end = segment.end_offset + 1
    if site.rules.remote_within_lineage:
        segment_end = min(segment_end, max(end, position + 1), _first_of_another_epoch(segment, log, position))
    member = site.number if row.members is None else site.number % row.members
    fetched_by = (reader.group, member, replica.broker)
    fetches = full_fetches(partition.case, partition.settings.round_ms, row.fetch_limit, site.store.read_ms)
    place = (order, site.number, replica.broker)
    return RemoteRead(reader, row, fetched_by, *place, segment, segment_end, fetches, end=segment_end)


def _first_of_another_epoch(segment: RemoteSegment, log: Log, position: int) -> int:
    """Up to where a segment and a log that agree on the position give its offsets the same epochs."""
    offset = position
    while offset <= segment.end_offset and segment.covers(log.cache.epoch_of(offset) or 0, offset):
        offset += 1
    return offset


def allowed_by_store(site: Site, read: RemoteRead) -> bool:
    """Whether the store gives the read anything; if so, where the read ends and what it needs for that; if not, why not."""
    partition, segment, position = site.partition, read.segment, read.reader.position
    assert position is not None
    rate = copy_bytes(site.store.read_bytes_per_second, partition.faults, site.now, partition.settings.round_ms)
    if not partition.store_up:
        read.failure, read.refused = "store_away", True
    elif segment.stored_bytes < segment.size_bytes:
        read.failure, read.refused = "segment_gone", True
    elif rate is not None and rate < remote_bytes(segment, position, position + 1):
        read.failure = "store_slow"
    else:
        _limit(read, rate)
        read.needed = read.dealt = _requests_up_to(read, read.end)[0]
    return read.failure is None


def _limit(read: RemoteRead, rate: int | None) -> None:
    """The read ends with the last fetch of the round, and by what its reader and the store limit; it has one record at least."""
    position, row = read.reader.position, read.row
    assert position is not None
    read.end = _fetched_to(read, position, read.fetches)
    if row.records_per_round is not None:
        read.end = min(read.end, position + max(1, row.records_per_round))
    for limit_bytes in (row.bytes_per_round, rate):
        if limit_bytes is not None:
            read.end = _whole_records(read.segment, position, read.end, limit_bytes)


def _whole_records(segment: RemoteSegment, from_offset: int, last: int, limit_bytes: int) -> int:
    """Where records from an offset on end, one at least, that have so many bytes and are below `last`."""
    end = from_offset + 1
    while end < last and remote_bytes(segment, from_offset, end + 1) <= limit_bytes:
        end += 1
    return end


def _fetched_to(read: RemoteRead, from_offset: int, fetches: int) -> int:
    """Where so many whole fetches end that follow each other from an offset on, within the limits of the segment."""
    end = from_offset
    while fetches > 0 and end < read.segment_end:
        end = _whole_records(read.segment, end, read.segment_end, read.row.fetch_limit)
        fetches -= 1
    return end


def _requests_up_to(read: RemoteRead, end: int) -> tuple[int, int]:
    """How many requests a read up to `end` makes for what comes after what is in hand, and up to where they bring it."""
    requests, held = 0, read.reader.held_to(read.broker)
    while held < end:
        requests, held = requests + 1, _fetched_to(read, held, 1)
    return requests, held


def end_with_what_was_dealt(read: RemoteRead) -> None:
    """The read goes no further than the last fetch that it was dealt."""
    if read.dealt < read.needed:
        read.end = _fetched_to(read, read.reader.held_to(read.broker), read.dealt)


def wanted_bytes(read: RemoteRead) -> int:
    """What the read takes, before the quota."""
    assert read.reader.position is not None
    return remote_bytes(read.segment, read.reader.position, read.end)


def make_remote_read(site: Site, read: RemoteRead, cache: IndexCache) -> None:
    """Read what was granted: of what is in hand, and of requests as far as it goes beyond that."""
    reader, segment = read.reader, read.segment
    assert reader.position is not None
    end = _whole_records(segment, reader.position, read.end, read.granted_bytes)
    reader.counts["throttled_rounds"] += end < read.end
    requests, held = _requests_up_to(read, end)
    for _ in range(requests):
        _look_up_indexes(site, read, cache)
    if requests > 0:
        reader.in_hand = InHand(read.broker, held)
    else:
        cache.touch((site.number, segment.id))
    records = []
    for offset in range(reader.position, end):
        records.append((max(known for known, start in segment.epochs if start <= offset), offset))
    size_bytes = remote_bytes(segment, reader.position, end)
    take(site, reader, read.row, Taken(site.now, read.broker, REMOTE, records, requests), size_bytes)


def _look_up_indexes(site: Site, read: RemoteRead, cache: IndexCache) -> None:
    """A request finds the segment's indexes in the broker's cache, or fetches them."""
    settings, counts = site.partition.settings, read.reader.counts
    index_bytes = settings.index_bytes(read.segment.size_bytes)
    limit = int(settings.of_broker(read.broker, "remote.log.index.file.cache.total.size.bytes"))
    if cache.use((site.number, read.segment.id), index_bytes, limit):
        counts["index_hits"] += 1
    else:
        counts["index_misses"] += 1
        counts["index_bytes"] += index_bytes
