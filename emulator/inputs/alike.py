"""Partitions that go through the same: they are emulated once, and every table has a row for each of them.

What happens to a partition depends on what happens to its brokers, not on which they are: partitions on different brokers are
alike as long as the faults, the settings and the links of their brokers are, slot by slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from emulator.inputs.fetching import fetching_members

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


def find_alike(inputs: ScenarioInputs, traced: np.ndarray, by_broker: bool = False) -> Alike:
    """Group the partitions whose brokers fare alike, with the same workload, settings, commands and start.

    A round is a function of a partition's state and inputs alone, so equal ones stay equal; partitions that a group's member
    fetches together are alike only with each other. `traced`: flags by partition_id; traced partitions are grouped among
    themselves, so that only they are traced. `by_broker`: only partitions on the same brokers in the same order are alike, since
    brokers have budgets to share.
    """
    table = inputs.partition_table
    starts = inputs.starts()
    key = table.feed_id.astype(np.int64)
    for values in (inputs.fates(starts, by_broker), starts, traced):
        key = key * (int(values.max(initial=0)) + 1) + values
    for members in fetching_members(inputs.scenario).values():
        key = np.unique(key, return_inverse=True)[1].reshape(-1) * (int(members.max(initial=0)) + 2) + members + 1
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Alike(first[order], place[group.reshape(-1)])
