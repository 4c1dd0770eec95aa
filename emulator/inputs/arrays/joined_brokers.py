"""The brokers of all scenarios, one after the other, and those of them that a block's replicas live on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.inputs.arrays.brokers import BrokerArrays
from emulator.inputs.arrays.columns import offsets_of, spread

NOT_HERE = -1
"""Peer of a link to a broker that no replica of the block is on."""


class PickedBrokers(NamedTuple):
    """Brokers of a block: the scenario's place first, then its broker's.

    `first`: by scenario its first broker, and one more for the end. By broker: `place` among all of its scenario, `ids`, `racks`,
    `first_span`. `spans`, `links`: records. `of_replica`: by replica the place of its broker among those of its scenario here.
    """

    first: np.ndarray
    place: np.ndarray
    ids: np.ndarray
    racks: np.ndarray
    first_span: np.ndarray
    spans: Any
    links: Any
    of_replica: np.ndarray


class JoinedBrokers:
    """The brokers of some scenarios, each scenario's in the order of their ids."""

    def __init__(self, parts: Sequence[BrokerArrays]) -> None:
        self._first = offsets_of(np.array([len(part.ids) for part in parts], np.int64))
        self._ids = np.concatenate([part.ids for part in parts])
        self._racks = np.concatenate([part.racks for part in parts])
        self._span_counts = np.concatenate([np.diff(part.first_span) for part in parts])
        self._first_span = offsets_of(self._span_counts)
        self._spans = np.concatenate([part.spans for part in parts])
        self._links = np.concatenate([part.links for part in parts])
        links = np.array([len(part.links) for part in parts], np.int64)
        first_link = np.repeat(offsets_of(links)[:-1], [len(part.spans) for part in parts])
        for name in ("first_cut", "first_slow", "first_far"):
            self._spans[name] += first_link
        self._links["peer"] += np.repeat(self._first[:-1], links)

    def pick(self, scenario: np.ndarray, broker_place: np.ndarray) -> PickedBrokers:
        """The brokers of replicas: `scenario` and place of the broker in it, by replica."""
        used, of_replica = np.unique(self._first[scenario] + broker_place, return_inverse=True)
        first = np.searchsorted(used, self._first)
        spans = self._spans[spread(self._first_span[used], self._span_counts[used])]
        return PickedBrokers(
            first,
            used - self._first[np.searchsorted(self._first, used, side="right") - 1],
            self._ids[used],
            self._racks[used],
            offsets_of(self._span_counts[used])[:-1],
            spans,
            self._take_links(spans, used, first),
            of_replica.reshape(-1) - first[scenario],
        )

    def _take_links(self, spans: Any, used: np.ndarray, first: np.ndarray) -> Any:
        """The links of these spans, which point at them afterwards; peers by their place in the block."""
        taken = []
        count = 0
        for kind in ("cut", "slow", "far"):
            counts = spans[f"{kind}_count"].astype(np.int64)
            taken.append(self._links[spread(spans[f"first_{kind}"].astype(np.int64), counts)])
            spans[f"first_{kind}"] = count + offsets_of(counts)[:-1]
            count += len(taken[-1])
        links = np.concatenate(taken)
        peer = links["peer"].copy()
        place = np.searchsorted(used, peer)
        is_here = used[np.minimum(place, len(used) - 1)] == peer
        scenario = np.searchsorted(self._first, peer, side="right") - 1
        links["peer"] = np.where(is_here, place - first[scenario], NOT_HERE)
        return links
