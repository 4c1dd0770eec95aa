"""Feeds: workload, settings and commands of partitions that have them in common."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator import configs
from emulator.expressions.kafka.rules import PROTOCOL_NUMBERS
from emulator.expressions.slots import pack_order
from emulator.faults.kinds import FaultRow
from emulator.inputs.consumers import consumer_settings, workload_bytes
from emulator.inputs.storage_settings import (
    MOST_BYTES,
    accepted,
    alterations_of,
    eligible_local_log,
    is_ever_tiered,
    is_tiered,
    may_delete,
    prefers_local_log,
    storage_settings,
)
from emulator.scenario import ELR_FEATURE, Command, ConsumerRow, Scenario
from emulator.throttles import THROTTLED_LISTS, throttled_brokers

NO_LIMIT_ROUNDS = 2**31 - 1


@dataclass(frozen=True)
class WorkloadRow:
    """One workload row: what is appended per round while it is in force."""

    from_round: int
    to_round: int
    records: int
    record_bytes: int
    acks: str
    max_in_flight: int | None = None


class Feed:
    """Workload, settings and commands of partitions that have them in common."""

    def __init__(
        self,
        scenario: Scenario,
        topic_config: Mapping[str, Any],
        topic: str,
        workload: list[WorkloadRow],
        commands: list[Command],
        slot_of: dict[int, int],
        partition: int,
        store_faults: Sequence[FaultRow] = (),
        consumers: Sequence[ConsumerRow] = (),
    ) -> None:
        self._scenario = scenario
        self._topic_config = topic_config
        self._workload = workload
        self._commands = commands
        self._alterations = alterations_of(scenario, topic)
        deletes = any(c.kind == "delete_records" for c in commands)
        goes = any(c.kind == "delete_topic" for c in commands)
        opens = any(row.reads_committed for row in consumers) and any(row.kind == "open_transaction" for row in store_faults)
        self.is_tiered = goes or opens or is_ever_tiered(scenario, topic_config, self._alterations)
        """Whether the topic has remote storage in some round, is deleted, or a group waits for its transactions."""
        self.keeps_segments = self.is_tiered or may_delete(scenario, topic_config, self._alterations, deletes)
        """Whether a local segment may be deleted in the run."""
        self.prefers_local_log = self.is_tiered and prefers_local_log(scenario, topic_config, self._alterations)
        """Whether elections go by what replicas have themselves (KIP-1303)."""
        self.consumers = consumers
        self._store_faults = store_faults
        self._slot_of = slot_of
        self._partition = partition
        rounds = {0}
        for row in workload:
            rounds |= {row.from_round, row.to_round}
        for command in commands:
            rounds |= {command.round, command.round + 1}
        rounds |= {r for c in self._alterations for r in (c.round, c.round + 1)}
        rounds |= {r for row in store_faults for r in (row.from_round, row.to_round)} if self.keeps_segments else set()
        rounds |= {r for row in consumers for r in (row.from_round, row.to_round)}
        self._rounds = sorted(r for r in rounds if r < scenario.rounds)

    @property
    def tiered_at_start(self) -> bool:
        """Whether the topic has remote storage before round 0."""
        return is_tiered(lambda key: configs.effective(self._scenario.config, self._topic_config, key))

    @property
    def eligible_local_log_bytes(self) -> int:
        """What makes a replica a leader like any other before round 0 (KIP-1303), 0: everybody is."""
        limits = eligible_local_log(lambda key: configs.effective(self._scenario.config, self._topic_config, key))
        return (limits["bytes"] or MOST_BYTES) if any(limits.values()) else 0

    @property
    def workload_bytes(self) -> int:
        """Bytes that the workload has for a partition in the whole run."""
        return workload_bytes(self._workload, self._scenario.rounds)

    @property
    def first_acks(self) -> str:
        """acks of the first workload row ("all" if there is none): what the records of the start were written with."""
        return self._workload[0].acks if self._workload else "all"

    def changes_between(self, from_round: int, to_round: int) -> list[int]:
        """Rounds in [from_round, to_round) at which a new value begins."""
        return self._rounds[bisect_left(self._rounds, from_round) : bisect_left(self._rounds, to_round)]

    def at(self, round_: int) -> dict[str, Any]:
        """The value in force in a round."""
        batches = [
            {"records": w.records, "bytes": w.records * w.record_bytes, "acked_on_append": w.acks != "all"}
            for w in self._workload
            if w.from_round <= round_ < w.to_round and w.records > 0
        ]
        unconditional = [b for b in batches if b["acked_on_append"]]
        value: dict[str, Any] = {
            "records": sum(b["records"] for b in batches),
            "bytes": sum(b["bytes"] for b in batches),
            "unconditional_records": sum(b["records"] for b in unconditional),
            "unconditional_bytes": sum(b["bytes"] for b in unconditional),
            "batches": batches if len(batches) > 1 else None,
        }
        value.update(self._settings(round_))
        value.update(self._command_values(round_))
        return value

    def _settings(self, round_: int) -> dict[str, Any]:
        cluster, topic = dict(self._scenario.config), dict(self._topic_config)

        def value(key: str) -> Any:
            return configs.effective(cluster, topic, key)

        for command in self._alterations:
            if command.round <= round_:
                (cluster if command.topic is None else topic).update(accepted(value, command.config or {}))

        round_ms = self._scenario.round_ms
        lag_ms = value("replica.lag.time.max.ms")
        rebalances = value("auto.leader.rebalance.enable")
        rebalance_ms = value("leader.imbalance.check.interval.seconds") * 1000
        return {
            "protocol": PROTOCOL_NUMBERS[self._scenario.protocol],
            "min_insync_replicas": value("min.insync.replicas"),
            "unclean_election": value("unclean.leader.election.enable"),
            "elr": self._scenario.features[ELR_FEATURE] > 0,
            "recovery": configs.RECOVERY_STRATEGIES.index(value("unclean.recovery.strategy")),
            "lag_rounds": lag_ms // round_ms,
            "isr_check_rounds": max(1, -(-lag_ms // (2 * round_ms))),
            "fetch_max_bytes": value("replica.fetch.max.bytes"),
            "no_wait": value("replica.fetch.wait.max.ms") == 0,
            "checkpoint_rounds": max(1, value("replica.high.watermark.checkpoint.interval.ms") // round_ms),
            "rebalance_rounds": max(1, rebalance_ms // round_ms) if rebalances else 0,
            "segment_bytes": value("segment.bytes"),
            "segment_rounds": min(NO_LIMIT_ROUNDS, max(1, value("segment.ms") // round_ms)),
            **{
                name: list(throttled_brokers(value(key), self._partition)) or None
                for name, key in zip(("leader_throttled", "follower_throttled"), THROTTLED_LISTS, strict=True)
            },
            "flush_messages": 0 if value("flush.messages") >= configs.NEVER else value("flush.messages"),
            "storage": self._storage(value, round_) if self.keeps_segments else None,
            "consumers": self._consumers(value, round_),
            "flush_rounds": 0 if value("flush.ms") >= configs.NEVER else max(1, value("flush.ms") // round_ms),
        }

    def _storage(self, value: Callable[[str], Any], round_: int) -> dict[str, Any]:
        deletes_topic = any(c.round == round_ and c.kind == "delete_topic" for c in self._commands)
        return storage_settings(self._scenario, value, self._store_faults, round_, deletes_topic)

    def _consumers(self, value: Callable[[str], Any], round_: int) -> dict[str, Any] | None:
        if not self.consumers:
            return None
        return consumer_settings(self._scenario, self.consumers, value, self._store_faults, round_)

    def _command_values(self, round_: int) -> dict[str, Any]:
        now = [c for c in self._commands if c.round == round_]
        reassign = [c for c in now if c.kind == "reassign"]
        deletes = [c for c in now if c.kind == "delete_records"]
        return {
            "preferred_election": any(c.kind == "preferred_leader_election" for c in now),
            "reassign_order": (pack_order([self._slot_of[b] for b in reassign[-1].replicas or []]) if reassign else 0),
            "delete_before": [c.offset for c in deletes] or None,
            "clears_elr": any(c.round == round_ and "min.insync.replicas" in (c.config or {}) for c in self._alterations),
        }
