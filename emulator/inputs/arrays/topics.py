"""Topics: where their partitions stand."""

from __future__ import annotations

import numpy as np

from emulator.scenario import Scenario
from emulator.scenario.globs import Globs


class TopicPlaces:
    """The partitions of a scenario, topic by topic: `first` by topic, and one more for the end."""

    def __init__(self, scenario: Scenario) -> None:
        self.names = tuple(topic.name for topic in scenario.topics)
        self.counts = np.array([topic.partitions for topic in scenario.topics], np.int64)
        self.first = np.concatenate([[0], np.cumsum(self.counts)])
        self.index = {name: i for i, name in enumerate(self.names)}

    @property
    def partition_count(self) -> int:
        """Partitions of all topics."""
        return int(self.first[-1])

    def matching(self, globs: Globs) -> list[np.ndarray]:
        """By number of the glob: the indices of the topics that it matches."""
        found: list[list[int]] = [[] for _ in globs.numbers]
        for index, name in enumerate(self.names):
            for number in globs.matching(name):
                found[number].append(index)
        return [np.array(topics, np.int64) for topics in found]
