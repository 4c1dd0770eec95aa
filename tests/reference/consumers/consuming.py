"""The round of a reader: where to start, whether its log was cut, which replica to ask, and what it gets (step 11)."""

from __future__ import annotations

from ..fetching import full_fetches
from ..partition import Replica
from .placing import is_placed, out_of_range, whom_to_ask
from .reader import DISK, PAGE_CACHE, Reader, Taken
from .remote import look_up_remote
from .settings import Row
from .sharing import RemoteRead
from .site import Site, serving_leader, take
from .sources import is_in_page_cache


def consume(site: Site, reader: Reader, row: Row, order: int) -> RemoteRead | None:
    """One round of a reader, up to a remote read, which waits for those of others."""
    partition, now = site.partition, site.now
    reader.answer = None
    if reader.stopped is not None:
        return None
    if partition.deleted:
        reader.stopped = "topic_deleted"
        return None
    if now >= reader.replica_until:
        reader.replica = None
    serving = serving_leader(partition)
    known = None if partition.leadership is None else (partition.leadership.broker, partition.leadership.epoch)
    if serving is None and (reader.replica is None or reader.leader != known):
        reader.wait("leaderless", None, now, site.committed_end())
        return None
    if serving is not None and is_placed(site, reader, row, *serving):
        return None
    replica = whom_to_ask(site, reader, row, serving)
    return None if replica is None else _fetch(site, reader, row, replica, order)


def _fetch(site: Site, reader: Reader, row: Row, replica: Replica, order: int) -> RemoteRead | None:
    """What B answers."""
    partition, log = site.partition, replica.log
    assert reader.position is not None
    position, end = reader.position, site.end_of(replica, row)
    if position < log.log_start:
        out_of_range(site, reader, row, replica, "below_log_start")
    elif position > log.leo:
        out_of_range(site, reader, row, replica, "above_log_end")
    elif position < log.local_log_start:
        if partition.settings.is_tiered:
            return look_up_remote(site, reader, row, replica, order)
        out_of_range(site, reader, row, replica, "below_log_start")
    elif position >= end:
        _empty(site, reader, replica)
    else:
        _read_local(site, reader, row, replica, end)
    return None


def _empty(site: Site, reader: Reader, replica: Replica) -> None:
    """There is nothing to give out; what is not committed, or not known to be, counts as waiting."""
    reader.counts["empty_fetches"] += 1
    assert reader.leader is not None and reader.position is not None
    reader.answer = "empty"
    if replica.broker != reader.leader[0]:
        cause, to_offset = "follower_behind", site.committed_end()
    elif reader.position < replica.hw:
        cause, to_offset = "open_transaction", replica.log.leo
    else:
        cause, to_offset = "not_committed", replica.log.leo
    if to_offset > reader.position:
        reader.wait(cause, replica.broker, site.now, to_offset)
    else:
        reader.end_stretch()


def _read_local(site: Site, reader: Reader, row: Row, replica: Replica, end: int) -> None:
    log = replica.log
    assert reader.position is not None
    share, cold_below = site.shares.get(replica.broker), site.cold_below.get(replica.broker, 0)
    source = PAGE_CACHE if is_in_page_cache(log, reader.position, share, cold_below) else DISK
    records: list[tuple[int, int]] = []
    size_bytes = 0
    fetches = full_fetches(site.partition.case, site.partition.settings.round_ms, row.fetch_limit)
    limits = (fetches * row.fetch_limit, row.bytes_per_round)
    limit = min(limit for limit in limits if limit is not None)
    for record in log.slice(reader.position, end):
        over_records = row.records_per_round is not None and len(records) >= row.records_per_round
        if records and (over_records or size_bytes + record.size_bytes > limit):
            break
        records.append(record.key)
        size_bytes += record.size_bytes
    requests = min(fetches, max(1, -(-size_bytes // max(row.fetch_limit, 1))))
    take(site, reader, row, Taken(site.now, replica.broker, source, records, requests), size_bytes)
