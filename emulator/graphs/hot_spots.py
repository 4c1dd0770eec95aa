"""Hot spots: which brokers the others follow, and what they carry for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from emulator.graphs.backends import Graphs
from emulator.graphs.placed import Placed


def hot_spot_rows(cluster: Placed, carried: Mapping[int, tuple[int, int]] | None, graphs: Graphs) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `hot_spots`, by broker. `carried`: bytes out and in of each broker in a run; None: nothing ran."""
    count = len(cluster.brokers)
    replicas = np.bincount(cluster.replicas[cluster.replicas >= 0], minlength=count)
    leads = np.bincount(cluster.leader[cluster.leader >= 0], minlength=count)
    leader = cluster.leader[:, None]
    partition, column = np.nonzero((cluster.replicas >= 0) & (leader >= 0) & (cluster.replicas != leader))
    pairs = np.unique(cluster.replicas[partition, column].astype(np.int64) * count + cluster.leader[partition])
    followers = graphs.in_degrees(range(count), np.stack([pairs // max(1, count), pairs % max(1, count)], axis=1))
    for place, broker in enumerate(cluster.brokers.tolist()):
        numbers = int(replicas[place]), int(leads[place]), followers[place]
        moved = (None, None) if carried is None else carried.get(broker, (0, 0))
        yield cluster.scenario_id, broker, cluster.racks[place], *numbers, *moved
