"""Remote reads: the segment that has the position, what the store allows, what is in hand, and the request with its index."""

from __future__ import annotations

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
    last = segment_end if row.records_per_round is None else min(segment_end, position + max(1, row.records_per_round))
    member = site.number if row.members is None else site.number % row.members
    fetch = (reader.group, member, replica.broker)
    return RemoteRead(reader, fetch, order, site.number, replica.broker, segment, segment_end, last, row.remote_limit)


def _first_of_another_epoch(segment: RemoteSegment, log: Log, position: int) -> int:
    """Up to where a segment and a log that agree on the position give its offsets the same epochs."""
    offset = position
    while offset <= segment.end_offset and segment.covers(log.cache.epoch_of(offset) or 0, offset):
        offset += 1
    return offset


def allowed_by_store(site: Site, read: RemoteRead) -> bool:
    """Whether the store gives the read anything, and how much at the most; if not, say why."""
    partition, segment, position = site.partition, read.segment, read.reader.position
    assert position is not None
    if not partition.store_up:
        read.failure, read.refused = "store_away", True
    elif segment.stored_bytes < segment.size_bytes:
        read.failure, read.refused = "segment_gone", True
    else:
        rate = copy_bytes(site.store.read_bytes_per_second, partition.faults, site.now, partition.settings.round_ms)
        if rate is not None:
            read.limit_bytes = min(read.limit_bytes, rate)
            if rate < remote_bytes(segment, position, position + 1):
                read.failure = "store_slow"
    return read.failure is None


def end_within(read: RemoteRead, limit_bytes: int) -> int:
    """Where the read ends within so many bytes; it has at least one record."""
    assert read.reader.position is not None
    return _whole_records(read.segment, read.reader.position, read.end, limit_bytes)


def _whole_records(segment: RemoteSegment, from_offset: int, last: int, limit_bytes: int) -> int:
    """Where records from an offset on end, one at least, that have so many bytes and are below `last`."""
    end = from_offset + 1
    while end < last and remote_bytes(segment, from_offset, end + 1) <= limit_bytes:
        end += 1
    return end


def needs_request(read: RemoteRead) -> bool:
    """Whether the read, as far as reader and store limit it, goes beyond what is in hand. The quota is not asked yet."""
    return end_within(read, read.limit_bytes) > read.reader.held_to(read.broker)


def make_remote_read(site: Site, row: Row, read: RemoteRead, cache: IndexCache) -> None:
    """Read what was granted: of what is in hand, and of a request if it goes beyond that."""
    reader, segment = read.reader, read.segment
    assert reader.position is not None
    end = end_within(read, read.granted_bytes)
    reader.counts["throttled_rounds"] += end < end_within(read, read.limit_bytes)
    is_request = end > reader.held_to(read.broker)
    if is_request:
        _look_up_indexes(site, read, cache)
        held = _whole_records(segment, reader.held_to(read.broker), read.segment_end, row.fetch_limit)
        reader.in_hand = InHand(read.broker, held)
    else:
        cache.touch((site.number, segment.id))
    records = []
    for offset in range(reader.position, end):
        records.append((max(known for known, start in segment.epochs if start <= offset), offset))
    size_bytes = remote_bytes(segment, reader.position, end)
    reader.remote_round = site.now
    take(site, reader, row, Taken(site.now, read.broker, REMOTE, records, int(is_request)), size_bytes)


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
