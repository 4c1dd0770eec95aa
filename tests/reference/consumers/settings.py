"""Settings of consumers, of what brokers read for them, and of the emulated store's reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..tiered.settings import TieredSettings

CONSUMER_DEFAULTS: dict[str, Any] = {
    "auto.offset.reset": "latest",
    "isolation.level": "read_uncommitted",
    "max.partition.fetch.bytes": 1_048_576,
    "fetch.max.bytes": 52_428_800,
    "metadata.max.age.ms": 300_000,
}
BROKER_DEFAULTS: dict[str, Any] = {
    "replica.selector.class": None,
    "remote.log.index.file.cache.total.size.bytes": 1_073_741_824,
    "remote.log.manager.fetch.max.bytes.per.second": None,
    "remote.log.reader.threads": 10,
    "remote.log.reader.max.pending.tasks": 100,
    "index.interval.bytes": 4096,
}
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
INDEX_ENTRY_BYTES = 8 + 12
"""Of the offset index and of the time index."""


class ReadSettings(TieredSettings):
    """Settings of a tiered partition and of who reads it."""

    def of_broker(self, broker: int, key: str) -> Any:
        """A key of BROKER_DEFAULTS: the broker's own value, or the cluster's."""
        return self._brokers.get(broker, {}).get(key, self._cluster.get(key, BROKER_DEFAULTS[key]))

    @property
    def followers_serve(self) -> bool:
        """Whether a leader names followers to its readers (KIP-392)."""
        return bool(self._cluster.get("replica.selector.class") == RACK_AWARE)

    def index_bytes(self, segment_bytes: int) -> int:
        """Bytes that the indexes of a segment take in the cache."""
        interval = int(self._topic.get("index.interval.bytes", self._cluster.get("index.interval.bytes", 4096)))
        return INDEX_ENTRY_BYTES * max(1, segment_bytes // interval)

    def quota_bytes(self, broker: int) -> int | None:
        """Bytes that all remote reads of a broker get in a round, None: any number (KIP-956)."""
        quota = self.of_broker(broker, "remote.log.manager.fetch.max.bytes.per.second")
        return None if quota is None else int(quota) * self.round_ms // 1000


@dataclass(frozen=True)
class ReadStore:
    """How the emulated store reads: bytes per second of one read (None: no limit), and how long it keeps its thread."""

    read_bytes_per_second: int | None = None
    read_ms: int = 0


@dataclass(frozen=True)
class Row:
    """One row of a case's `consumers`, with the names of its keys."""

    group: str
    start: str | int | None = None
    records_per_round: int | None = None
    bytes_per_round: int | None = None
    from_round: int = 0
    to_round: int | None = None
    rack: Any = None
    members: int | None = None
    config: Mapping[str, Any] | None = None

    def covers(self, round_: int) -> bool:
        """Whether the group reads in this round."""
        return self.from_round <= round_ and (self.to_round is None or round_ < self.to_round)

    def setting(self, key: str) -> Any:
        """A key of CONSUMER_DEFAULTS."""
        return (self.config or {}).get(key, CONSUMER_DEFAULTS[key])

    @property
    def reset(self) -> str:
        """auto.offset.reset: earliest, latest or none."""
        return str(self.setting("auto.offset.reset"))

    @property
    def starts_at(self) -> str | int:
        """Where a group without a position starts."""
        return self.reset if self.start is None else self.start

    @property
    def reads_committed(self) -> bool:
        """Whether records of open transactions are held back."""
        return bool(self.setting("isolation.level") == "read_committed")

    @property
    def fetch_limit(self) -> int:
        """Most bytes of one fetch, but for a bigger first record."""
        return min(int(self.setting("max.partition.fetch.bytes")), int(self.setting("fetch.max.bytes")))
