"""Communities: brokers that share more partitions with each other than an even spread would give by chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from emulator.graphs.placed import Placed

if TYPE_CHECKING:
    from emulator.graphs.backends import Graphs  # which takes pyspark along

STANDARD_DEVIATIONS = 2


def shared_partitions(cluster: Placed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns pairs (lower, higher) of places of brokers that share partitions, ascending, and how many each pair shares."""
    count = max(1, len(cluster.brokers))
    keys = [np.empty(0, np.int64)]
    for one, other in combinations(range(cluster.replicas.shape[1]), 2):
        a, b = cluster.replicas[:, one].astype(np.int64), cluster.replicas[:, other].astype(np.int64)
        there = (a >= 0) & (b >= 0)
        keys.append((np.minimum(a, b) * count + np.maximum(a, b))[there])
    pairs, shared = np.unique(np.concatenate(keys), return_counts=True)
    return np.stack([pairs // count, pairs % count], axis=1), shared


def community_rows(cluster: Placed, graphs: Graphs) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `communities`, largest first, then by lowest broker id.

    An edge is a pair that shares more partitions than two standard deviations above what each pair would have if all were spread
    evenly (as counts are: their variance is their mean). A broker without any is its own community.
    """
    count = len(cluster.brokers)
    pairs, shared = shared_partitions(cluster)
    mean = shared.sum() / max(1, count * (count - 1) // 2)
    strong = pairs[shared > mean + STANDARD_DEVIATIONS * sqrt(mean)]
    found = graphs.communities(range(count), strong)
    of_broker = np.zeros(count + 1, np.int64)  # the last one: of no replica
    for number, group in enumerate(found):
        of_broker[list(group)] = number
    of_replica = of_broker[cluster.replicas]
    there = cluster.replicas >= 0
    first = of_replica[np.arange(len(there)), there.argmax(axis=1)] if there.size else np.zeros(0, np.int64)
    within = ((of_replica == first[:, None]) | ~there).all(axis=1) & there.any(axis=1)
    partitions = np.bincount(first[within], minlength=len(found))
    racks = cluster.rack_places
    rows = []
    for number, group in enumerate(found):
        ids = sorted(int(cluster.brokers[place]) for place in group)
        rows.append((cluster.scenario_id, ids[0], ids, len(set(racks[list(group)].tolist())), int(partitions[number])))
    yield from sorted(rows, key=lambda row: (-len(row[2]), row[1]))
