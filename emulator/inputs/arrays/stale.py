"""Which partitions stale_metadata faults cover, and how late each lets news through."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow.compute as pc

from emulator.faults.touching import StalePartition
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.rounds.kafka.constants import NO_NEWS, NOT_COVERED
from emulator.scenario import Scenario
from emulator.scenario.globs import Globs

Pattern = tuple[str | None, int | None]
"""(topic glob, partition) of a fault; None for all."""

_NEVER = 1 << 62
"""A lag larger than any."""


class StaleTable:
    """Rows: distinct sets of faults on a broker, row 0 without any; columns: distinct sets of patterns, column 0 without any."""

    def __init__(self) -> None:
        self._rows: dict[tuple[StalePartition, ...], int] = {(): 0}
        self._columns: dict[frozenset[Pattern], int] = {frozenset(): 0}

    def row(self, covered: tuple[StalePartition, ...]) -> int:
        """The row of what covers a broker."""
        return self._rows.setdefault(covered, len(self._rows))

    def column(self, patterns: frozenset[Pattern]) -> int:
        """The column of patterns that cover a partition."""
        return self._columns.setdefault(patterns, len(self._columns))

    def table(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The table with these rows and columns only: NOT_COVERED, NO_NEWS, or the largest lag."""
        found: dict[Pattern, list[tuple[int, int]]] = defaultdict(list)
        covered = list(self._rows)
        for at, row in enumerate(rows.tolist()):
            for topic, partition, lag in covered[row]:
                found[topic, partition].append((at, _NEVER if lag is None else lag))
        table = np.full((len(rows), len(columns)), NOT_COVERED, np.int64)
        patterns = list(self._columns)
        for at, column in enumerate(columns.tolist()):
            for pattern in patterns[column]:
                for row, lag in found.get(pattern, ()):
                    table[row, at] = max(table[row, at], lag)
        table[table == _NEVER] = NO_NEWS
        return table


def stale_classes(scenario: Scenario, places: TopicPlaces, table: StaleTable) -> np.ndarray:
    """By partition_id: the column of the patterns that cover it."""
    classes = np.zeros(places.partition_count, np.int64)
    kinds = scenario.faults.column("kind")
    if "stale_metadata" not in kinds.unique().to_pylist():
        return classes
    faults = scenario.faults.filter(pc.equal(kinds, "stale_metadata"))
    pairs = zip(faults.column("topic").to_pylist(), faults.column("partition").to_pylist(), strict=True)
    patterns = list(dict.fromkeys(pairs))
    globs = Globs(topic for topic, _ in patterns)
    by_glob: list[list[Pattern]] = [[] for _ in globs.numbers]
    for pattern in patterns:
        by_glob[globs.numbers[pattern[0]]].append(pattern)
    for index, name in enumerate(places.names):
        matching = [pattern for number in globs.matching(name) for pattern in by_glob[number]]
        if matching:
            _of_topic(matching, classes[places.first[index] : places.first[index + 1]], table)
    return classes


def _of_topic(matching: list[Any], classes: np.ndarray, table: StaleTable) -> None:
    """Write the columns of a topic's partitions."""
    everywhere = [pattern for pattern in matching if pattern[1] is None]
    classes[:] = table.column(frozenset(everywhere))
    own: dict[int, list[Pattern]] = defaultdict(list)
    for pattern in matching:
        if pattern[1] is not None and pattern[1] < len(classes):
            own[pattern[1]].append(pattern)
    for partition, patterns in own.items():
        classes[partition] = table.column(frozenset(everywhere + patterns))


def has_late_news(scenario: Scenario) -> bool:
    """Whether a fault lets news through late (stale_metadata with lag_rounds)."""
    faults = scenario.faults
    if faults.column("lag_rounds").null_count == faults.num_rows:
        return False
    late = pc.and_(pc.is_valid(faults.column("lag_rounds")), pc.equal(faults.column("kind"), "stale_metadata"))
    return bool(pc.any(late).as_py())
