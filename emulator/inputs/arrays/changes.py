"""The rounds in which an input of a scenario changes."""

from __future__ import annotations

import numpy as np

from emulator.inputs.arrays.brokers import BrokerArrays
from emulator.inputs.arrays.columns import spread
from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import Globs, TopicPlaces
from emulator.inputs.arrays.workload import ranges_of_rows
from emulator.rounds.kafka.records import FOREVER
from emulator.scenario import Command, Scenario


def changes_of_inputs(scenario: Scenario, places: TopicPlaces, brokers: BrokerArrays, placement: Placement) -> np.ndarray:
    """Ascending, round 0 among them: of what faults say of brokers with replicas, of workload, settings and commands.

    An entry of the scenario file counts where it concerns a partition, whether it says something new or not; a command also in
    the round after it.
    """
    of_brokers = np.unique(placement.broker)
    first, count = brokers.first_span[of_brokers], np.diff(brokers.first_span)[of_brokers]
    begins = np.asarray(brokers.spans["from_round"])[spread(first, count)]
    rows, _, _ = ranges_of_rows(scenario, places)
    of_workload = [scenario.workload.column(name).to_numpy()[np.unique(rows)] for name in ("from_round", "to_round")]
    commands = np.array([c.round for c in _that_concern(scenario, places)], np.int64)
    rounds = np.unique(np.concatenate([[0], begins[begins < FOREVER], *of_workload, commands, commands + 1]))
    return rounds[rounds < scenario.rounds].astype(np.int64)


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
