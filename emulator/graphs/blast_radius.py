"""How far the loss of each broker, of each rack, and of each link between a leader and a follower reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.graphs.placed import Placed

Counts = dict[str, NDArray[np.int64]]


def blast_radius(cluster: Placed) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of table `blast_radius`: brokers, racks, then links that some partition replicates over."""
    ids = cluster.brokers.tolist()
    brokers = _struck(cluster, np.arange(len(ids), dtype=np.int32), len(ids))
    for place, counts in enumerate(zip(*brokers.values(), strict=True)):
        yield cluster.scenario_id, "broker", ids[place], None, cluster.racks[place], *map(int, counts)
    racks = _struck(cluster, cluster.rack_places, len(cluster.rack_names) + len(ids))
    for name, counts in zip(cluster.rack_names, zip(*racks.values(), strict=True), strict=False):
        yield cluster.scenario_id, "rack", None, None, name, *map(int, counts)
    for lower, higher, *numbers in _links(cluster):
        yield cluster.scenario_id, "link", ids[lower], ids[higher], None, 0, 0, *numbers


def _struck(cluster: Placed, domain: NDArray[np.int32], domains: int) -> Counts:
    """By failure domain: what its loss does. `domain`: that of each broker."""
    width = cluster.in_sync.shape[1]
    row = np.repeat(np.arange(len(cluster.in_sync), dtype=np.int64), width)
    members = cluster.in_sync.reshape(-1)
    there = members >= 0
    # of a partition, members in the same domain fall together
    keys, fallen = np.unique(row[there] * domains + domain[members[there]], return_counts=True)
    partition, hit = keys // max(1, domains), keys % max(1, domains)
    had = (cluster.in_sync >= 0).sum(axis=1)[partition]
    left, needed = had - fallen, cluster.min_isr[partition]
    led = domain[cluster.leader[cluster.leader >= 0]]

    def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(hit[which], minlength=domains)

    return {
        "leaderless": np.bincount(led, minlength=domains),
        "unavailable": count(left == 0),
        "unwritable": count((left < needed) & (had >= needed)),
        "under_replicated": count(left >= 0),
        "lost_with_next": count(left == 1),
    }


def _links(cluster: Placed) -> Iterator[tuple[int, int, int, int, int]]:
    """Yields (broker, peer, unwritable, under_replicated, lost_with_next) by places, ascending.

    A follower that its leader doesn't hear leaves the ISR (replica.lag.time.max.ms); the leader goes on without it.
    """
    count = len(cluster.brokers)
    leader = cluster.leader[:, None]
    cut = (cluster.in_sync >= 0) & (leader >= 0) & (cluster.in_sync != leader)
    partition, column = np.nonzero(cut)
    follower, leads = cluster.in_sync[partition, column].astype(np.int64), cluster.leader[partition].astype(np.int64)
    had = (cluster.in_sync >= 0).sum(axis=1)[partition]
    needed = cluster.min_isr[partition]
    links, of_link = np.unique(np.minimum(follower, leads) * count + np.maximum(follower, leads), return_inverse=True)

    def times(which: NDArray[np.bool_]) -> list[int]:
        found: list[int] = np.bincount(of_link[which], minlength=len(links)).tolist()
        return found

    unwritable, fewer, last = times((had - 1 < needed) & (had >= needed)), times(had > 0), times(had == 2)
    for link, *numbers in zip(links.tolist(), unwritable, fewer, last, strict=True):
        yield link // count, link % count, *numbers
