"""Graphs in the driver, by networkx."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

import networkx

from emulator.graphs.backends import Belief, Edge, Group


class InDriver:
    """For a cluster's own size: thousands of brokers."""

    def components(self, vertices: Collection[int], edges: Iterable[Edge]) -> list[Group]:
        """As Graphs says."""
        return _groups(networkx.connected_components(_graph(vertices, edges)))

    def communities(self, vertices: Collection[int], edges: Iterable[Edge]) -> list[Group]:
        """As Graphs says: semi-synchronous propagation (Cordasco and Gargano 2010), which draws nothing at random."""
        return _groups(networkx.community.label_propagation_communities(_graph(vertices, edges)))

    def chains(self, beliefs: Sequence[Belief]) -> list[tuple[Belief, Belief]]:
        """As Graphs says."""
        out: dict[tuple[tuple[int, str, int], int], list[Belief]] = defaultdict(list)
        for belief in beliefs:
            out[belief.place, belief.believer].append(belief)
        return [
            (first, second)
            for first in beliefs
            for second in out[first.place, first.believed]
            if first.believer != first.believed and first.from_round < second.to_round and second.from_round < first.to_round
        ]


def _graph(vertices: Collection[int], edges: Iterable[Edge]) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(edges)
    return graph


def _groups(found: Iterable[Collection[int]]) -> list[Group]:
    return sorted(tuple(sorted(group)) for group in found)
