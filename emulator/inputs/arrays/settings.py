"""Settings of topics over time, as rows of numbers (emulator.rounds.kafka.input_records.Settings)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.inputs.arrays.columns import PackedLists
from emulator.inputs.consumers import read_quota
from emulator.inputs.storage_settings import (
    AS_LOCAL_RETENTION,
    AS_RETENTION,
    MOST_BYTES,
    accepted,
    copies,
    copy_quota,
    deletes_old,
    eligible_local_log,
    is_tiered,
)
from emulator.rounds.kafka.constants import FOREVER, UNKNOWN
from emulator.rounds.kafka.input_records import Settings
from emulator.rounds.records import fields_of
from emulator.scenario import Command, Scenario, config_keys, configs

FIELDS = tuple(fields_of(Settings))
WIDTH = len(FIELDS)
CLEARS_ELR = FIELDS.index("clears_elr")
MIN_ISR = "min.insync.replicas"

NO_LIMIT_ROUNDS = 2**31 - 1
MOST_MS = 2**61


def settings_of_topics(scenario: Scenario) -> tuple[np.ndarray, PackedLists]:
    """(by topic: which list it has, the lists): one for topics with the same config that the same commands alter."""
    numbers: dict[Any, int] = {}
    lists: list[list[list[int]]] = []
    of_topic = np.zeros(len(scenario.topics), np.int64)
    for index, topic in enumerate(scenario.topics):
        altered = scenario.alterations[topic.name]
        key = (tuple(sorted(topic.config.items())), id(altered))
        if key not in numbers:
            numbers[key] = len(lists)
            lists.append(_over_time(scenario, dict(topic.config), altered))
        of_topic[index] = numbers[key]
    return of_topic, PackedLists.of(lists, WIDTH)


def _over_time(scenario: Scenario, topic: dict[str, Any], alterations: Sequence[Command]) -> list[list[int]]:
    """The rows of one topic: a new one where a command concerns it and one round later; the last one is at FOREVER."""
    cluster = dict(scenario.config)

    def value(key: str) -> Any:
        return configs.effective(cluster, topic, key)

    flusher_ms = value(config_keys.FLUSHER)
    rounds = {0, *(c.round for c in alterations), *(c.round + 1 for c in alterations)}
    rows: list[list[int]] = []
    done = 0
    for round_ in sorted(r for r in rounds if r < scenario.rounds):
        clears = False
        while done < len(alterations) and alterations[done].round <= round_:
            config = alterations[done].config or {}
            clears |= MIN_ISR in config and alterations[done].round == round_
            (cluster if alterations[done].topic is None else topic).update(accepted(value, config))
            done += 1
        row = _row(scenario.round_ms, value, round_, clears, flusher_ms)
        if not rows or clears or rows[-1][1:] != row[1:]:
            rows.append(row)
    return [*rows, [FOREVER, *rows[-1][1:CLEARS_ELR], 0, *rows[-1][CLEARS_ELR + 1 :]]]


def _row(round_ms: int, value: Any, round_: int, clears_elr: bool, flusher_ms: int) -> list[int]:
    """One row, in the order of the fields of Settings."""
    lag_ms = value("replica.lag.time.max.ms")
    rebalance_ms = value("leader.imbalance.check.interval.seconds") * 1000
    flush_messages, flush_ms = value("flush.messages"), flush_period_ms(flusher_ms, value("flush.ms"))
    fields = {
        "from_round": round_,
        "min_insync_replicas": value(MIN_ISR),
        "unclean_election": int(value("unclean.leader.election.enable")),
        "recovery": config_keys.RECOVERY_STRATEGIES.index(value("unclean.recovery.strategy")),
        "lag_rounds": min(FOREVER, lag_ms // round_ms),
        "isr_check_ms": _period_ms(lag_ms // 2),
        "fetch_max_bytes": value("replica.fetch.max.bytes"),
        "response_max_bytes": value("replica.fetch.response.max.bytes"),
        "no_wait": int(value("replica.fetch.wait.max.ms") == 0),
        "checkpoint_ms": _period_ms(value("replica.high.watermark.checkpoint.interval.ms")),
        "rebalance_ms": _period_ms(rebalance_ms) if value("auto.leader.rebalance.enable") else 0,
        "segment_bytes": value("segment.bytes"),
        "segment_rounds": min(NO_LIMIT_ROUNDS, _period(value("segment.ms"), round_ms)),
        "flush_messages": 0 if flush_messages >= config_keys.NEVER else flush_messages,
        "flush_ms": 0 if flush_ms >= config_keys.NEVER else _period_ms(flush_ms),
        "clears_elr": int(clears_elr),
        **_storage(round_ms, value),
        **_reading(round_ms, value),
    }
    return [int(fields[name]) for name in FIELDS]


def _storage(round_ms: int, value: Any) -> dict[str, int]:
    """Retention and remote storage (docs/tiered_rounds.md, Settings); -2 says as retention, -1 of a lag as local retention."""
    copied = copies(value)

    def local(key: str) -> int:
        if not deletes_old(value):
            return -1
        own = value(f"local.{key}")
        return int(own if copied and own != AS_RETENTION else value(key))

    def lag(key: str, retention_key: str) -> int:
        own = value(key)
        return int(local(retention_key) if own == AS_LOCAL_RETENTION else own)

    eligible = eligible_local_log(value)
    quota = value("remote.log.manager.copy.max.bytes.per.second")
    return {
        "retention_check_ms": _period_ms(value("log.retention.check.interval.ms")),
        "local_retention_rounds": _or_none(local("retention.ms"), FOREVER * round_ms, round_ms, 0),
        "local_retention_bytes": _or_none(local("retention.bytes"), MOST_BYTES, 1, 0),
        "tiered": int(is_tiered(value)),
        "copies": int(copied),
        "retention_rounds": _or_none(value("retention.ms"), FOREVER * round_ms, round_ms, round_ms - 1),
        "retention_bytes": _or_none(value("retention.bytes"), MOST_BYTES, 1, 0),
        "task_ms": _period_ms(value("remote.log.manager.task.interval.ms")),
        "retry_ms": min(value("remote.log.manager.task.retry.backoff.ms"), MOST_BYTES),
        "retry_most_ms": min(value("remote.log.manager.task.retry.backoff.max.ms"), MOST_BYTES),
        "round_ms": round_ms,
        "backoff_rounds": _period(value("replica.fetch.backoff.ms"), round_ms),
        "at_pending_upload": int(value("follower.fetch.last.tiered.offset.enable")),
        "copy_quota_bytes": UNKNOWN if quota >= config_keys.NEVER else copy_quota(quota, round_ms),
        "copy_lag_rounds": _or_none(lag("remote.copy.lag.ms", "retention.ms"), FOREVER * round_ms, round_ms, round_ms - 1),
        "eligible_log_rounds": min(FOREVER, -(-eligible["ms"] // round_ms)),
        "eligible_log_bytes": eligible["bytes"],
        "copy_lag_bytes": _or_none(lag("remote.copy.lag.bytes", "retention.bytes"), MOST_BYTES, 1, 0),
    }


def _reading(round_ms: int, value: Any) -> dict[str, int]:
    """What brokers do for consumers (docs/consumer_rounds.md, Settings)."""
    quota = value("remote.log.manager.fetch.max.bytes.per.second")
    return {
        "followers_serve": int(value("replica.selector.class") == config_keys.RACK_AWARE),
        "read_quota_bytes": UNKNOWN if quota >= config_keys.NEVER else read_quota(quota, round_ms),
        "reader_threads": value("remote.log.reader.threads"),
        "reader_queue": value("remote.log.reader.max.pending.tasks"),
        "index_cache_bytes": value("remote.log.index.file.cache.total.size.bytes"),
        "index_interval_bytes": max(1, value("index.interval.bytes")),
    }


def _or_none(limit: int, most: int, unit: int, rest: int) -> int:
    """A limit in units, `rest` added before it is rounded down; UNKNOWN for none, and for one that is never met."""
    return (limit + rest) // unit if 0 <= limit < most else UNKNOWN


def flush_period_ms(flusher_ms: int, flush_ms: int) -> int:
    """Every how many ms a log is flushed; NEVER: not by time. `flusher_ms`: of FLUSHER.

    Whoever looks every `flusher_ms` finds at every so many looks that `flush_ms` have passed; without `flush_ms` at each. Where
    FLUSHER is not given a log is looked at every `flush_ms` (ours; docs/kafka_rounds.md, Periods). Source: LogManager.startup,
    flushDirtyLogs; KafkaConfig.logFlushIntervalMs.

    >>> flush_period_ms(1000, 2500), flush_period_ms(1000, config_keys.NEVER), flush_period_ms(config_keys.NEVER, 2500)
    (3000, 1000, 2500)
    """
    if not 0 < flusher_ms < config_keys.NEVER:
        return flush_ms
    return flusher_ms if flush_ms >= config_keys.NEVER else flusher_ms * max(1, -(-flush_ms // flusher_ms))


def _period_ms(ms: int) -> int:
    """The period of what every so often is due (leaps.is_due); sums with it are still long."""
    return min(MOST_MS, max(1, ms))


def _period(ms: int, round_ms: int) -> int:
    """A period in rounds: one at least; longer than any run is as good as FOREVER."""
    return min(FOREVER, max(1, ms // round_ms))
