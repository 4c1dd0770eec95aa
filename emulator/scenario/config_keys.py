"""Kafka's configuration keys: type, default, range, and where each may stand.

One table, `KEYS`, in Kafka's own names. A *setting* is what a topic key and its broker spellings have in common; it is
named by the topic key (`segment.ms` for `log.roll.ms` and `log.roll.hours`). Source: TopicConfig, LogConfig,
ReplicationConfigs, ServerLogConfigs and KafkaConfig of Kafka 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from emulator.errors import listing, quoted
from emulator.scenario.throttles import THROTTLED_LISTS

ConfigValue = int | bool | str

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
NEVER = LONG_MAX
"""The default of `flush.messages`, `flush.ms` and their like: as good as none."""

FLUSHER = "log.flush.scheduler.interval.ms"
"""Without it Kafka never looks at `flush.ms`."""

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
WEEK_MS = 168 * HOUR_MS


@dataclass(frozen=True)
class ConfigKey:
    """One key: its type, default and allowed values.

    `topic`: whether a topic's config takes it; the cluster's takes every key, topic keys as defaults of all topics.
    `setting`: the topic key that it is a broker spelling of, otherwise itself. `factor`: turns its value into the
    setting's unit. `effect` is False for keys that are recorded and change nothing in an emulation.
    """

    name: str
    type: type
    default: ConfigValue
    topic: bool
    setting: str
    span: tuple[int, int] | None = None
    choices: tuple[str, ...] | None = None
    factor: int = 1
    effect: bool = True

    @property
    def allowed(self) -> str:
        """What values the key takes, in words."""
        if self.type is bool:
            return "true or false"
        if self.setting in THROTTLED_LISTS:
            return 'a list such as "0:1,0:2" (partition:broker), or "*"'
        if self.type is str:
            return "one of " + listing(quoted(choice) for choice in self.choices) if self.choices else "a string"
        return "an integer" if self.span is None else f"an integer from {self.span[0]} to {self.span[1]}"


def _topic(
    name: str,
    kind: type,
    default: ConfigValue,
    span: tuple[int, int] | None = None,
    choices: tuple[str, ...] | None = None,
) -> ConfigKey:
    return ConfigKey(name, kind, default, topic=True, setting=name, span=span, choices=choices)


def _broker(
    name: str,
    kind: type,
    default: ConfigValue,
    span: tuple[int, int] | None = None,
    choices: tuple[str, ...] | None = None,
    of: str = "",
    factor: int = 1,
) -> ConfigKey:
    return ConfigKey(name, kind, default, False, of or name, span, choices, factor)


_INT = (0, INT_MAX)
_LONG = (0, LONG_MAX)
_POSITIVE_INT = (1, INT_MAX)
_POSITIVE_LONG = (1, LONG_MAX)
_OR_NONE_INT = (-1, INT_MAX)
_OR_NONE_LONG = (-1, LONG_MAX)
_LOCAL_RETENTION = (-2, LONG_MAX)
_SEGMENT_BYTES = (14, INT_MAX)  # LegacyRecord.RECORD_OVERHEAD_V0
_INDEX_BYTES = (4, INT_MAX)
_POLICIES = ("delete", "compact", "compact,delete", "delete,compact")
_COMPRESSIONS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
RECOVERY_STRATEGIES = ("none", "balanced", "aggressive")
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The replica selector with which followers serve consumers (KIP-392)."""
_TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")

