"""A block of topics that are lists of ledgers, from scenarios: their inputs and their state before round 0."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.faults.kinds import FaultRow, read_fault_rows
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.gather import GatheredInputs
from emulator.inputs.ledger_arrays.given_lists import Given, given_list
from emulator.inputs.ledger_arrays.of_ledgers import Feed, Spans, feeds_of_topic, workload_spans
from emulator.inputs.ledger_arrays.prepare import with_places
from emulator.inputs.ledger_arrays.settings import settings_of, topic_settings_of
from emulator.inputs.ledger_arrays.weights import topic_weights, traced_weights
from emulator.inputs.remote_store import STORE_FAULTS, store_bytes, store_is_up
from emulator.rounds.bookkeeper.constants import FOREVER, NO_FAULT, NO_LIMIT, NOBODY
from emulator.rounds.bookkeeper.inputs import Inputs
from emulator.rounds.bookkeeper.records import Ledger as LedgerRecord
from emulator.rounds.bookkeeper.state import LIST_RECORDS, WIDTHS, State
from emulator.rounds.bookkeeper.topics.records import Owner, Part, Topic
from emulator.rounds.bookkeeper.topics.state import TopicState
from emulator.rounds.packed import packed, width_of
from emulator.rounds.records import rows
from emulator.scenario import Scenario
from emulator.scenario import Topic as ScenarioTopic
from emulator.scenario.ledger_configs import effective, is_managed


class TopicBlock(NamedTuple):
    """Topics to be played: their state, and what their rounds read. `traced`: by topic, whether its rounds become tables."""

    state: TopicState
    inputs: Inputs
    traced: np.ndarray


class PreparedTopics:
    """All topics that are lists of ledgers of some scenarios, in their order.

    `traced`: as of PreparedLedgers. `weights`: by topic, how much there is to do.
    """

    def __init__(
        self, scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, bucket_rounds: int = 0
    ) -> None:
        gathered = GatheredInputs()
        parts: list[Any] = [rows(Topic, 0)]
        weights: list[np.ndarray] = [np.zeros(0)]
        flags: list[np.ndarray] = [np.zeros(0, bool)]
        given: dict[int, list[Given]] = {}
        for scenario in scenarios:
            faults = read_fault_rows(scenario.faults, scenario.rounds)
            arrays = BookieArrays(scenario, faults)
            place, first_store_span = gathered.add_scenario(scenario, faults, arrays, leaps, bucket_rounds)
            first = 0
            for topic in scenario.topics:
                if is_managed(scenario.config, topic.config):
                    of_topic, feeds = feeds_of_topic(scenario, topic, faults, arrays.place)
                    own = _topic_rows(gathered, scenario, topic, of_topic, feeds)
                    own.scenario, own.store_span = place, first_store_span
                    own.number = np.arange(first, first + topic.partitions)
                    own.first_bookie = np.arange(topic.partitions) % len(arrays.ids)
                    for partition, ledgers_of in of_topic_given(scenario, topic.name).items():
                        given[sum(map(len, parts)) + partition] = _with_places(ledgers_of, topic.assignment[partition], arrays)
                    parts.append(own)
                    flags.append(np.asarray(traced[scenario.scenario_id][first : first + topic.partitions], bool))
                    size = int(effective(scenario.config, topic.config, "ensembleSize"))
                    ledgers = np.array([_ledgers_of(scenario, topic, feed) for feed in feeds])[of_topic]
                    own_weights = topic_weights(scenario.rounds, leaps, arrays, size, ledgers, of_topic, feeds)
                    weights.append(own_weights + traced_weights(scenario.rounds, size, flags[-1]))
                first += topic.partitions
        self._topics: Any = np.concatenate(parts).view(np.recarray)
        self._given = given
        self.count, self.weights, self.inputs = len(self._topics), np.concatenate(weights), gathered.inputs()
        self._flags = np.concatenate(flags)

    def numbers(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Of the topics [first, last): (places of their scenarios, partition_ids)."""
        return self._topics.scenario[first:last], self._topics.number[first:last]

    def payload(self, first: int, last: int) -> bytes:
        """The topics [first, last), for `read_topic_block`."""
        given = {at - first: ledgers for at, ledgers in self._given.items() if first <= at < last}
        return pickle.dumps((self._topics[first:last], self._flags[first:last], given, self.inputs), protocol=5)


def read_topic_block(payload: bytes) -> TopicBlock:
    """What `PreparedTopics.payload` packed."""
    topics, traced, given, inputs = pickle.loads(payload)
    topics.place = np.arange(len(topics))
    started = [given_list(topics[at], given.get(at, ()), inputs) for at in range(len(topics))]
    of_ledgers = {name: packed(WIDTHS[name], [one for each in started for one in each.lists[name]]) for name in LIST_RECORDS}
    state = TopicState(
        topics,
        packed(width_of(LedgerRecord), [each.ledgers for each in started]),
        packed(width_of(Part), [each.parts for each in started]),
        packed(width_of(Owner), [each.owners for each in started]),
        State(rows(LedgerRecord, 0), **of_ledgers),
    )
    return TopicBlock(state, inputs, traced)


