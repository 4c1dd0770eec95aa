"""The copysets whose failure loses most partitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.graphs.failure_sets import DATA, failure_sets
from emulator.graphs.placed import Placed


class WorstSet(NamedTuple):
    """A copyset: places of its brokers, and how many partitions have all replicas there."""

    brokers: tuple[int, ...]
    partitions: int


class WorstSets(NamedTuple):
    """The worst copysets, the worst first; how many there are in all, and how many more lose as many as the last of these."""

    worst: list[WorstSet]
    copysets: int
    as_bad: int


def worst_sets(cluster: Placed, number: int) -> WorstSets:
    """Returns the `number` copysets whose failure loses most partitions; of equal ones, those of the lowest brokers."""
    sets, counts = failure_sets(cluster)[DATA]
    order = np.argsort(-counts, kind="stable")[:number]
    worst = [WorstSet(tuple(b for b in sets[place].tolist() if b >= 0), int(counts[place])) for place in order]
    last = worst[-1].partitions if worst else 0
    as_bad = int((counts == last).sum()) - sum(each.partitions == last for each in worst)
    return WorstSets(worst, len(sets), as_bad)
