"""Topics: where their partitions stand, which globs match them, and what alters their config."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

import numpy as np

from emulator.scenario import Command, Scenario
from emulator.scenario.globs import GLOB_CHARACTERS


class Globs:
    """Distinct topic globs; None matches every topic."""

    def __init__(self, globs: Iterable[str | None]) -> None:
        self.numbers: dict[str | None, int] = {}
        """Glob -> its number, in the order in which they come first."""
        self._wild: list[tuple[int, re.Pattern[str]]] = []
        for glob in globs:
            if glob not in self.numbers:
                number = self.numbers[glob] = len(self.numbers)
                if glob is not None and not GLOB_CHARACTERS.isdisjoint(glob):
                    self._wild.append((number, re.compile(translate(glob))))

    def matching(self, topic: str) -> list[int]:
        """The numbers of the globs that match a topic, ascending."""
        if not self.numbers:
            return []
        found = {number for number, pattern in self._wild if pattern.match(topic)}
        found |= {self.numbers[glob] for glob in (None, topic) if glob in self.numbers}
        return sorted(found)


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


class Alterations:
    """The alter_config commands of topics and of the cluster."""

    def __init__(self, scenario: Scenario) -> None:
        commands = sorted(scenario.commands, key=lambda c: c.round)
        self._commands = [c for c in commands if c.kind == "alter_config" and c.broker is None]
        self._globs = Globs(c.topic for c in self._commands)

    def key(self, topic: str) -> tuple[int, ...]:
        """The same for topics that the same commands concern."""
        return tuple(self._globs.matching(topic))

    def of(self, key: tuple[int, ...]) -> list[Command]:
        """The commands that concern topics with this key, by round."""
        return [c for c in self._commands if self._globs.numbers[c.topic] in key]
