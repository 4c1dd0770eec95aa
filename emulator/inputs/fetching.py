"""Consumers that read several partitions, and so fetch them together."""

from __future__ import annotations

import numpy as np

from emulator.scenario import Scenario
from emulator.scenario.consumers import read_partitions


def fetching_members(scenario: Scenario) -> dict[str, np.ndarray]:
    """Groups with fewer members than partitions: by partition_id the member that reads it, -1 for none.

    The i-th partition of a group, by topic name and number, is read by member i mod members (docs/consumer_rounds.md).
    """
    sizes = {topic.name: topic.partitions for topic in scenario.topics}
    first = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True))
    found = {}
    for group in dict.fromkeys(row.group for row in scenario.consumers):
        rows = [row for row in scenario.consumers if row.group == group]
        if (members := rows[0].members) is None:
            continue
        is_read = np.zeros(sum(sizes.values()), bool)
        for row in rows:
            for topic, ranges in read_partitions(row, sizes).items():
                for low, high in ranges:
                    is_read[first[topic] + low : first[topic] + high + 1] = True
        if members >= is_read.sum():
            continue
        member = np.full(len(is_read), -1, np.int64)
        in_order = np.concatenate([np.arange(first[topic], first[topic] + sizes[topic]) for topic in sorted(sizes)])
        in_order = in_order[is_read[in_order]]
        member[in_order] = np.arange(len(in_order)) % members
        found[group] = member
    return found
