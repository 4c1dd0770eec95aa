"""What comes from outside into each partition of a scenario, one partition and one round at a time, as the pages define it.

The workload, settings and commands in force in a round (docs/scenario_file.md), and which brokers a partition lives on. What the
faults say of those is in naive_worlds.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.inputs.storage_settings import accepted, copies, is_ever_tiered, may_delete
from emulator.inputs.workload_rows import WorkloadRow, partition_ranges
from emulator.scenario import ELR_FEATURE, Command, ConsumerRow, Scenario, Topic, config_keys, configs
from emulator.scenario.throttles import THROTTLED_LISTS

NO_LIMIT_ROUNDS = 2**31 - 1
LONGEST_MS = 2**61
MOST_BYTES = 2**62
ORDER_BITS = 5

Value = Callable[[str], Any]


def order_of(slots: list[int]) -> int:
    """A replica order as a number: slot + 1 in five bits for each position."""
    return sum((slot + 1) << position * ORDER_BITS for position, slot in enumerate(slots))


@dataclass
class OneScenario:
    """A scenario and its partitions by partition_id."""

    scenario: Scenario

    @cached_property
    def faults(self) -> list[dict[str, Any]]:
        """As rows."""
        rows: list[dict[str, Any]] = self.scenario.faults.to_pylist()
        return rows

    @cached_property
    def timelines(self) -> dict[int, list[BrokerSegment]]:
        """By broker what the faults say of it."""
        s = self.scenario
        brokers = [(b.id, b.rack) for b in s.brokers]
        return broker_timelines(s.faults, brokers, s.rounds, s.session_timeout_rounds)

    @cached_property
    def partitions(self) -> list[OnePartition]:
        """All of them."""
        return [OnePartition(self.scenario, topic, p) for topic in self.scenario.topics for p in range(len(topic.assignment))]

    @property
    def has_late_news(self) -> bool:
        """Whether a fault lets news through late (stale_metadata with lag_rounds)."""
        return any(row["kind"] == "stale_metadata" and row["lag_rounds"] is not None for row in self.faults)

    def change_rounds(self) -> list[int]:
        """The rounds, ascending, in which something begins for a partition or its brokers."""
        rounds = {r for partition in self.partitions for r in partition.change_rounds()}
        for broker in {b for partition in self.partitions for b in partition.brokers}:
            rounds |= {segment.from_round for segment in self.timelines[broker]}
            own = [c for c in self.scenario.commands if c.kind == "alter_config" and c.broker == broker]
            rounds |= {command.round for command in own}
            rounds |= set(lag_changes(self, broker))
        return sorted(r for r in rounds if r < self.scenario.rounds)


class OnePartition:
    """One partition."""

    def __init__(self, scenario: Scenario, topic: Topic, partition: int) -> None:
        self.scenario, self.topic, self.partition = scenario, topic.name, partition
        self._config = topic.config
        self.commands = [c for c in sorted(scenario.commands, key=lambda c: c.round) if self._is_about(c)]
        self.alterations = scenario.alterations[topic.name]
        first = [int(b) for b in topic.assignment[partition] if b >= 0]
        patterns = list(dict.fromkeys(c.topic for c in scenario.commands if c.kind != "alter_config"))  # as the file has them
        moves = sorted((c for c in scenario.commands if c.kind == "reassign"), key=lambda c: patterns.index(c.topic))
        moved_to = [b for c in moves if self._is_about(c) for b in c.replicas or []]
        self.brokers = tuple(dict.fromkeys([*first, *moved_to]))
        self.assigned = (1 << len(first)) - 1
        self.order = order_of(list(range(len(first))))
        self.stale_patterns = frozenset(self._stale_patterns())

    def _is_about(self, command: Command) -> bool:
        if command.kind == "alter_config" or not fnmatchcase(self.topic, command.topic or ""):
            return False
        return command.partition in (None, self.partition)

    def _stale_patterns(self) -> Iterator[tuple[str | None, int | None]]:
        for row in self.scenario.faults.to_pylist():
            is_about = row["partition"] in (None, self.partition) and fnmatchcase(self.topic, row["topic"] or "*")
            if row["kind"] == "stale_metadata" and is_about:
                yield row["topic"], row["partition"]

    @cached_property
    def workload(self) -> list[WorkloadRow]:
        """The rows that name the partition, in file order, as often as they name it."""
        names = ("from_round", "to_round", "records_per_round", "record_bytes", "acks", "max_in_flight")
        return [
            WorkloadRow(*(row[name] for name in names))
            for row in self.scenario.workload.to_pylist()
            if fnmatchcase(self.topic, row["topic"])
            for low, high in partition_ranges(row["partitions"], self.partition + 1 if row["partitions"] is None else 0)
            if low <= self.partition <= high
        ]

    @cached_property
    def consumers(self) -> list[ConsumerRow]:
        """Who reads it."""
        rows = [row for row in self.scenario.consumers if fnmatchcase(self.topic, row.topic)]
        ranges = [(row, partition_ranges(row.partitions, self.partition + 1)) for row in rows]
        return [row for row, spans in ranges if any(low <= self.partition <= high for low, high in spans)]

    @property
    def first_acks(self) -> str:
        """acks of the first workload row ("all" if there is none): what the records of the start were written with."""
        return self.workload[0].acks if self.workload else "all"

    @cached_property
    def store_faults(self) -> list[dict[str, Any]]:
        """Faults of the remote store, and open transactions, that concern it."""
        kinds = ("remote_storage_outage", "slow_remote_storage", "open_transaction")
        rows = [row for row in self.scenario.faults.to_pylist() if row["kind"] in kinds]
        own = [row for row in rows if row["topic"] is None or fnmatchcase(self.topic, row["topic"])]
        return [row for row in own if row["partition"] in (None, self.partition)]

    @cached_property
    def is_tiered(self) -> bool:
        """Whether the topic has remote storage in some round, is deleted, or a group waits for its transactions."""
        goes = any(c.kind == "delete_topic" for c in self.commands)
        opens = any(row["kind"] == "open_transaction" for row in self.store_faults)
        waits = opens and any(row.reads_committed for row in self.consumers)
        return goes or waits or is_ever_tiered(self.scenario, self._config, self.alterations)

    @cached_property
    def keeps_segments(self) -> bool:
        """Whether a local segment may be deleted in the run."""
        deletes = any(c.kind == "delete_records" for c in self.commands)
        return self.is_tiered or may_delete(self.scenario, self._config, self.alterations, deletes)

    def change_rounds(self) -> set[int]:
        """Rounds in which something begins for it."""
        rounds = {0} | {edge for row in self.workload for edge in (row.from_round, row.to_round)}
        rounds |= {edge for c in (*self.commands, *self.alterations) for edge in (c.round, c.round + 1)}
        rounds |= {edge for row in self.consumers for edge in (row.from_round, row.to_round)}
        if self.keeps_segments:
            end = self.scenario.rounds
            rounds |= {row["from_round"] for row in self.store_faults}
            rounds |= {end if row["to_round"] is None else row["to_round"] for row in self.store_faults}
        return rounds

    def at(self, round_: int) -> dict[str, Any]:
        """Workload, settings and commands in force in a round."""
        value = self._value(round_)
        return {**self._appends(round_), **self._settings(value), **self._commands(round_)}

    def retention(self, round_: int) -> dict[str, int] | None:
        """Local retention in rounds and bytes, -1: none; None where segments are not kept."""
        if not self.keeps_segments:
            return None
        value, round_ms = self._value(round_), self.scenario.round_ms
        ms = self._local_limit(value, "retention.ms", 2**31 * round_ms)
        return {
            "retention_check_ms": min(LONGEST_MS, value("log.retention.check.interval.ms")),
            "local_retention_rounds": ms if ms < 0 else ms // round_ms,
            "local_retention_bytes": self._local_limit(value, "retention.bytes", MOST_BYTES),
        }

    @staticmethod
    def _local_limit(value: Value, key: str, most: int) -> int:
        if "delete" not in value("cleanup.policy"):
            return -1
        own = value(f"local.{key}")
        limit = own if copies(value) and own != -2 else value(key)
        return limit if limit < most else -1

    def _value(self, round_: int) -> Value:
        cluster, topic = dict(self.scenario.config), dict(self._config)

        def value(key: str) -> Any:
            return configs.effective(cluster, topic, key)

        for command in self.alterations:
            if command.round <= round_:
                (cluster if command.topic is None else topic).update(accepted(value, command.config or {}))
        return value

    def _appends(self, round_: int) -> dict[str, Any]:
        rows = [row for row in self.workload if row.from_round <= round_ < row.to_round and row.records > 0]
        batches = [
            {
                "records": w.records,
                "bytes": w.records * w.record_bytes,
                "acked_on_append": w.acks != "all",
                "unacknowledged": w.acks == "0",
            }
            for w in rows
        ]
        free = [batch for batch in batches if batch["acked_on_append"]]
        return {
            "records": sum(batch["records"] for batch in batches),
            "bytes": sum(batch["bytes"] for batch in batches),
            "unconditional_records": sum(batch["records"] for batch in free),
            "unconditional_bytes": sum(batch["bytes"] for batch in free),
            "unacknowledged_records": sum(batch["records"] for batch in batches if batch["unacknowledged"]),
            "batches": batches if len(batches) > 1 else None,
        }

    def _settings(self, value: Value) -> dict[str, Any]:
        round_ms, lag_ms = self.scenario.round_ms, value("replica.lag.time.max.ms")
        rebalance_ms = value("leader.imbalance.check.interval.seconds") * 1000
        flush_ms, flush_messages = value("flush.ms"), value("flush.messages")
        if (flusher_ms := self.scenario.config.get("log.flush.scheduler.interval.ms", 0)) > 0:
            flush_ms = flusher_ms if flush_ms >= config_keys.NEVER else flusher_ms * max(1, math.ceil(flush_ms / flusher_ms))
        return {
            "min_insync_replicas": value("min.insync.replicas"),
            "unclean_election": value("unclean.leader.election.enable"),
            "elr": self.scenario.features[ELR_FEATURE] > 0,
            "recovery": config_keys.RECOVERY_STRATEGIES.index(value("unclean.recovery.strategy")),
            "lag_rounds": lag_ms // round_ms,
            "isr_check_ms": max(1, min(LONGEST_MS, lag_ms // 2)),
            "fetch_max_bytes": value("replica.fetch.max.bytes"),
            "response_max_bytes": value("replica.fetch.response.max.bytes"),
            "no_wait": value("replica.fetch.wait.max.ms") == 0,
            "checkpoint_ms": min(LONGEST_MS, value("replica.high.watermark.checkpoint.interval.ms")),
            "rebalance_ms": min(LONGEST_MS, rebalance_ms) if value("auto.leader.rebalance.enable") else 0,
            "segment_bytes": value("segment.bytes"),
            "segment_rounds": min(NO_LIMIT_ROUNDS, max(1, value("segment.ms") // round_ms)),
            "flush_messages": 0 if flush_messages >= config_keys.NEVER else flush_messages,
            "flush_ms": 0 if flush_ms >= config_keys.NEVER else max(1, min(LONGEST_MS, flush_ms)),
            **{
                name: list(throttled_brokers(value(key), self.partition)) or None
                for name, key in zip(("leader_throttled", "follower_throttled"), THROTTLED_LISTS, strict=True)
            },
        }

    def _commands(self, round_: int) -> dict[str, Any]:
        now = [c for c in self.commands if c.round == round_]
        moves = [c for c in now if c.kind in ("reassign", "cancel_reassignment")]
        altered = [c for c in self.alterations if c.round == round_]
        return {
            "preferred_election": any(c.kind == "preferred_leader_election" for c in now),
            "reassign_orders": [order_of([self.brokers.index(b) for b in c.replicas or []]) for c in moves],
            "delete_before": [c.offset for c in now if c.kind == "delete_records"] or None,
            "clears_elr": any("min.insync.replicas" in (c.config or {}) for c in altered),
        }


def throttled_brokers(text: str, partition: int) -> tuple[int, ...]:
    """The brokers on which a list throttles a partition's replica; -1 alone for all."""
    if text.strip() == "*":
        return (-1,)
    pairs = [pair.split(":") for pair in text.replace(" ", "").split(",") if pair]
    return tuple(int(broker) for number, broker in pairs if int(number) == partition)


def lag_changes(inputs: OneScenario, broker: int) -> Iterator[int]:
    """The rounds in which another lag of remote metadata begins at a broker."""
    from .naive_worlds import lagging, metadata_lag

    for row in lagging(inputs, broker):
        for r in (row["from_round"], row["to_round"]):
            if r and metadata_lag(inputs, broker, r) != metadata_lag(inputs, broker, r - 1):
                yield r