_WITH_EFFECT: tuple[ConfigKey, ...] = (
    _topic("min.insync.replicas", int, 1, _POSITIVE_INT),
    _topic("unclean.leader.election.enable", bool, False),
    _topic("unclean.recovery.strategy", str, "none", choices=RECOVERY_STRATEGIES),
    *(_topic(key, str, "") for key in THROTTLED_LISTS),
    _broker("leader.replication.throttled.rate", int, LONG_MAX, _LONG),
    _broker("follower.replication.throttled.rate", int, LONG_MAX, _LONG),
    _topic("producer_byte_rate", int, LONG_MAX, _POSITIVE_LONG),
    _broker("consumer_byte_rate", int, LONG_MAX, _POSITIVE_LONG),
    _broker("replica.lag.time.max.ms", int, 30_000, _POSITIVE_LONG),
    _broker("replica.fetch.max.bytes", int, 1_048_576, _INT),
    _broker("replica.fetch.response.max.bytes", int, 10_485_760, _INT),
    _broker("replica.fetch.wait.max.ms", int, 500, _INT),
    _broker("replica.fetch.min.bytes", int, 1, _INT),
    _broker("num.replica.fetchers", int, 1, _POSITIVE_INT),
    _broker("replica.high.watermark.checkpoint.interval.ms", int, 5_000, _POSITIVE_LONG),
    _broker("broker.session.timeout.ms", int, 9_000, _POSITIVE_INT),
    _broker("auto.leader.rebalance.enable", bool, True),
    _broker("leader.imbalance.check.interval.seconds", int, 300, _POSITIVE_LONG),
    _topic("segment.bytes", int, 1_073_741_824, _SEGMENT_BYTES),
    _broker("log.segment.bytes", int, 1_073_741_824, _SEGMENT_BYTES, of="segment.bytes"),
    _topic("segment.ms", int, WEEK_MS, _POSITIVE_LONG),
    _broker("log.roll.ms", int, WEEK_MS, _POSITIVE_LONG, of="segment.ms"),
    _broker("log.roll.hours", int, 168, _POSITIVE_INT, of="segment.ms", factor=HOUR_MS),
    _topic("max.message.bytes", int, 1_048_588, _INT),
    _broker("message.max.bytes", int, 1_048_588, _INT, of="max.message.bytes"),
    _topic("flush.messages", int, NEVER, _POSITIVE_LONG),
    _broker("log.flush.interval.messages", int, NEVER, _POSITIVE_LONG, of="flush.messages"),
    _topic("flush.ms", int, NEVER, _LONG),
    _broker("log.flush.interval.ms", int, NEVER, _LONG, of="flush.ms"),
    _broker(FLUSHER, int, NEVER, _LONG),
    _topic("cleanup.policy", str, "delete", choices=_POLICIES),
    _broker("log.cleanup.policy", str, "delete", choices=_POLICIES, of="cleanup.policy"),
    _topic("retention.ms", int, WEEK_MS, _OR_NONE_LONG),
    _broker("log.retention.ms", int, WEEK_MS, _OR_NONE_LONG, of="retention.ms"),
    _broker("log.retention.minutes", int, 10_080, _OR_NONE_INT, of="retention.ms", factor=MINUTE_MS),
    _broker("log.retention.hours", int, 168, _OR_NONE_INT, of="retention.ms", factor=HOUR_MS),
    _topic("retention.bytes", int, -1, _OR_NONE_LONG),
    _broker("log.retention.bytes", int, -1, _OR_NONE_LONG, of="retention.bytes"),
    _broker("log.retention.check.interval.ms", int, 300_000, _POSITIVE_LONG),
    _topic("local.retention.ms", int, -2, _LOCAL_RETENTION),
    _broker("log.local.retention.ms", int, -2, _LOCAL_RETENTION, of="local.retention.ms"),
    _topic("local.retention.bytes", int, -2, _LOCAL_RETENTION),
    _broker("log.local.retention.bytes", int, -2, _LOCAL_RETENTION, of="local.retention.bytes"),
    _topic("remote.storage.enable", bool, False),
    _topic("remote.log.copy.disable", bool, False),
    _topic("remote.log.delete.on.disable", bool, False),
    _topic("remote.copy.lag.ms", int, 0, _OR_NONE_LONG),
    _broker("log.remote.copy.lag.ms", int, 0, _OR_NONE_LONG, of="remote.copy.lag.ms"),
    _topic("remote.copy.lag.bytes", int, -1, _OR_NONE_LONG),
    _broker("log.remote.copy.lag.bytes", int, -1, _OR_NONE_LONG, of="remote.copy.lag.bytes"),
    _topic("leader.election.eligible.local.log.ms", int, -1, _OR_NONE_LONG),
    _topic("leader.election.eligible.local.log.bytes", int, -1, _OR_NONE_LONG),
    _broker("remote.log.storage.system.enable", bool, False),
    _broker("remote.log.manager.task.interval.ms", int, 30_000, _POSITIVE_LONG),
    _broker("remote.log.manager.task.retry.backoff.ms", int, 500, _POSITIVE_INT),
    _broker("remote.log.manager.task.retry.backoff.max.ms", int, 30_000, _POSITIVE_INT),
    _broker("remote.log.manager.copier.thread.pool.size", int, 10, _POSITIVE_INT),
    _broker("remote.log.manager.copy.max.bytes.per.second", int, LONG_MAX, _POSITIVE_LONG),
    _broker("follower.fetch.last.tiered.offset.enable", bool, False),
    _broker("replica.fetch.backoff.ms", int, 1_000, _INT),
    _broker("replica.selector.class", str, "", choices=("", RACK_AWARE)),
    _broker("remote.log.index.file.cache.total.size.bytes", int, 1_073_741_824, _POSITIVE_LONG),
    _broker("remote.log.manager.fetch.max.bytes.per.second", int, LONG_MAX, _POSITIVE_LONG),
    _broker("remote.log.reader.threads", int, 10, _POSITIVE_INT),
    _broker("remote.log.reader.max.pending.tasks", int, 100, _POSITIVE_INT),
    _topic("index.interval.bytes", int, 4_096, _INT),
    _broker("log.index.interval.bytes", int, 4_096, _INT, of="index.interval.bytes"),
)

