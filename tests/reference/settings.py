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
FETCHER_KEYS = ("replica.fetch.max.bytes", "replica.fetch.response.max.bytes", "replica.fetch.wait.max.ms")


class Settings:
    """The configuration of one partition's topic and brokers, changed by `alter_config`."""

    def __init__(self, round_ms: int, cluster: Mapping[str, Any], topic: Mapping[str, Any]) -> None:
        self.round_ms = round_ms
        self._cluster = dict(cluster)
        self._topic = dict(topic)
        self._brokers: dict[int, dict[str, Any]] = {}
        known = (topic.get("max.message.bytes"), cluster.get("max.message.bytes"), cluster.get("message.max.bytes"), 1_048_588)
        self.max_message_bytes: int = next(most for most in known if most is not None)
        """Above it a record is refused; as it is at the start."""
        self._found: dict[str, Any] = {}  # what was looked up since the last change

    def alter(self, command: Mapping[str, Any]) -> None:
        """Take an alter_config: of a broker, else of all brokers (fetcher keys) and of the topic (the others)."""
        self._found.clear()
        for key, value in command["config"].items():
            if command.get("broker") is not None:
                self._brokers.setdefault(command["broker"], {})[key] = value
            elif key in FETCHER_KEYS:
                self._cluster[key] = value
            else:
                self._topic[key] = value

    def fetch_limit(self, broker: int) -> int:
        """Most bytes of one fetch of `broker`, but for a bigger first batch."""
        keys = ("replica.fetch.max.bytes", "replica.fetch.response.max.bytes")
        return min(int(self._of_broker(broker, key)) for key in keys)

    def fetch_waits(self, broker: int) -> bool:
        """Whether an empty fetch of `broker` waits for the end of the round."""
        return int(self._of_broker(broker, "replica.fetch.wait.max.ms")) > 0

    @property
    def lag_time_max_ms(self) -> int:
        """How long a member may lag before it leaves the ISR."""
        return int(self._of_topic("replica.lag.time.max.ms"))

    @property
    def isr_check_ms(self) -> int:
        """Period in which the ISR is checked: half of the lag time (ReplicaManager.startup)."""
        return self.lag_time_max_ms // 2

    @property
    def min_insync_replicas(self) -> int:
        """Members that the ISR needs for acks=all and for the high watermark to rise."""
        return int(self._of_topic("min.insync.replicas"))

    @property
    def unclean_election(self) -> bool:
        """Whether a replica outside of the ISR may lead."""
        return bool(self._of_topic("unclean.leader.election.enable"))

    @property
    def recovery_strategy(self) -> str:
        """Who may lead when neither ISR nor ELR can: none, balanced or aggressive (KIP-966)."""
        return str(self._of_topic("unclean.recovery.strategy"))

    @property
    def rebalance_ms(self) -> int | None:
        """Period of the automatic preferred leader election, None when it is off."""
        if not self._of_topic("auto.leader.rebalance.enable"):
            return None
        return int(self._of_topic("leader.imbalance.check.interval.seconds")) * 1000

    @property
    def checkpoint_ms(self) -> int:
        """Period of the high watermark checkpoint."""
        return int(self._of_topic("replica.high.watermark.checkpoint.interval.ms"))

    @property
    def segment_bytes(self) -> int:
        """Size at which a segment is rolled."""
        return int(self._of_topic("segment.bytes"))

    @property
    def segment_rounds(self) -> int:
        """Age at which a segment is rolled."""
        return self._rounds(int(self._of_topic("segment.ms")))

    @property
    def flush_messages(self) -> int | None:
        """Unflushed records at which the log is flushed."""
        return self._first_given("flush.messages", "log.flush.interval.messages")

    @property
    def flush_ms(self) -> int | None:
        """Period of the flush by time."""
        return self._first_given("flush.ms", "log.flush.interval.ms")

    def is_due(self, now: int, period_ms: int) -> bool:
        """Whether a multiple of the period has been passed since the round before."""
        if period_ms <= self.round_ms:
            return True
        passed, passed_before = ((round_ * self.round_ms) // period_ms for round_ in (now, now - 1))
        return passed > passed_before

    def _rounds(self, ms: int) -> int:
        return max(1, ms // self.round_ms)

    def _of_topic(self, key: str) -> Any:
        return self._topic.get(key, self._cluster.get(key, DEFAULTS[key]))

    def _of_broker(self, broker: int, key: str) -> Any:
        return self._brokers.get(broker, {}).get(key, self._cluster.get(key, DEFAULTS[key]))

    def _first_given(self, *keys: str) -> int | None:
        for scope in (self._topic, self._cluster):
            for key in keys:
                if scope.get(key) is not None:
                    return int(scope[key])
        return None