def of_topic_given(scenario: Scenario, topic: str) -> dict[int, list[Given]]:
    """By partition of a topic the ledgers that its list starts with, in order."""
    own: dict[int, list[Given]] = {}
    for row in scenario.initial_ledgers.to_pylist():
        if row["topic"] == topic:
            own.setdefault(row["partition"], []).append(row)
    return own


def _with_places(given: Sequence[Given], ensemble: np.ndarray, arrays: BookieArrays) -> list[Given]:
    """Their bookies by place; `ensemble`: of bookies, in place of one that isn't known any more."""
    stand_ins = [arrays.place[bookie] for bookie in ensemble.tolist()]
    return [with_places(one, arrays) | {"stand_ins": stand_ins} for one in given]


def read_topics(
    scenarios: Sequence[Scenario], traced: Mapping[int, np.ndarray], leaps: bool, bucket_rounds: int = 0
) -> TopicBlock:
    """All of PreparedTopics in one block."""
    prepared = PreparedTopics(scenarios, traced, leaps, bucket_rounds)
    return read_topic_block(prepared.payload(0, prepared.count))


def _topic_rows(
    gathered: GatheredInputs, scenario: Scenario, topic: ScenarioTopic, of_topic: np.ndarray, feeds: Sequence[Feed]
) -> Any:
    """Records of a topic's partitions; `of_topic`: by partition the number of its feed."""
    own = rows(Topic, topic.partitions)
    own.end, own.offloading, own.crash_cause = scenario.rounds, NOBODY, NO_FAULT
    own.settings = gathered.settings.put((tuple(settings_of(scenario, topic).values()),))
    own.no_workload = gathered.workload.put(workload_spans((), scenario.rounds))
    for number, feed in enumerate(feeds):
        mine = of_topic == number
        for name, value in _of_feed(gathered, scenario, topic.config, feed).items():
            own[name][mine] = value
    return own


def _ledgers_of(scenario: Scenario, topic: ScenarioTopic, feed: Feed) -> float:
    """How many ledgers a topic with this feed will have, about: what comes from its sizes and its oldest age."""
    settings = topic_settings_of(scenario, topic.config, 0)
    messages = sum((min(row.to_round, scenario.rounds) - row.from_round) * row.records for row in feed.rows)
    size = sum((min(row.to_round, scenario.rounds) - row.from_round) * row.records * row.record_bytes for row in feed.rows)
    by_size = max(messages / settings["max_entries"], size / settings["max_bytes"])
    by_size = min(by_size, scenario.rounds / max(1, settings["min_age_rounds"]))
    return 1 + max(by_size, scenario.rounds / settings["max_age_rounds"])


def _of_feed(gathered: GatheredInputs, scenario: Scenario, config: Any, feed: Feed) -> dict[str, int]:
    """Fields of topics that have a feed."""
    entry_bytes = max((row.record_bytes for row in feed.rows), default=0)
    settings = topic_settings_of(scenario, config, entry_bytes)
    command = gathered.commands.put(feed.commands)
    return {
        "topic_settings": gathered.topics.put((tuple(settings.values()),)),
        "max_in_flight": max((row.max_in_flight or 1 for row in feed.rows), default=1),
        "workload": gathered.workload.put(feed.workload),
        "command": command,
        "first_command": command,
        "first_on_the_way": gathered.on_the_way.put(feed.on_the_way),
        "on_the_way": len(feed.on_the_way),
        "first_size": gathered.sizes.put(feed.sizes),
        "size_count": len(feed.sizes),
        "crash": gathered.crashes.put((*feed.crashes, (FOREVER, NO_FAULT))),
        "remote_span": gathered.remote_spans.put(remote_spans(scenario, feed.of_remote_store)),
    }


def remote_spans(scenario: Scenario, faults: Sequence[FaultRow]) -> Spans:
    """(first round, whether the remote store is there, bytes of a copy that it takes in a round, the outage); last: FOREVER."""
    spans: list[tuple[int, ...]] = []
    for edge in sorted({0, *(edge for f in faults for edge in (f.from_round, f.to_round) if edge < scenario.rounds)}):
        now = [f for f in faults if f.from_round <= edge < f.to_round]
        taken = store_bytes(scenario.remote_storage.copy_bytes_per_second, now, scenario.round_ms, FOREVER)
        outage = min((f.fault_id for f in now if f.kind == STORE_FAULTS[0]), default=NO_FAULT)
        spans.append((edge, int(store_is_up(now)), NO_LIMIT if taken is None else taken, outage))
    return (*spans, (FOREVER, 0, NO_LIMIT, NO_FAULT))
