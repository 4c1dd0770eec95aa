"""A partition with its readers, and what brokers have in memory of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..partition import Leadership, Replica
from ..tiered.partition import TieredPartition
from .reader import Reader, Taken
from .rules import REAL, ReadRules
from .settings import ReadSettings, ReadStore, Row
from .sources import IndexCache, page_cache_shares


class ReadPartition(TieredPartition):
    """A tiered partition whose settings have those of reading."""

    settings: ReadSettings
    settings_type = ReadSettings


@dataclass
class Site:
    """A partition with its readers; `log_starts` are those of its replicas at the start of the round."""

    partition: ReadPartition
    number: int
    rows: Sequence[Row]
    rules: ReadRules
    store: ReadStore
    shares: Mapping[int, int | None]
    readers: dict[str, Reader] = field(default_factory=dict)
    cold_below: dict[int, int] = field(default_factory=dict)
    log_starts: dict[int, int] = field(default_factory=dict)

    @property
    def now(self) -> int:
        """The round."""
        return self.partition.now

    def row_of(self, group: str) -> Row | None:
        """What the group does in this round."""
        return next((row for row in self.rows if row.group == group and row.covers(self.now)), None)

    def end_of(self, replica: Replica, row: Row) -> int:
        """Where what the replica gives out ends."""
        if not self.rules.below_high_watermark:
            return replica.log.leo
        return self.partition.last_stable_offset(replica) if row.reads_committed else replica.hw

    def committed_end(self) -> int:
        """The HW of T, or of the last one."""
        leader = self.partition.client_leader
        return 0 if leader is None else leader.hw


def site_of(cases: Sequence[Mapping[str, Any]], number: int, **together: Any) -> Site:
    """Take a case of `simulate` apart."""
    case = cases[number]
    store = dict(case.get("remote_storage") or {})
    reads = ReadStore(**{key: store.pop(key) for key in ("read_bytes_per_second", "read_ms") if key in store})
    partition = ReadPartition({**case, "remote_storage": store}, number, **together)
    rows = [Row(**row) for row in case.get("consumers", ())]
    site = Site(partition, number, rows, case.get("read_rules", REAL), reads, page_cache_shares(cases, number))
    site.readers = {row.group: Reader(row.group) for row in rows}
    return site


def watch_memory(site: Site, caches: Mapping[int, IndexCache]) -> None:
    """Brokers lose what they had in memory, with their disk the index cache too."""
    partition = site.partition
    for broker, cache in caches.items():  # it may have been made smaller
        cache.shrink(int(partition.settings.of_broker(broker, "remote.log.index.file.cache.total.size.bytes")))
    for broker, replica in partition.replicas.items():
        status = partition.status(broker)
        if status.power_loss or status.disk_loss:
            site.cold_below[broker] = replica.log.leo
        if status.disk_loss and broker in caches:
            caches[broker].drop()
    for broker, cache in caches.items():
        if broker not in partition.replicas or partition.deleted or not partition.settings.is_tiered:
            cache.drop(site.number)


def serving_leader(partition: ReadPartition) -> tuple[Leadership, Replica] | None:
    """T, if it runs, is ready, and clients reach it."""
    working = partition.working_leader()
    if working is None or partition.status(working[0].broker).clients_cut:
        return None
    return working


def take(site: Site, reader: Reader, row: Row, taken: Taken, size_bytes: int) -> None:
    """The reader gets records."""
    assert reader.leader is not None
    reader.end_stretch()
    reader.take(taken, size_bytes)
    reader.counts["follower_bytes"] += 0 if taken.broker == reader.leader[0] else size_bytes
    racks = site.partition.case["racks"]
    reader.counts["cross_rack_bytes"] += 0 if row.rack is None or racks.get(taken.broker) == row.rack else size_bytes
