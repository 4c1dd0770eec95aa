"""What comes from outside, per partition, as changes at rounds. Pure driver-side code: no Spark here.

The *world* is what faults say of a partition's brokers, the *feed* its workload, settings and commands.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from emulator import configs
from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.rounds.slots import MAX_SLOTS, pack_order
from emulator.scenario import Command, Scenario

NO_LIMIT_ROUNDS = 2**31 - 1


@dataclass
class World:
    """The brokers a partition's slots stand for, and which stale_metadata patterns cover it."""

    brokers: tuple[int, ...]
    stale_patterns: frozenset[tuple[str | None, int | None]]


@dataclass
class PartitionTable:
    """One row per partition of a scenario, as numpy columns in partition_id order."""

    topic_index: np.ndarray
    partition: np.ndarray
    world_id: np.ndarray
    feed_id: np.ndarray
    slot_count: np.ndarray
    assigned: np.ndarray
    replica_order: np.ndarray


@dataclass
class ScenarioInputs:
    """Worlds and feeds of one scenario and their changes."""

    scenario: Scenario
    timelines: dict[int, list[BrokerSegment]]
    worlds: list[World] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    partitions: PartitionTable | None = None

    def __post_init__(self) -> None:
        self._starts = {b: [s.from_round for s in segments] for b, segments in self.timelines.items()}
        self._broker_settings = _broker_settings(self.scenario)
        self._first_partition: dict[str, int] = {}
        first = 0
        for topic in self.scenario.topics:
            self._first_partition[topic.name] = first
            first += len(topic.assignment)

    @property
    def partition_table(self) -> PartitionTable:
        """The partitions with their worlds and feeds."""
        assert self.partitions is not None
        return self.partitions

    @property
    def replicas(self) -> int:
        """State rows of the scenario: slots over all partitions."""
        return int(self.partition_table.slot_count.sum())

    def world_changes(self, from_round: int, to_round: int) -> dict[int, list[dict[str, Any]]]:
        """World index -> values that begin in [from_round, to_round), in order of their `from_round`."""
        touched: dict[int, set[int]] = {}
        for broker, starts in self._starts.items():
            rounds = set(starts[bisect_left(starts, from_round) : bisect_left(starts, to_round)])
            rounds |= {r for r in self._broker_settings.get(broker, {}) if from_round <= r < to_round}
            if rounds:
                touched[broker] = rounds
        changes: dict[int, list[dict[str, Any]]] = {}
        for index, world in enumerate(self.worlds):
            rounds = set().union(*(touched[b] for b in world.brokers if b in touched))
            if rounds:
                changes[index] = [{"from_round": r, "value": self._world_at(world, r)} for r in sorted(rounds)]
        return changes

    def feed_changes(self, from_round: int, to_round: int) -> dict[int, list[dict[str, Any]]]:
        """Feed index -> values that begin in [from_round, to_round), in order of their `from_round`."""
        changes = {}
        for index, feed in enumerate(self.feeds):
            rounds = feed.changes_between(from_round, to_round)
            if rounds:
                changes[index] = [{"from_round": r, "value": feed.at(r)} for r in rounds]
        return changes

    def partition_id(self, topic: str, partition: int) -> int:
        """The id of a partition within the scenario."""
        return self._first_partition[topic] + partition

    def segment(self, broker: int, round_: int) -> BrokerSegment:
        """The segment of a broker's timeline that holds a round."""
        return self.timelines[broker][bisect_right(self._starts[broker], round_) - 1]

    def _world_at(self, world: World, round_: int) -> dict[str, Any]:
        segments = [self.segment(b, round_) for b in world.brokers]
        slot_of = {b: i for i, b in enumerate(world.brokers)}
        covered = [any(p in world.stale_patterns for p in s.stale) for s in segments]
        covered_before = [any(p in world.stale_patterns for p in s.stale_before) for s in segments]

        def mask(flags: list[bool]) -> int:
            return sum(1 << i for i, flag in enumerate(flags) if flag)

        out_of_touch = [s.offline or s.paused or s.isolated for s in segments]
        everyone = (1 << len(segments)) - 1
        cut_off = mask([s.isolated for s in segments])
        drop = [
            everyone & ~(1 << i) if s.isolated else cut_off | sum(1 << slot_of[b] for b in s.drop_to if b in slot_of)
            for i, s in enumerate(segments)
        ]
        slow = [
            {"from_slot": i, "to_slot": slot_of[peer], "bytes_per_round": self._per_round(rate)}
            for i, s in enumerate(segments)
            for peer, rate in s.slow_to
            if peer in slot_of
        ]
        disk = [None if s.disk_bytes_per_second is None else self._per_round(s.disk_bytes_per_second) for s in segments]
        settings = [self._settings_of(b, round_) for b in world.brokers]
        return {
            "running": mask([not s.offline and not s.paused for s in segments]),
            "offline": mask([s.offline for s in segments]),
            "untold": mask(
                [o or s.waking or c or b for o, s, c, b in zip(out_of_touch, segments, covered, covered_before, strict=True)]
            ),
            "deaf": mask([o or c for o, c in zip(out_of_touch, covered, strict=True)]),
            "unfenced": mask([not s.fenced for s in segments]),
            "returning": mask([s.returning for s in segments]),
            "restarted": mask([s.restarted for s in segments]),
            "clean_stop": mask([s.clean_stop for s in segments]),
            "power_loss": mask([s.power_loss for s in segments]),
            "disk_loss": mask([s.disk_loss for s in segments]),
            "clients_cut": mask([s.clients_cut for s in segments]),
            "controller_up": segments[0].controller_up,
            "drop": drop if any(drop) else None,
            "slow": slow or None,
            "disk": disk if any(d is not None for d in disk) else None,
            "cause": [s.cause for s in segments],
            "fetch_max_bytes": _or_none([s.get("replica.fetch.max.bytes") for s in settings]),
            "no_wait": _or_none([None if w is None else w == 0 for w in (s.get("replica.fetch.wait.max.ms") for s in settings)]),
        }

    def _per_round(self, bytes_per_second: int) -> int:
        return max(1, bytes_per_second * self.scenario.round_ms // 1000)

    def _settings_of(self, broker: int, round_: int) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        for from_round, values in self._broker_settings.get(broker, {}).items():
            if from_round <= round_:
                settings.update(values)
        return settings


def _or_none(values: list[Any]) -> list[Any] | None:
    return values if any(v is not None for v in values) else None


def _broker_settings(scenario: Scenario) -> dict[int, dict[int, dict[str, Any]]]:
    """Broker -> round -> settings altered for this broker alone (alter_config with `broker`), rounds ascending."""
    settings: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
    for command in sorted(scenario.commands, key=lambda c: c.round):
        if command.kind == "alter_config" and command.broker is not None:
            settings[command.broker].setdefault(command.round, {}).update(command.config or {})
    return dict(settings)


@dataclass(frozen=True)
class WorkloadRow:
    """One workload row: what is appended per round while it is in force."""

    from_round: int
    to_round: int
    records: int
    record_bytes: int
    acks: str


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
    ) -> None:
        self._scenario = scenario
        self._topic_config = topic_config
        self._workload = workload
        self._commands = commands
        self._alterations = [
            c
            for c in sorted(scenario.commands, key=lambda c: c.round)
            if c.kind == "alter_config" and c.broker is None and (c.topic is None or fnmatchcase(topic, c.topic))
        ]
        self._slot_of = slot_of
        rounds = {0}
        for row in workload:
            rounds |= {row.from_round, row.to_round}
        for command in commands:
            rounds |= {command.round, command.round + 1}
        rounds |= {c.round for c in self._alterations}
        self._rounds = sorted(r for r in rounds if r < scenario.rounds)

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
        value: dict[str, Any] = {
            "all_batches": _batches(batches),
            "unconditional_batches": _batches([b for b in batches if b["acked_on_append"]]),
        }
        value.update(self._settings(round_))
        value.update(self._command_values(round_))
        return value

    def _settings(self, round_: int) -> dict[str, Any]:
        cluster, topic = dict(self._scenario.config), dict(self._topic_config)
        for command in self._alterations:
            if command.round <= round_:
                (cluster if command.topic is None else topic).update(command.config or {})

        def value(key: str) -> Any:
            return configs.effective(cluster, topic, key)

        round_ms = self._scenario.round_ms
        lag_ms = value("replica.lag.time.max.ms")
        rebalances = value("auto.leader.rebalance.enable")
        rebalance_ms = value("leader.imbalance.check.interval.seconds") * 1000
        return {
            "min_insync_replicas": value("min.insync.replicas"),
            "unclean_election": value("unclean.leader.election.enable"),
            "lag_rounds": lag_ms // round_ms,
            "isr_check_rounds": max(1, -(-lag_ms // (2 * round_ms))),
            "fetch_max_bytes": value("replica.fetch.max.bytes"),
            "no_wait": value("replica.fetch.wait.max.ms") == 0,
            "checkpoint_rounds": max(1, value("replica.high.watermark.checkpoint.interval.ms") // round_ms),
            "rebalance_rounds": max(1, rebalance_ms // round_ms) if rebalances else 0,
            "segment_bytes": value("segment.bytes"),
            "segment_rounds": min(NO_LIMIT_ROUNDS, max(1, value("segment.ms") // round_ms)),
            "flush_messages": 0 if value("flush.messages") >= configs.NEVER else value("flush.messages"),
            "flush_rounds": 0 if value("flush.ms") >= configs.NEVER else max(1, value("flush.ms") // round_ms),
        }

    def _command_values(self, round_: int) -> dict[str, Any]:
        now = [c for c in self._commands if c.round == round_]
        reassign = [c for c in now if c.kind == "reassign"]
        deletes = [c for c in now if c.kind == "delete_records"]
        return {
            "preferred_election": any(c.kind == "preferred_leader_election" for c in now),
            "reassign_order": (pack_order([self._slot_of[b] for b in reassign[-1].replicas or []]) if reassign else 0),
            "delete_before": [c.offset for c in deletes] or None,
        }


def _batches(batches: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "records": sum(b["records"] for b in batches),
        "unconditional_records": sum(b["records"] for b in batches if b["acked_on_append"]),
        "bytes": sum(b["bytes"] for b in batches),
        "batches": batches,
        "pattern": [{"records": b["records"], "bytes": b["bytes"]} for b in batches],
    }


def scenario_inputs(scenario: Scenario) -> ScenarioInputs:
    """Worlds, feeds and the partition table of one scenario."""
    brokers = [(b.id, b.rack) for b in scenario.brokers]
    timelines = broker_timelines(
        scenario.faults, brokers, scenario.rounds, scenario.session_timeout_rounds, isolation_in_drop_to=False
    )
    inputs = ScenarioInputs(scenario, timelines)
    inputs.partitions = _Classifier(scenario, inputs).partition_table()
    return inputs


class _Classifier:
    """Groups partitions with the same brokers into worlds, and those with the same workload and commands into feeds."""

    def __init__(self, scenario: Scenario, inputs: ScenarioInputs) -> None:
        self._scenario = scenario
        self._inputs = inputs
        self._world_ids: dict[tuple[tuple[int, ...], frozenset[Any]], int] = {}
        self._stale = _stale_patterns(scenario)
        self._commands: dict[str, dict[int | None, list[Command]]] = defaultdict(lambda: defaultdict(list))
        for command in scenario.commands:
            if command.kind != "alter_config":
                self._commands[command.topic or ""][command.partition].append(command)

    def partition_table(self) -> PartitionTable:
        """Classify every topic's partitions."""
        columns: dict[str, list[np.ndarray]] = defaultdict(list)
        for index, topic in enumerate(self._scenario.topics):
            count = len(topic.assignment)
            extra = self._extra_brokers(topic.name)
            worlds, slot_counts, assigned, orders = self._worlds(topic.name, topic.assignment, extra)
            columns["topic_index"].append(np.full(count, index, np.int32))
            columns["partition"].append(np.arange(count, dtype=np.int32))
            columns["world_id"].append(worlds)
            columns["slot_count"].append(slot_counts)
            columns["assigned"].append(assigned)
            columns["replica_order"].append(orders)
            columns["feed_id"].append(self._feeds(topic.name, topic.config, worlds, count))
        return PartitionTable(**{name: np.concatenate(parts) for name, parts in columns.items()})

    def _extra_brokers(self, topic: str) -> dict[int, list[int]]:
        extra: dict[int, list[int]] = defaultdict(list)
        for pattern, by_partition in self._commands.items():
            if not fnmatchcase(topic, pattern):
                continue
            for partition, commands in by_partition.items():
                for command in commands:
                    if command.kind == "reassign" and partition is not None:
                        extra[partition] += command.replicas or []
        return extra

    def _worlds(
        self, topic: str, assignment: np.ndarray, extra: dict[int, list[int]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        count, width = assignment.shape
        signature, signatures = self._stale_signatures(topic, count)
        keyed = np.column_stack([assignment, signature])
        for partition in extra:
            keyed[partition, -1] = -1 - partition  # a world of its own, for the brokers that it is to move to
        unique, inverse = np.unique(keyed, axis=0, return_inverse=True)
        ids = np.empty(len(unique), np.int32)
        slots = np.empty(len(unique), np.int32)
        replicas = np.empty(len(unique), np.int32)
        for i, row in enumerate(unique):
            partition = -1 - int(row[-1]) if row[-1] < 0 else -1
            brokers = [int(b) for b in row[:-1] if b >= 0]
            replicas[i] = len(brokers)
            brokers += [b for b in dict.fromkeys(extra.get(partition, [])) if b not in brokers]
            if len(brokers) > MAX_SLOTS:
                raise ValueError(f"{topic}-{partition}: more than {MAX_SLOTS} brokers over its reassignments")
            stale = signatures[int(signature[partition]) if partition >= 0 else int(row[-1])]
            ids[i] = self._world(tuple(brokers), stale)
            slots[i] = len(brokers)
        flat = inverse.reshape(-1)
        orders = np.array([pack_order(list(range(n))) for n in range(MAX_SLOTS + 1)], np.int64)
        return ids[flat], slots[flat], ((1 << replicas) - 1)[flat].astype(np.int32), orders[replicas[flat]]

    def _world(self, brokers: tuple[int, ...], stale: frozenset[Any]) -> int:
        key = (brokers, stale)
        if key not in self._world_ids:
            self._world_ids[key] = len(self._inputs.worlds)
            self._inputs.worlds.append(World(brokers, stale))
        return self._world_ids[key]

    def _stale_signatures(self, topic: str, count: int) -> tuple[np.ndarray, list[frozenset[Any]]]:
        signature = np.zeros(count, np.int64)
        bits: list[tuple[str | None, int | None]] = []
        for pattern in self._stale:
            if pattern[0] is None or fnmatchcase(topic, pattern[0]):
                bits.append(pattern)
                value = 1 << (len(bits) - 1)
                if pattern[1] is None:
                    signature += value
                elif pattern[1] < count:
                    signature[pattern[1]] += value
        values, dense = np.unique(signature, return_inverse=True)
        sets = [frozenset(p for i, p in enumerate(bits) if int(v) >> i & 1) for v in values]
        return dense.reshape(-1).astype(np.int64), sets

    def _feeds(self, topic: str, config: Mapping[str, Any], worlds: np.ndarray, count: int) -> np.ndarray:
        rows = _rows_of_topic(self._scenario, topic, count)
        key = np.zeros(count, np.uint64)
        for number, (_, ranges) in enumerate(rows):
            for low, high in ranges:
                key[low : high + 1] = key[low : high + 1] * np.uint64(6364136223846793005) + np.uint64(number + 1)
        commands: dict[int | None, list[Command]] = defaultdict(list)
        for pattern, by_partition in self._commands.items():
            if fnmatchcase(topic, pattern):
                for partition, listed in by_partition.items():
                    commands[partition] += listed
        for partition in commands:
            if partition is not None:
                key[partition] = np.uint64(2**63 + partition)
        unique, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        by_class = _rows_by_member(rows, first)
        ids = np.empty(len(unique), np.int64)
        for i, member in enumerate(first):
            mine = sorted(commands[None] + commands.get(int(member), []), key=lambda c: c.round)
            world = self._inputs.worlds[int(worlds[member])]
            ids[i] = len(self._inputs.feeds)
            slot_of = {b: s for s, b in enumerate(world.brokers)}
            self._inputs.feeds.append(Feed(self._scenario, config, topic, by_class[i], mine, slot_of))
        return ids[inverse.reshape(-1)]


def _stale_patterns(scenario: Scenario) -> list[tuple[str | None, int | None]]:
    kinds = scenario.faults.column("kind").to_pylist()
    if "stale_metadata" not in kinds:
        return []
    topics, partitions = scenario.faults.column("topic").to_pylist(), scenario.faults.column("partition").to_pylist()
    return list(dict.fromkeys((t, p) for k, t, p in zip(kinds, topics, partitions, strict=True) if k == "stale_metadata"))


def _rows_of_topic(scenario: Scenario, topic: str, count: int) -> list[tuple[WorkloadRow, list[tuple[int, int]]]]:
    table = scenario.workload
    names = table.column("topic").to_pylist()
    matches = {name: fnmatchcase(topic, name) for name in set(names)}
    chosen = [i for i, name in enumerate(names) if matches[name]]
    rows = table.take(chosen).to_pylist() if len(chosen) < len(names) else table.to_pylist()
    return [
        (
            WorkloadRow(r["from_round"], r["to_round"], r["records_per_round"], r["record_bytes"], r["acks"]),
            partition_ranges(r["partitions"], count),
        )
        for r in rows
    ]


def partition_ranges(text: str | None, count: int) -> list[tuple[int, int]]:
    """Inclusive ranges of a `partitions` text such as "0-3,7"; all partitions if absent."""
    if text is None:
        return [(0, count - 1)]
    ranges = []
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        ranges.append((int(low), int(high or low)))
    return ranges


def _rows_by_member(rows: list[tuple[WorkloadRow, list[tuple[int, int]]]], members: np.ndarray) -> list[list[WorkloadRow]]:
    """The workload rows, in file order, of each member partition."""
    order = np.argsort(members)
    ordered = members[order]
    by_member: list[list[WorkloadRow]] = [[] for _ in members]
    for row, ranges in rows:
        for low, high in ranges:
            for i in range(int(np.searchsorted(ordered, low)), int(np.searchsorted(ordered, high, "right"))):
                by_member[int(order[i])].append(row)
    return by_member
