"""Partitions that go through the same: they are emulated once, and every table has a row for each of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from emulator.inputs.scenario_inputs import ScenarioInputs


@dataclass(frozen=True)
class Alike:
    """Which partitions share one state.

    `representatives`: the partition_id of the first of each group, ascending, which stands for the group in the state;
    `group`: by partition_id, the index of its representative.
    """

    representatives: np.ndarray
    group: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """How many partitions each representative stands for."""
        return np.bincount(self.group, minlength=len(self.representatives))


def find_alike(inputs: ScenarioInputs, traced: np.ndarray) -> Alike:
    """Group the partitions with the same brokers in the same order, the same workload, settings, commands and start.

    A round is a function of a partition's state and inputs alone, so equal ones stay equal. `traced`: flags by
    partition_id; traced partitions are grouped among themselves, so that only they are traced.
    """
    table = inputs.partition_table
    starts = _starts(inputs)
    key = table.feed_id.astype(np.int64)
    for more, values in ((len(inputs.worlds), table.world_id), (int(starts.max(initial=0)) + 1, starts), (2, traced)):
        key = key * more + values
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Alike(first[order], place[group.reshape(-1)])


def _starts(inputs: ScenarioInputs) -> np.ndarray:
    """By partition_id: a number for what the initial tables say of it, 0 for nothing."""
    given: dict[int, list[Any]] = defaultdict(list)
    scenario = inputs.scenario
    for rows in (scenario.initial_replicas, scenario.initial_partitions, scenario.initial_remote_segments):
        for row in rows.to_pylist():
            rest = tuple((name, str(value)) for name, value in row.items() if name not in ("topic", "partition"))
            given[inputs.partition_id(row["topic"], row["partition"])].append(rest)
    numbers: dict[Any, int] = {}
    starts = np.zeros(inputs.partition_count, np.int64)
    for partition, rows_given in given.items():
        starts[partition] = numbers.setdefault(tuple(sorted(rows_given)), len(numbers) + 1)
    return starts
