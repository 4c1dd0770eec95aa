"""Settings over time: of topics, and of brokers for what a broker decides by itself, as alter_config changes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from emulator.scenario import ELR_FEATURE, Command, Scenario, config_keys, configs
from emulator.scenario.configs_in_run import configurations

MOST_ROUNDS = 2**30
MOST_MS = 2**60
AS_RETENTION = -2
NO_LIMIT = -1
_SETTINGS: Mapping[str, pa.DataType] = {
    "min_insync_replicas": pa.int32(), "unclean_election": pa.bool_(), "recovery": pa.string(), "clears_elr": pa.bool_(),
    "round_ms": pa.int64(), "lag_rounds": pa.int64(), "isr_check_ms": pa.int64(), "checkpoint_ms": pa.int64(),
    "rebalance_ms": pa.int64(),
    "segment_bytes": pa.int64(), "segment_rounds": pa.int32(), "flush_messages": pa.int64(), "flush_ms": pa.int64(),
    "retention_bytes": pa.int64(), "retention_rounds": pa.int64(), "retention_check_ms": pa.int64(),
    "tiered": pa.bool_(), "copies": pa.bool_(), "task_ms": pa.int64(), "backoff_rounds": pa.int32(),
    "elr": pa.bool_(), "protocol": pa.string(),
}  # fmt: skip
OF_SEGMENTS = (
    "retention_bytes", "retention_rounds", "retention_check_ms", "tiered", "copies", "task_ms", "backoff_rounds",
)  # fmt: skip
"""What no verb asks for where no segment is kept: rows are narrower without."""

SETTINGS = pa.schema([("topic_id", pa.int32()), ("from_round", pa.int32()), ("to_round", pa.int32()), *_SETTINGS.items()])
FETCHER_KEYS = {"replica.fetch.max.bytes", "replica.fetch.response.max.bytes", "replica.fetch.wait.max.ms"}


class TopicPlace(Protocol):
    """What is asked of a topic here."""

    scenario: Scenario
    topic_id: int
    name: str
    config: Mapping[str, Any]


def topic_settings(places: Iterable[TopicPlace]) -> pa.Table:
    """A row for each topic and rounds in which its settings stay the same."""
    rows = []
    for place in places:
        commands = place.scenario.alterations[place.name]
        edges = sorted({0, *(edge for c in commands for edge in (c.round, c.round + 1))})
        ends = [*edges[1:], place.scenario.rounds]
        for start, end in zip(edges, ends, strict=True):
            if start < place.scenario.rounds:
                span = {"topic_id": place.topic_id, "from_round": start, "to_round": min(end, place.scenario.rounds)}
                rows.append(span | _settings(place, commands, start))
    return pa.Table.from_pylist(rows, SETTINGS)


def _settings(place: TopicPlace, commands: Sequence[Command], number: int) -> dict[str, Any]:
    scenario, round_ms = place.scenario, place.scenario.round_ms
    *_, in_force = configurations(scenario, place.config, [c for c in commands if c.round <= number])

    def value(key: str) -> Any:
        return configs.effective(*in_force, key)

    def rounds(ms: int) -> int:
        return min(MOST_ROUNDS, max(1, ms // round_ms))

    def period(ms: int) -> int:
        return min(MOST_MS, max(1, ms))

    tiered = bool(value("remote.log.storage.system.enable") and value("remote.storage.enable"))
    copies = tiered and not value("remote.log.copy.disable")

    def retention(unit: str) -> int:
        """On a replica's own disk; total retention where nothing is copied, or nothing else is said; none if only compacted."""
        if "delete" not in value("cleanup.policy"):
            return NO_LIMIT
        local = value(f"local.retention.{unit}") if copies else AS_RETENTION
        return int(value(f"retention.{unit}") if local == AS_RETENTION else local)

    lag_ms = value("replica.lag.time.max.ms")
    rebalances = value("auto.leader.rebalance.enable")
    unflushed = {key: None if value(key) >= config_keys.NEVER else value(key) for key in ("flush.messages", "flush.ms")}
    flusher_ms = int(configs.effective(scenario.config, {}, "log.flush.scheduler.interval.ms"))
    if 0 < flusher_ms < config_keys.NEVER:  # every so many looks of LogManager's flusher
        looks = max(1, -(-int(unflushed["flush.ms"] or 0) // flusher_ms))
        unflushed["flush.ms"] = looks * flusher_ms if looks * flusher_ms < config_keys.NEVER else None
    return {
        "min_insync_replicas": value("min.insync.replicas"),
        "unclean_election": value("unclean.leader.election.enable"),
        "recovery": value("unclean.recovery.strategy"),
        "clears_elr": any(c.round == number and "min.insync.replicas" in (c.config or {}) for c in commands),
        "lag_rounds": lag_ms // round_ms,
        "round_ms": round_ms,
        "isr_check_ms": period(lag_ms // 2),
        "checkpoint_ms": period(value("replica.high.watermark.checkpoint.interval.ms")),
        "rebalance_ms": period(value("leader.imbalance.check.interval.seconds") * 1000) if rebalances else None,
        "segment_bytes": value("segment.bytes"),
        "segment_rounds": rounds(value("segment.ms")),
        "flush_messages": unflushed["flush.messages"],
        "flush_ms": None if unflushed["flush.ms"] is None else period(unflushed["flush.ms"]),
        "retention_bytes": retention("bytes"),
        "retention_rounds": retention("ms") // round_ms,
        "tiered": tiered,
        "copies": copies,
        "task_ms": period(value("remote.log.manager.task.interval.ms")),
        "backoff_rounds": rounds(value("replica.fetch.backoff.ms")),
        "retention_check_ms": period(value("log.retention.check.interval.ms")),
        "elr": scenario.features[ELR_FEATURE] > 0,
        "protocol": scenario.protocol,
    }


def may_delete(scenario: Scenario, topic: str, topic_config: Mapping[str, Any], deletes_records: bool) -> bool:
    """Whether a check of retention in the run may find a segment to delete."""
    last = scenario.rounds - 1
    meets = checks = False
    for both in configurations(scenario, topic_config, scenario.alterations[topic]):
        size, age_ms, check_ms = (int(configs.effective(*both, key)) for key in _RETENTION)
        deletes = "delete" in str(configs.effective(*both, "cleanup.policy"))
        meets |= deletes and (size >= 0 or 0 <= age_ms < last * scenario.round_ms)
        checks |= check_ms <= last * scenario.round_ms
    return checks and (deletes_records or meets)


_RETENTION = ("retention.bytes", "retention.ms", "log.retention.check.interval.ms")


def may_expire(scenario: Scenario, topic: str, topic_config: Mapping[str, Any]) -> bool:
    """Whether total retention may meet something of a topic with remote storage."""
    meets = False
    for both in configurations(scenario, topic_config, scenario.alterations[topic]):
        size, age_ms = (int(configs.effective(*both, key)) for key in _RETENTION[:2])
        meets |= size >= 0 or 0 <= age_ms < scenario.rounds * scenario.round_ms
    return meets and is_ever_tiered(scenario, topic, topic_config)


def is_ever_tiered(scenario: Scenario, topic: str, topic_config: Mapping[str, Any]) -> bool:
    """Whether the topic has remote storage in any round."""
    given = (scenario.config, topic_config, *(command.config or {} for command in scenario.alterations[topic]))
    return any(config.get("remote.storage.enable") for config in given)


class BrokerSettings:
    """What a scenario's brokers decide by themselves over time: what they fetch, and how often in a round."""

    def __init__(self, scenario: Scenario) -> None:
        self._config = scenario.config
        self._fetching, self._round_ms = scenario.fetching, scenario.round_ms
        changes = (c for c in scenario.commands if c.kind == "alter_config" and c.topic is None)
        self._changes = sorted((c for c in changes if FETCHER_KEYS & (c.config or {}).keys()), key=lambda c: c.round)

    def spans(self, broker: int, from_round: int, to_round: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """The rounds cut where the broker's settings change: first round, end, settings."""
        own = [c for c in self._changes if c.broker in (None, broker)]
        edges = sorted({from_round, *(c.round for c in own if from_round < c.round < to_round)})
        for start, end in zip(edges, [*edges[1:], to_round], strict=True):
            # A broker's own value is stronger than that of all, whenever it was given.
            config = dict(self._config)
            for command in sorted((c for c in own if c.round <= start), key=lambda c: c.broker is not None):
                config |= command.config or {}
            yield start, end, self._of(config)

    def _of(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """`own_trip_us`, `fetch_us`: a fetch's round trip, what a full one adds; `round_us` null: fetches are given."""

        def value(key: str) -> Any:
            return configs.effective(config, {}, key)

        limit = min(value("replica.fetch.max.bytes"), value("replica.fetch.response.max.bytes"))
        is_given = self._fetching.per_round is not None
        return {
            "fetch_max_bytes": limit,
            "waits": value("replica.fetch.wait.max.ms") != 0,
            "fetches_a_round": self._fetching.in_a_round(self._round_ms, limit),
            "fetch_us": None if is_given else limit * 1_000_000 // self._fetching.bytes_per_second,
            "round_us": None if is_given else self._round_ms * 1000,
            "own_trip_us": self._fetching.round_trip_us,
            "fetched_per_second": self._fetching.bytes_per_second,
        }
