"""Where a cluster's partitions lie, as arrays: what copysets, radii, communities and the picture are worked out from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from emulator.graphs.needed import needed_for_writes
from emulator.scenario import Scenario
from emulator.scenario.topics import Layout

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Placed:
    """A cluster's brokers, ascending, and its partitions.

    `racks`: by broker. `replicas`, `in_sync`: int32 (partitions, most replicas), places of brokers, -1 for none. `leader`: a
    place or -1. `min_isr`: replicas that it needs to take writes (needed.py), no more than there are.
    """

    scenario_id: int
    brokers: NDArray[np.int32]
    racks: tuple[str | None, ...]
    replicas: NDArray[np.int32]
    in_sync: NDArray[np.int32]
    leader: NDArray[np.int32]
    min_isr: NDArray[np.int32]

    @property
    def rack_names(self) -> list[str]:
        """The racks there are, sorted."""
        return sorted({rack for rack in self.racks if rack is not None})

    @property
    def rack_places(self) -> NDArray[np.int32]:
        """By broker: the place of its rack among `rack_names`; one without a rack has a place of its own after them."""
        names = {name: place for place, name in enumerate(self.rack_names)}
        places = [len(names) + broker if rack is None else names[rack] for broker, rack in enumerate(self.racks)]
        return np.array(places, np.int32)


def placed(
    scenario_id: int,
    brokers: Sequence[tuple[int, str | None]],
    replicas: NDArray[Any],
    min_isr: NDArray[Any],
    in_sync: NDArray[Any] | None = None,
    leader: NDArray[Any] | None = None,
) -> Placed:
    """Returns a placement from broker ids; without `in_sync` all replicas are, without `leader` the first replica leads."""
    ordered = sorted(brokers)
    ids = np.array([broker for broker, _ in ordered], np.int32)
    found = _places(replicas, ids)
    first = found[:, 0] if found.shape[1] else np.full(len(found), NOBODY, np.int32)
    return Placed(
        scenario_id,
        ids,
        tuple(rack for _, rack in ordered),
        found,
        found if in_sync is None else _places(in_sync, ids),
        first if leader is None else _places(leader, ids),
        np.minimum(min_isr, (found >= 0).sum(axis=1)).astype(np.int32),
    )


def placed_in_scenario(scenario: Scenario) -> Placed:
    """Returns where a scenario's partitions lie at the start, with the leaders and ISRs that it gives."""
    layout = Layout.of(scenario.topics)
    needed = [np.empty(0, np.int32)]
    for topic in scenario.topics:
        needed.append(needed_for_writes(scenario, topic.config, (topic.assignment >= 0).sum(axis=1)))
    brokers = [(broker.id, broker.rack) for broker in scenario.brokers]
    leader, in_sync = _at_the_start(scenario, layout)
    return placed(scenario.scenario_id, brokers, layout.replicas, np.concatenate(needed), in_sync, leader)


def first_leaders(scenario: Scenario) -> NDArray[np.int32]:
    """Returns the broker that leads each partition at the start, in the order of topics; -1 for none."""
    return _at_the_start(scenario, Layout.of(scenario.topics))[0]


def _at_the_start(scenario: Scenario, layout: Layout) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Leaders and ISRs: the first replica and all of them, but where the scenario gives others."""
    replicas = layout.replicas
    leader = replicas[:, 0].copy() if replicas.shape[1] else np.full(len(replicas), NOBODY, np.int32)
    in_sync = replicas.copy()
    given = scenario.initial_partitions
    if not given.num_rows:
        return leader, in_sync
    rows = layout.keys(given.column("topic"), given.column("partition"))
    told = np.asarray(given.column("leader").is_valid())
    leader[rows[told]] = np.asarray(given.column("leader").drop_null())
    told = np.asarray(given.column("isr").is_valid())
    members = padded(given.column("isr").drop_null())[:, : in_sync.shape[1]]
    gap = in_sync.shape[1] - members.shape[1]
    in_sync[rows[told]] = np.pad(members, ((0, 0), (0, gap)), constant_values=NOBODY)
    return leader, in_sync


def padded(lists: pa.Array | pa.ChunkedArray) -> NDArray[np.int32]:
    """Returns lists of broker ids as rows that end with -1."""
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    offsets = np.asarray(lists.offsets)
    lengths = np.diff(offsets)
    rows = np.full((len(lists), int(lengths.max(initial=0))), NOBODY, np.int32)
    there = np.arange(rows.shape[1]) < lengths[:, None]
    rows[there] = np.asarray(lists.values)[offsets[0] : offsets[-1]]
    return rows


def _places(ids: NDArray[Any], known: NDArray[np.int32]) -> NDArray[np.int32]:
    """Places of broker ids among those known; -1 for none, and for a broker that the cluster doesn't have."""
    if not len(known):
        return np.full(ids.shape, NOBODY, np.int32)
    places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[places] == ids, places, NOBODY).astype(np.int32)
