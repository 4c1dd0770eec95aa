"""The rounds in which an input of a scenario changes."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np

from emulator.inputs.arrays.brokers import BrokerArrays
from emulator.inputs.arrays.columns import spread
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.arrays.workload import ranges_of_rows
from emulator.inputs.storage_settings import store_faults
from emulator.rounds.kafka.constants import FOREVER
from emulator.scenario import Command, Scenario
from emulator.scenario.consumers import read_partitions
from emulator.scenario.globs import Globs


def changes_of_inputs(
    scenario: Scenario, places: TopicPlaces, brokers: BrokerArrays, placement: Placement, keeps: np.ndarray, commits: np.ndarray
) -> np.ndarray:
    """Ascending, round 0 among them: of what faults say of brokers with replicas and of the remote store, of workload, consumers,
    settings and commands. `keeps`, `commits`: flags by partition_id, it keeps its segments; some group reads what is committed.

    An entry of the scenario file counts where it concerns a partition, whether it says something new or not; a command also in
    the round after it.
    """
    of_brokers = np.unique(placement.broker)
    first, count = brokers.first_span[of_brokers], np.diff(brokers.first_span)[of_brokers]
    begins = np.asarray(brokers.spans["from_round"])[spread(first, count)]
    rows, _, _ = ranges_of_rows(scenario, places)
    of_workload = [scenario.workload.column(name).to_numpy()[np.unique(rows)] for name in ("from_round", "to_round")]
    commands = np.array([c.round for c in _that_concern(scenario, places)], np.int64)
    others = [*_of_consumers(scenario, places), *_of_store(scenario, places, keeps, commits)]
    rounds = np.unique(np.concatenate([[0], begins[begins < FOREVER], *of_workload, commands, commands + 1, others]))
    return rounds[rounds < scenario.rounds].astype(np.int64)


def _of_consumers(scenario: Scenario, places: TopicPlaces) -> list[int]:
    """Where groups begin and end to read a partition."""
    counts = dict(zip(places.names, places.counts.tolist(), strict=True))
    rows = [row for row in scenario.consumers if any(read_partitions(row, counts).values())]
    return [round_ for row in rows for round_ in (row.from_round, row.to_round)]


def _of_store(scenario: Scenario, places: TopicPlaces, keeps: np.ndarray, commits: np.ndarray) -> list[int]:
    """Where faults of the remote store, and open transactions, begin and end for a partition that minds them.

    Such a one keeps its segments, will be deleted, or is read up to its open transactions.
    """
    faults = store_faults(scenario)
    if not faults:
        return []
    deleted = [command.topic or "" for command in scenario.commands if command.kind == "delete_topic"]
    goes = [any(fnmatchcase(name, topic) for topic in deleted) for name in places.names]
    minds = keeps | np.repeat(np.array(goes, bool), places.counts)
    concerned = [_concerned(places, row.topic, row.partition) for row in faults]
    for row, by_fault in zip(faults, concerned, strict=True):
        if row.kind == "open_transaction":
            minds = minds | (by_fault & commits)
    rows = [row for row, by_fault in zip(faults, concerned, strict=True) if (by_fault & minds).any()]
    return [round_ for row in rows for round_ in (row.from_round, row.to_round)]


def _concerned(places: TopicPlaces, topic: str | None, partition: int | None) -> np.ndarray:
    """Flags by partition_id: a fault of a topic (a glob, None for all) and a partition (None for all) is about it."""
    named = np.array([topic is None or fnmatchcase(name, topic) for name in places.names], bool)
    found: np.ndarray = np.repeat(named, places.counts)
    if partition is not None:
        found &= np.arange(places.partition_count) - np.repeat(places.first[:-1], places.counts) == partition
    return found


def _that_concern(scenario: Scenario, places: TopicPlaces) -> list[Command]:
    """The commands that concern a partition; those that alter what brokers have of their own only show in spans."""
    commands = [c for c in scenario.commands if c.kind != "alter_config" or c.broker is None]
    topics = [None if c.kind == "alter_config" and c.topic is None else c.topic or "" for c in commands]
    globs = Globs(topics)
    matching = places.matching(globs)
    found = []
    for command, topic in zip(commands, topics, strict=True):
        of_topics = matching[globs.numbers[topic]]
        if command.partition is None or command.kind == "alter_config":
            concerns = len(of_topics) > 0
        else:
            concerns = bool((places.counts[of_topics] > command.partition).any())
        if concerns:
            found.append(command)
    return found
