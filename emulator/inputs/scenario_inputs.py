"""All that comes from outside into one scenario, as changes at rounds. Pure driver-side code: no Spark here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.inputs.alike import Alike
from emulator.inputs.classifier import Classifier
from emulator.inputs.feeds import Feed
from emulator.inputs.tables import PartitionTable
from emulator.inputs.worlds import BrokersOverTime, World
from emulator.scenario import Scenario


@dataclass
class ScenarioInputs:
    """Worlds and feeds of one scenario and their changes."""

    scenario: Scenario
    timelines: dict[int, list[BrokerSegment]]
    worlds: list[World] = field(default_factory=list)
    feeds: list[Feed] = field(default_factory=list)
    partitions: PartitionTable | None = None

    alike: Alike | None = None
    """Partitions that share one state; None: every partition has its own."""

    def __post_init__(self) -> None:
        self.over_time = BrokersOverTime(self.scenario, self.timelines)
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
    def partition_count(self) -> int:
        """Partitions of the scenario."""
        return len(self.partition_table.partition)

    @property
    def has_late_news(self) -> bool:
        """Whether a fault lets news through late (stale_metadata with lag_rounds)."""
        return pc.any(pc.is_valid(self.scenario.faults.column("lag_rounds"))).as_py() or False

    @property
    def replicas(self) -> int:
        """Replicas that are emulated: slots over all partitions."""
        return int(self.partition_table.slot_count.sum())

    @property
    def states(self) -> np.ndarray:
        """The partition_ids that have a state of their own, ascending."""
        return np.arange(self.partition_count) if self.alike is None else self.alike.representatives

    @property
    def rows(self) -> int:
        """State rows of the scenario: slots over all partitions that have a state of their own."""
        return int(self.partition_table.slot_count[self.states].sum())

    def world_changes(self, from_round: int, to_round: int) -> dict[int, list[dict[str, Any]]]:
        """World index -> values that begin in [from_round, to_round), in order of their `from_round`."""
        touched = self.over_time.changes_between(from_round, to_round)
        changes: dict[int, list[dict[str, Any]]] = {}
        for index, world in enumerate(self.worlds):
            rounds = set().union(*(touched[b] for b in world.brokers if b in touched))
            if rounds:
                changes[index] = [{"from_round": r, "value": self.over_time.world_at(world, r)} for r in sorted(rounds)]
        return changes

    def feed_changes(self, from_round: int, to_round: int) -> dict[int, list[dict[str, Any]]]:
        """Feed index -> values that begin in [from_round, to_round), in order of their `from_round`."""
        changes = {}
        for index, feed in enumerate(self.feeds):
            rounds = feed.changes_between(from_round, to_round)
            if rounds:
                changes[index] = [{"from_round": r, "value": feed.at(r)} for r in rounds]
        return changes

    def change_counts(self) -> dict[int, int]:
        """Round -> how many worlds and feeds change in it."""
        counts: Counter[int] = Counter()
        worlds_of = Counter(broker for world in self.worlds for broker in world.brokers)
        for broker, rounds in self.over_time.changes_between(0, self.scenario.rounds).items():
            counts.update(dict.fromkeys(rounds, worlds_of[broker]))
        for feed in self.feeds:
            counts.update(feed.changes_between(0, self.scenario.rounds))
        return counts

    def partition_id(self, topic: str, partition: int) -> int:
        """The id of a partition within the scenario."""
        return self._first_partition[topic] + partition


def scenario_inputs(scenario: Scenario) -> ScenarioInputs:
    """Worlds, feeds and the partition table of one scenario."""
    brokers = [(b.id, b.rack) for b in scenario.brokers]
    timelines = broker_timelines(
        scenario.faults, brokers, scenario.rounds, scenario.session_timeout_rounds, isolation_in_drop_to=False
    )
    classifier = Classifier(scenario)
    table = classifier.partition_table()
    return ScenarioInputs(scenario, timelines, classifier.worlds, classifier.feeds, table)
