"""Graphs in the driver, by networkx."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import networkx
import numpy as np
from pyspark.sql import DataFrame

from emulator.arrow.frames import frame_of
from emulator.graphs.backends import CHAINS, Edges, Group
from emulator.storage.table_writer import table_of_rows


class InDriver:
    """For a cluster's own size: thousands of brokers."""

    def components(self, vertices: Sequence[int], edges: Edges) -> list[Group]:
        """As Graphs says."""
        return _groups(networkx.connected_components(_graph(vertices, edges)))

    def communities(self, vertices: Sequence[int], edges: Edges) -> list[Group]:
        """As Graphs says."""
        return _groups(networkx.community.label_propagation_communities(_graph(vertices, edges)))

    def in_degrees(self, vertices: Sequence[int], edges: Edges) -> list[int]:
        """As Graphs says."""
        known = np.asarray(vertices, np.int64)
        found: list[int] = np.bincount(np.searchsorted(known, edges[:, 1]), minlength=len(known)).tolist()
        return found

    def chains(self, beliefs: DataFrame) -> DataFrame:
        """As Graphs says."""
        rows = beliefs.collect()
        of_believer: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for row in rows:
            key = (*row[:3], row.believer)
            of_believer[key].append(row)
        pairs = [
            (
                *(*first[:3], first.believer, first.believed, second.believed, first.leader_epoch, second.leader_epoch),
                *(first.leader, max(first.from_round, second.from_round), min(first.to_round, second.to_round)),
            )
            for first in rows
            for second in of_believer.get((*first[:3], first.believed), ())
            if first.believer != first.believed and first.from_round < second.to_round and second.from_round < first.to_round
        ]
        return frame_of(beliefs.sparkSession, table_of_rows(pairs, CHAINS), CHAINS)


def _graph(vertices: Collection[int], edges: Edges) -> networkx.Graph:
    graph = networkx.Graph()
    graph.add_nodes_from(vertices)
    graph.add_edges_from(edges.tolist())
    return graph


def _groups(found: Iterable[Collection[int]]) -> list[Group]:
    return sorted(tuple(sorted(group)) for group in found)