_RECORDED: tuple[ConfigKey, ...] = (
    # What it was for before the copier and expiration pools took over; expiry waits for no thread.
    _broker("remote.log.manager.thread.pool.size", int, 10, _POSITIVE_INT),
    # cleaning, records, indexes, files
    _topic("compression.type", str, "producer", choices=_COMPRESSIONS),
    _topic("segment.index.bytes", int, 10_485_760, _INDEX_BYTES),
    _broker("log.index.size.max.bytes", int, 10_485_760, _INDEX_BYTES, of="segment.index.bytes"),
    _topic("segment.jitter.ms", int, 0, _LONG),
    _broker("log.roll.jitter.ms", int, 0, _LONG, of="segment.jitter.ms"),
    _broker("log.roll.jitter.hours", int, 0, _INT, of="segment.jitter.ms", factor=HOUR_MS),
    _topic("delete.retention.ms", int, 86_400_000, _LONG),
    _broker("log.cleaner.delete.retention.ms", int, 86_400_000, _LONG, of="delete.retention.ms"),
    _topic("file.delete.delay.ms", int, 60_000, _LONG),
    _broker("log.segment.delete.delay.ms", int, 60_000, _LONG, of="file.delete.delay.ms"),
    _topic("min.compaction.lag.ms", int, 0, _LONG),
    _broker("log.cleaner.min.compaction.lag.ms", int, 0, _LONG, of="min.compaction.lag.ms"),
    _topic("max.compaction.lag.ms", int, LONG_MAX, _POSITIVE_LONG),
    _broker("log.cleaner.max.compaction.lag.ms", int, LONG_MAX, _POSITIVE_LONG, of="max.compaction.lag.ms"),
    _topic("preallocate", bool, False),
    _broker("log.preallocate", bool, False, of="preallocate"),
    _topic("message.timestamp.type", str, "CreateTime", choices=_TIMESTAMP_TYPES),
    _broker("log.message.timestamp.type", str, "CreateTime", choices=_TIMESTAMP_TYPES, of="message.timestamp.type"),
    _topic("message.timestamp.before.max.ms", int, LONG_MAX, _LONG),
    _broker("log.message.timestamp.before.max.ms", int, LONG_MAX, _LONG, of="message.timestamp.before.max.ms"),
    _topic("message.timestamp.after.max.ms", int, HOUR_MS, _LONG),
    _broker("log.message.timestamp.after.max.ms", int, HOUR_MS, _LONG, of="message.timestamp.after.max.ms"),
    # the controller, defaults for new topics
    _broker("leader.imbalance.per.broker.percentage", int, 10, _INT),
    _broker("broker.heartbeat.interval.ms", int, 2_000, _POSITIVE_INT),
    _broker("controlled.shutdown.enable", bool, True),
    _broker("default.replication.factor", int, 1, _POSITIVE_INT),
    _broker("num.partitions", int, 1, _POSITIVE_INT),
    _broker("log.flush.offset.checkpoint.interval.ms", int, 60_000, _INT),
    _broker("log.flush.start.offset.checkpoint.interval.ms", int, 60_000, _INT),
)

KEYS: Mapping[str, ConfigKey] = {row.name: row for row in _WITH_EFFECT} | {
    row.name: replace(row, effect=False) for row in _RECORDED
}


OF_ONE_BROKER = frozenset(
    {
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.fetch.max.bytes",
        "replica.fetch.response.max.bytes",
        "replica.fetch.wait.max.ms",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.copy.max.bytes.per.second",
        "follower.fetch.last.tiered.offset.enable",
        "remote.log.index.file.cache.total.size.bytes",
        "remote.log.manager.fetch.max.bytes.per.second",
        "remote.log.reader.threads",
        "remote.log.reader.max.pending.tasks",
    }
)
"""Keys that an alter_config of one broker changes."""

AT_START = frozenset({
    "broker.session.timeout.ms", "num.replica.fetchers", "replica.fetch.min.bytes", "max.message.bytes", "message.max.bytes",
    FLUSHER,
})  # fmt: skip
"""Keys that have an effect from the start of a run on: what an alter_config says of them comes too late."""
