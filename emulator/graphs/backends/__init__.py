"""What graphs are asked, whoever answers: a library in the driver, or GraphFrames on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

Edges = NDArray[np.int64]
"""(edges, 2): where each comes from and where it goes to."""
Group = tuple[int, ...]

_PLACE = [StructField("scenario_id", IntegerType()), StructField("topic", StringType()), StructField("partition", IntegerType())]


def _of_partition(*numbers: str) -> StructType:
    return StructType([*_PLACE, *(StructField(name, IntegerType()) for name in numbers)])


BELIEFS = _of_partition("believer", "believed", "leader_epoch", "leader", "from_round", "to_round")
"""Of a partition, who believes in which rounds that whom leads, and in which epoch; the controller has `leader` then."""
CHAINS = _of_partition("a", "b", "c", "first_epoch", "second_epoch", "leader", "from_round", "to_round")
"""Of a partition, a believes in these rounds that b leads, in the first epoch, and b that c does, in the second."""


class Graphs(Protocol):
    """A backend. Vertices are ints, ascending, with all that edges name; groups have their members sorted, and are sorted."""

    def components(self, vertices: Sequence[int], edges: Edges) -> list[Group]:
        """Returns the connected components of an undirected graph."""

    def communities(self, vertices: Sequence[int], edges: Edges) -> list[Group]:
        """Returns the communities of an undirected graph, each edge given once.

        By semi-synchronous propagation of labels (Cordasco and Gargano 2010), which draws nothing at random: vertices are
        coloured greedily, largest degree first; then color by color each takes the label that most neighbours have. Of
        several such it keeps its own, else it takes the highest; at first each has its own number.
        """

    def in_degrees(self, vertices: Sequence[int], edges: Edges) -> list[int]:
        """Returns how many edges go to each vertex."""

    def chains(self, beliefs: DataFrame) -> DataFrame:
        """Returns (columns of CHAINS) every (a)-[x]->(b); (b)-[y]->(c) of one partition, x and y overlapping in rounds, a not b.

        `beliefs`: edges, with the columns of BELIEFS; whoever believes in itself is an edge to itself.
        """
