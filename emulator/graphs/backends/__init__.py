"""What graphs are asked, whoever answers: a library in the driver, or GraphFrames on Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

Edge = tuple[int, int]
Group = tuple[int, ...]


class Belief(NamedTuple):
    """Of a partition (`place`), who believes in which rounds that whom leads, and in which epoch; the controller has `leader`."""

    place: tuple[int, str, int]
    believer: int
    believed: int
    leader_epoch: int
    leader: int
    from_round: int
    to_round: int


class Graphs(Protocol):
    """A backend. Vertices are ints; groups come with their members sorted, and sorted themselves."""

    def components(self, vertices: Collection[int], edges: Iterable[Edge]) -> list[Group]:
        """Returns the connected components of an undirected graph."""

    def communities(self, vertices: Collection[int], edges: Iterable[Edge]) -> list[Group]:
        """Returns the communities of an undirected graph, by propagation of labels."""

    def chains(self, beliefs: Sequence[Belief]) -> list[tuple[Belief, Belief]]:
        """Returns every (a)-[x]->(b); (b)-[y]->(c) of one partition, x and y overlapping in rounds, a and b not the same."""
