"""All that comes from outside into one scenario, as changes at rounds. Pure driver-side code: no Spark here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.expressions.kafka.state import KAFKA_STATE
from emulator.faults.timeline import BrokerSegment, broker_timelines
from emulator.inputs.alike import Alike
from emulator.inputs.change_types import FEED_CHANGES, FEED_KEY, WORLD_KEY, changes_schema
from emulator.inputs.classifier import Classifier
from emulator.inputs.fates import world_fates
from emulator.inputs.feeds import Feed
from emulator.inputs.tables import PartitionTable
from emulator.inputs.world_changes import WorldChanges
from emulator.inputs.worlds import BrokersOverTime, World
from emulator.scenario import Scenario
from emulator.state_schema import StateSchema


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
    def world_count(self) -> int:
        """Worlds of the scenario, numbered from 0."""
        return len(self.worlds)

    @property
    def feed_count(self) -> int:
        """Feeds of the scenario, numbered from 0."""
        return len(self.feeds)

    def starts(self) -> np.ndarray:
        """By partition_id: a number for what the initial tables say of it, 0 for nothing."""
        from emulator.inputs.starts import starts_of  # it needs arrays, which needs this package

        return starts_of(self.scenario)

    def fates(self, starts: np.ndarray, by_broker: bool) -> np.ndarray:
        """By partition_id: a number for what happens to its brokers; if it matters which they are, for the brokers.

        That is so if brokers share budgets (`by_broker`); where `starts` are given, which name brokers; and where consumers read,
        who tell brokers by rack, id and page cache.
        """
        worlds = self.partition_table.world_id
        is_read = np.array([bool(feed.consumers) for feed in self.feeds], bool)[self.partition_table.feed_id]
        fates = world_fates(self.worlds, self.over_time)
        return np.where(by_broker | (starts > 0) | is_read, worlds + self.world_count, fates[worlds])

    @property
    def has_late_news(self) -> bool:
        """Whether a fault lets news through late (stale_metadata with lag_rounds)."""
        faults = self.scenario.faults
        late = pc.and_(pc.is_valid(faults.column("lag_rounds")), pc.equal(faults.column("kind"), "stale_metadata"))
        return pc.any(late).as_py() or False

    @property
    def keeps_segments(self) -> bool:
        """Whether local segments may be deleted in the run."""
        return any(feed.keeps_segments for feed in self.feeds)

    @property
    def has_remote_storage(self) -> bool:
        """Whether a topic has remote storage in some round."""
        return any(feed.is_tiered for feed in self.feeds)

    @property
    def prefers_local_log(self) -> bool:
        """Whether elections go by what replicas have themselves (KIP-1303)."""
        return any(feed.prefers_local_log for feed in self.feeds)

    @property
    def has_consumers(self) -> bool:
        """Whether a group reads a partition."""
        return any(feed.consumers for feed in self.feeds)

    @property
    def replicas(self) -> int:
        """Replicas that are emulated: slots over all partitions."""
        return int(self.partition_table.slot_count.sum())

    @property
    def states(self) -> np.ndarray:
        """The partition_ids that have a state of their own, ascending."""
        return np.arange(self.partition_count) if self.alike is None else self.alike.representatives

    @cached_property
    def homes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(states, by place in `states`; worlds; how many of the state's partitions live in the world): every such pair once."""
        group = np.arange(self.partition_count) if self.alike is None else self.alike.group
        pairs, members = np.unique(group * self.world_count + self.partition_table.world_id, return_counts=True)
        return *np.divmod(pairs, self.world_count), members

    @property
    def rows(self) -> int:
        """State rows of the scenario: slots over all partitions that have a state of their own."""
        return int(self.partition_table.slot_count[self.states].sum())

    @cached_property
    def changes(self) -> WorldChanges:
        """What changes over the run for the worlds of partitions that have a state of their own."""
        wanted = np.unique(self.partition_table.world_id[self.states])
        return WorldChanges(self.worlds, self.over_time, self.scenario.round_ms, wanted)

    @cached_property
    def _feed_changes(self) -> tuple[np.ndarray, np.ndarray]:
        """(rounds in which a value begins for a feed, ascending; the feeds)."""
        by_feed = [feed.changes_between(0, self.scenario.rounds) for feed in self.feeds]
        rounds = np.fromiter(chain.from_iterable(by_feed), np.int64)
        feeds = np.repeat(np.arange(len(by_feed)), np.array([len(of_feed) for of_feed in by_feed], np.int64))
        order = np.argsort(rounds, kind="stable")
        return rounds[order], feeds[order]

    def change_counts(self) -> tuple[np.ndarray, np.ndarray]:
        """(rounds at which something begins for a world or a feed, ascending; how many values do). Builds no values."""
        world_rounds, worlds = self.changes.change_counts()
        feed_rounds, feeds = np.unique(self._feed_changes[0], return_counts=True)
        rounds = np.union1d(world_rounds, feed_rounds)
        counts = np.zeros(len(rounds), np.int64)
        for some, count in ((world_rounds, worlds), (feed_rounds, feeds)):
            counts[np.searchsorted(rounds, some)] += count
        return rounds, counts

    def world_change_table(self, from_round: int, to_round: int, first_world_id: int = 0) -> pa.Table:
        """The worlds' values that begin in [from_round, to_round), the worlds numbered from `first_world_id`."""
        return self.changes.table(from_round, to_round, first_world_id)

    def feed_change_table(self, from_round: int, to_round: int, first_feed_id: int = 0) -> pa.Table:
        """The feeds' values that begin in [from_round, to_round), the feeds numbered from `first_feed_id`."""
        rounds, feeds = self._feed_changes
        window = slice(*np.searchsorted(rounds, (from_round, to_round)))
        changes: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for feed, round_ in sorted(zip(feeds[window].tolist(), rounds[window].tolist(), strict=True)):
            changes[first_feed_id + feed].append({"from_round": round_, "value": self.feeds[feed].at(round_)})
        columns = (list(changes), list(changes.values()))
        return pa.table([pa.array(c, f.type) for c, f in zip(columns, FEED_CHANGES, strict=True)], schema=FEED_CHANGES)

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


def change_tables(
    inputs: Sequence[ScenarioInputs], from_round: int, to_round: int, schema: StateSchema = KAFKA_STATE
) -> tuple[pa.Table, pa.Table]:
    """What begins in [from_round, to_round) for all worlds and all feeds of scenarios that run side by side.

    Worlds and feeds are numbered through, in the order of the scenarios; one that has ended has no rows.
    """
    worlds = [changes_schema(WORLD_KEY, schema.world).empty_table()]
    feeds = [changes_schema(FEED_KEY, schema.feed).empty_table()]
    first_world = first_feed = 0
    for i in inputs:
        if from_round < i.scenario.rounds:
            worlds.append(i.world_change_table(from_round, to_round, first_world))
            feeds.append(i.feed_change_table(from_round, to_round, first_feed))
        first_world += i.world_count
        first_feed += i.feed_count
    return pa.concat_tables(worlds), pa.concat_tables(feeds)
