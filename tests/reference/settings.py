"""Configuration values in force, with Kafka's defaults.

A topic key is looked up in the topic's config, then in the cluster's (where it is the default for topics); what a
broker decides by itself in the broker's own config, then in the cluster's. An `alter_config` of all brokers changes
the cluster's; a broker's own value is stronger, as in Kafka. What Kafka's scheduler runs every so many ms is due in the
round in which a multiple of them is passed (`is_due`); segment.ms in rounds: max(1, ms div round_ms).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULTS: dict[str, Any] = {
    "replica.lag.time.max.ms": 30_000,
    "replica.fetch.max.bytes": 1_048_576,
    "replica.fetch.response.max.bytes": 10_485_760,
    "replica.fetch.wait.max.ms": 500,
    "replica.high.watermark.checkpoint.interval.ms": 5_000,
    "min.insync.replicas": 1,
    "unclean.leader.election.enable": False,
    "unclean.recovery.strategy": "none",
    "auto.leader.rebalance.enable": True,
    "leader.imbalance.check.interval.seconds": 300,
    "segment.bytes": 1_073_741_824,
    "segment.ms": 604_800_000,
}
FETCHING = {"fetches_per_round": None, "fetch_round_trip_ms": 1, "fetch_bytes_per_second": 200_000_000}
"""What a case may say of fetches, with the defaults once it says anything."""
FETCHER_KEYS = ("replica.fetch.max.bytes", "replica.fetch.response.max.bytes", "replica.fetch.wait.max.ms")


def fetching_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """What a case says of fetches, completed."""
    given = {key: case[key] for key in FETCHING if case.get(key) is not None}
    return FETCHING | (given or {"fetches_per_round": 1})


class Settings:
    """The configuration of one partition's topic and brokers, changed by `alter_config`."""

    defaults: Mapping[str, Any] = DEFAULTS

    def __init__(self, round_ms: int, cluster: Mapping[str, Any], topic: Mapping[str, Any]) -> None:
        self.round_ms = round_ms
        self._cluster = dict(cluster)
        self._topic = dict(topic)
        self._brokers: dict[int, dict[str, Any]] = {}
        known = (topic.get("max.message.bytes"), cluster.get("max.message.bytes"), cluster.get("message.max.bytes"), 1_048_588)
        self.max_message_bytes: int = next(most for most in known if most is not None)
        """Above it a record is refused; as it is at the start."""
        self._flusher_ms: int = cluster.get("log.flush.scheduler.interval.ms") or 0
        """How often the flusher looks at all logs, 0 for never; as it is at the start."""
        self._take_effect()

    def alter(self, command: Mapping[str, Any]) -> None:
        """Take an alter_config: of a broker, else of `every_broker` (fetcher keys always), else of the topic."""
        for key, value in command["config"].items():
            if command.get("broker") is not None:
                self._brokers.setdefault(command["broker"], {})[key] = value
            elif key in FETCHER_KEYS or command.get("every_broker"):
                self._cluster[key] = value
            else:
                self._topic[key] = value
        self._take_effect()

    def _take_effect(self) -> None:
        """Look up what is in force until the next change."""
        self._in_force = {**self.defaults, **self._cluster, **self._topic}
        self._fetch_limits: dict[int, int] = {}
        self.lag_time_max_ms = int(self._of_topic("replica.lag.time.max.ms"))
        """How long a member may lag before it leaves the ISR."""
        self.isr_check_ms = self.lag_time_max_ms // 2
        """Period in which the ISR is checked: half of the lag time (ReplicaManager.startup)."""
        self.min_insync_replicas = int(self._of_topic("min.insync.replicas"))
        """Members that the ISR needs for acks=all and for the high watermark to rise."""
        self.unclean_election = bool(self._of_topic("unclean.leader.election.enable"))
        """Whether a replica outside of the ISR may lead."""
        self.recovery_strategy = str(self._of_topic("unclean.recovery.strategy"))
        """Who may lead when neither ISR nor ELR can: none, balanced or aggressive (KIP-966)."""
        check_ms = int(self._of_topic("leader.imbalance.check.interval.seconds")) * 1000
        self.rebalance_ms = check_ms if self._of_topic("auto.leader.rebalance.enable") else None
        """Period of the automatic preferred leader election, None when it is off."""
        self.checkpoint_ms = int(self._of_topic("replica.high.watermark.checkpoint.interval.ms"))
        """Period of the high watermark checkpoint."""
        self.segment_bytes = int(self._of_topic("segment.bytes"))
        """Size at which a segment is rolled."""
        self.segment_rounds = self._rounds(int(self._of_topic("segment.ms")))
        """Age at which a segment is rolled."""
        self.flush_messages = self._first_given("flush.messages", "log.flush.interval.messages")
        """Unflushed records at which the log is flushed."""
        self.flush_ms = self._first_given("flush.ms", "log.flush.interval.ms")
        """Period of the flush by time."""
        if self._flusher_ms:
            looks = 1
            while self.flush_ms is not None and looks * self._flusher_ms < self.flush_ms:
                looks += 1
            self.flush_ms = looks * self._flusher_ms

    def fetch_limit(self, broker: int) -> int:
        """Most bytes of one fetch of `broker`, but for a bigger first batch."""
        if broker not in self._fetch_limits:
            keys = ("replica.fetch.max.bytes", "replica.fetch.response.max.bytes")
            self._fetch_limits[broker] = min(int(self._of_broker(broker, key)) for key in keys)
        return self._fetch_limits[broker]

    def fetch_waits(self, broker: int) -> bool:
        """Whether an empty fetch of `broker` waits for the end of the round."""
        return int(self._of_broker(broker, "replica.fetch.wait.max.ms")) > 0

    def is_due(self, now: int, period_ms: int) -> bool:
        """Whether a multiple of the period has been passed since the round before."""
        return period_ms <= self.round_ms or now * self.round_ms // period_ms > (now - 1) * self.round_ms // period_ms

    def _rounds(self, ms: int) -> int:
        return max(1, ms // self.round_ms)

    def _of_topic(self, key: str) -> Any:
        return self._in_force[key]

    def _of_broker(self, broker: int, key: str) -> Any:
        return self._brokers.get(broker, {}).get(key, self._cluster.get(key, self.defaults[key]))

    def _first_given(self, *keys: str) -> int | None:
        for scope in (self._topic, self._cluster):
            for key in keys:
                if scope.get(key) is not None:
                    return int(scope[key])
        return None
