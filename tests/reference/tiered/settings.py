"""Configuration of segments, retention and remote storage: Kafka's keys and defaults, and those of the emulated store.

What Kafka has no key for is in the case's `remote_storage` (Store): how fast the store is, how late its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..settings import DEFAULTS, Settings

TIERED_DEFAULTS: dict[str, Any] = {
    "cleanup.policy": "delete",
    "retention.ms": 604_800_000,
    "retention.bytes": -1,
    "log.retention.check.interval.ms": 300_000,
    "remote.log.storage.system.enable": False,
    "remote.storage.enable": False,
    "remote.log.copy.disable": False,
    "remote.log.delete.on.disable": False,
    "local.retention.ms": -2,
    "local.retention.bytes": -2,
    "remote.copy.lag.ms": 0,
    "remote.copy.lag.bytes": -1,
    "remote.log.manager.task.interval.ms": 30_000,
    "remote.log.manager.task.retry.backoff.ms": 500,
    "remote.log.manager.task.retry.backoff.max.ms": 30_000,
    "remote.log.manager.copier.thread.pool.size": 10,
    "remote.log.manager.copy.max.bytes.per.second": None,
    "replica.fetch.backoff.ms": 1_000,
    "follower.fetch.last.tiered.offset.enable": False,
    "leader.election.eligible.local.log.ms": -1,
    "leader.election.eligible.local.log.bytes": -1,
}
AS_RETENTION = -2
UNLIMITED = -1
AS_LOCAL_RETENTION = -1
BROKER_KEYS = ("remote.log.manager.copy.max.bytes.per.second", "remote.log.manager.copier.thread.pool.size")


@dataclass(frozen=True)
class Store:
    """The emulated remote store and its metadata: what is a property of an installation and no key of Kafka.

    copy_bytes_per_second: how fast one copy goes; None: a copy takes no time.
    metadata: "topic" (an event log that every broker reads, late or not) or "list" (asked of the store itself).
    metadata_lag_rounds: by how many rounds more than one a broker learns of others' events.
    on_leadership_lost: "cancel" (what Kafka does) or "finish" (what the KIP says) to the copy under way.
    aux_state: where a follower gets its epochs from: "remote" (the KIP's option 2) or "leader" (option 1).
    """

    copy_bytes_per_second: int | None = None
    metadata: str = "topic"
    metadata_lag_rounds: int = 0
    on_leadership_lost: str = "cancel"
    aux_state: str = "remote"


class TieredSettings(Settings):
    """Settings of one partition's topic and brokers, those of tiered storage included."""

    defaults = TIERED_DEFAULTS | DEFAULTS

    def alter(self, command: Mapping[str, Any]) -> None:
        """Take an alter_config; the topic's remote storage goes off only together with what it holds (KIP-950)."""
        if command.get("broker") is None and self.turns_off(command["config"]) and not self.delete_on_disable(command["config"]):
            kept = {key: value for key, value in command["config"].items() if key != "remote.storage.enable"}
            command = {**command, "config": kept}
        super().alter(command)

    def turns_off(self, config: Mapping[str, Any]) -> bool:
        """Whether this change of the topic's config turns remote storage off."""
        return self.is_tiered and not config.get("remote.storage.enable", True)

    def delete_on_disable(self, config: Mapping[str, Any]) -> bool:
        """Whether remote data may go with it, by this change or by what holds already."""
        return bool(config.get("remote.log.delete.on.disable", self._of_topic("remote.log.delete.on.disable")))

    def _take_effect(self) -> None:
        super()._take_effect()
        self.is_tiered = bool(self._of_topic("remote.log.storage.system.enable") and self._of_topic("remote.storage.enable"))
        """Whether the topic has remote storage."""
        self.copies = self.is_tiered and not self._of_topic("remote.log.copy.disable")
        """Whether the topic's segments are copied: it is tiered, and copying is not disabled."""
        self.retention_ms = int(self._of_topic("retention.ms"))
        """Age at which a segment goes for good, -1: never."""
        self.retention_bytes = int(self._of_topic("retention.bytes"))
        """Size of the whole log above which segments go for good, -1: never."""
        self.is_deleted_by_retention = "delete" in str(self._of_topic("cleanup.policy")).split(",")
        """Whether segments go by size and age (UnifiedLog.deleteOldSegments): not of a topic that is compacted only."""
        self.local_retention_ms = self._local("local.retention.ms", self.retention_ms)
        """Age at which a segment goes from the replica's own disk."""
        self.local_retention_bytes = self._local("local.retention.bytes", self.retention_bytes)
        """Size of a replica's own log above which segments go from its disk."""
        self.retention_check_ms = int(self._of_topic("log.retention.check.interval.ms"))
        """Period in which every replica looks for segments to delete."""
        self.task_interval_ms = int(self._of_topic("remote.log.manager.task.interval.ms"))
        """From the end of a task of the remote log manager to its next run."""

    def _local(self, key: str, retention: int) -> int:
        """What holds for a replica's own disk; `retention`: what holds for the whole log."""
        if not self.is_deleted_by_retention:
            return UNLIMITED
        own = int(self._of_topic(key))
        return own if self.copies and own != AS_RETENTION else retention

    @property
    def copy_lag_ms(self) -> int:
        """Age at which a segment may be copied (KIP-1241), -1: never because of its age."""
        own = int(self._of_topic("remote.copy.lag.ms"))
        return self.local_retention_ms if own == AS_LOCAL_RETENTION else own

    @property
    def copy_lag_bytes(self) -> int:
        """Bytes behind a segment at which it may be copied (KIP-1241), -1: never because of them."""
        own = int(self._of_topic("remote.copy.lag.bytes"))
        return self.local_retention_bytes if own == AS_LOCAL_RETENTION else own

    def may_copy(self, age_ms: int, behind_bytes: int) -> bool:
        """Whether a segment of this age, with so much behind it, has waited long enough to be copied."""
        lag_ms, lag_bytes = self.copy_lag_ms, self.copy_lag_bytes
        if lag_ms == 0 or lag_bytes == 0:
            return True
        return 0 < lag_ms <= age_ms or 0 < lag_bytes <= behind_bytes

    @property
    def eligible_local_log_ms(self) -> int:
        """Span of what a replica has itself that makes it a leader like any other (KIP-1303), -1: none does."""
        return int(self._of_topic("leader.election.eligible.local.log.ms"))

    @property
    def eligible_local_log_bytes(self) -> int:
        """Size of what a replica has itself that makes it a leader like any other (KIP-1303), -1: none does."""
        return int(self._of_topic("leader.election.eligible.local.log.bytes"))

    def retry_rounds(self, failures: int) -> int:
        """Rounds until a task runs again after it failed that many times in a row: twice as many each time."""
        first = int(self._of_topic("remote.log.manager.task.retry.backoff.ms"))
        most = int(self._of_topic("remote.log.manager.task.retry.backoff.max.ms"))
        return self._rounds(min(most, first * 2 ** (failures - 1)))

    def copy_threads(self, broker: int) -> int:
        """Copies that a broker makes at the same time."""
        return int(self._of_broker(broker, "remote.log.manager.copier.thread.pool.size"))

    def copy_quota_bytes_per_second(self, broker: int) -> int | None:
        """Quota of a broker's copies (KIP-956), None: unlimited."""
        quota = self._of_broker(broker, "remote.log.manager.copy.max.bytes.per.second")
        return None if quota is None else int(quota)

    @property
    def fetch_backoff_rounds(self) -> int:
        """Rounds until a follower tries again to build its auxiliary state."""
        return self._rounds(int(self._of_topic("replica.fetch.backoff.ms")))

    def starts_at_pending_upload(self, broker: int) -> bool:
        """Whether an empty follower starts behind what is tiered (KIP-1023)."""
        return bool(self._of_broker(broker, "follower.fetch.last.tiered.offset.enable"))
