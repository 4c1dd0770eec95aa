"""Graphs on Spark, by GraphFrames: for more vertices and edges than a driver holds."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow.frames import frame_of
from emulator.errors import EnvironmentProblem, InputError
from emulator.graphs.backends import CHAINS, Edges, Group
from emulator.session import is_connect, quiet_query_errors
from emulator.spark.spark_errors import SPARK_ERRORS

PYTHON_PACKAGE = "graphframes-py"
CLASSES = "io.graphframes:graphframes-spark4_2.13:0.11.0"
"""Where Spark finds them: what --packages of spark-submit and spark.jars.packages take."""


class InGraphFrames:
    """GraphFrames of a classic session. Raises EnvironmentProblem if it is not there, InputError over Spark Connect."""

    def __init__(self, spark: SparkSession) -> None:
        if is_connect(spark):
            raise InputError("--backend graphframes: needs a driver of its own; allowed: without --remote")
        missing = missing_part(spark)
        if missing is not None:
            raise EnvironmentProblem(f"--backend graphframes: {missing}")
        self._spark = spark

    def components(self, vertices: Sequence[int], edges: Edges) -> list[Group]:
        """As Graphs says: its two-phase algorithm (Kiveris et al., Connected Components in MapReduce and Beyond, 2014)."""
        if not len(edges):  # it would go through all its steps for nothing
            return [(vertex,) for vertex in vertices]
        found = self._graph(vertices, edges).connectedComponents(broadcastThreshold=-1, use_local_checkpoints=True)
        groups = _groups(found, "component")
        found.unpersist()
        return groups

    def communities(self, vertices: Sequence[int], edges: Edges) -> list[Group]:
        """As Graphs says, by messages between neighbours.

        GraphFrames' own labelPropagation gives no answer to go by: all change labels at once, so that two vertices with an edge
        swap theirs for ever.
        """
        if not len(edges):
            return [(vertex,) for vertex in vertices]
        lines = frame_of(self._spark, _edges(edges)).persist()
        coloured = _coloured(frame_of(self._spark, _vertices(vertices)), lines)
        labelled = _settled(coloured.withColumn("label", F.col("id")), lines)
        groups = _groups(labelled, "label")
        lines.unpersist()
        return groups

    def in_degrees(self, vertices: Sequence[int], edges: Edges) -> list[int]:
        """As Graphs says."""
        found = {row.id: row.inDegree for row in self._graph(vertices, edges).inDegrees.collect()} if len(edges) else {}
        return [found.get(vertex, 0) for vertex in vertices]

    def chains(self, beliefs: DataFrame) -> DataFrame:
        """As Graphs says: a motif."""
        from graphframes import GraphFrame

        edges = beliefs.withColumns({"src": _replica("believer"), "dst": _replica("believed")})
        vertices = edges.select(F.col("src").alias("id")).union(edges.select("dst")).distinct()
        found = GraphFrame(vertices, edges).find("(a)-[x]->(b); (b)-[y]->(c)")
        overlapping = "x.src != x.dst AND x.from_round < y.to_round AND y.from_round < x.to_round"
        return found.where(overlapping).selectExpr(
            "x.scenario_id", "x.topic", "x.partition", "x.believer AS a", "x.believed AS b", "y.believed AS c",
            "x.leader_epoch AS first_epoch", "y.leader_epoch AS second_epoch", "x.leader",
            "greatest(x.from_round, y.from_round) AS from_round", "least(x.to_round, y.to_round) AS to_round",
        ).select(*CHAINS.names)  # fmt: skip

    def _graph(self, vertices: Sequence[int], edges: Edges) -> Any:
        from graphframes import GraphFrame

        return GraphFrame(frame_of(self._spark, _vertices(vertices)), frame_of(self._spark, _edges(edges)))


def missing_part(spark: SparkSession) -> str | None:
    """Says what of GraphFrames a session lacks, and how it comes by it; None: nothing."""
    if find_spec("graphframes") is None:
        return f"{PYTHON_PACKAGE} is not installed; install it with: python -m pip install 'replication-emulator[graphs]'"
    with quiet_query_errors():
        try:
            spark.sql("SELECT java_method('org.graphframes.GraphFrame', 'ID')").collect()
        except SPARK_ERRORS:
            return f"its classes are not on Spark's class path; start Spark with: --conf spark.jars.packages={CLASSES}"
    return None


def _vertices(vertices: Sequence[int]) -> pa.Table:
    return pa.table({"id": pa.array(np.asarray(vertices, np.int64))})


def _edges(edges: Edges) -> pa.Table:
    return pa.table({"src": pa.array(edges[:, 0].astype(np.int64)), "dst": pa.array(edges[:, 1].astype(np.int64))})


def _replica(broker: str) -> Any:
    """A broker in its part as a partition's replica: no belief of one partition is about another."""
    return F.concat_ws("/", "scenario_id", "topic", "partition", broker)


def _groups(found: DataFrame, by: str) -> list[Group]:
    rows = found.groupBy(by).agg(F.array_sort(F.collect_list("id")).alias("members")).collect()
    return sorted(tuple(row.members) for row in rows)


def _heard(vertices: DataFrame, edges: DataFrame, *columns: str) -> DataFrame:
    """By vertex: what it is itself, and its neighbours as a list `heard`."""
    from graphframes import GraphFrame
    from graphframes.lib import AggregateMessages

    def told(end: Any) -> Any:
        return F.struct(*(end[column].alias(column) for column in columns))

    found = GraphFrame(vertices, edges).aggregateMessages(
        [F.collect_list(AggregateMessages.msg).alias("heard")],
        sendToSrc=[told(AggregateMessages.dst)],
        sendToDst=[told(AggregateMessages.src)],
    )
    return vertices.join(found, "id", "left")


def _next(vertices: DataFrame) -> DataFrame:
    """Works a step out at once: the plan of the one after it doesn't begin at the first."""
    return vertices.localCheckpoint()


def _coloured(vertices: DataFrame, edges: DataFrame) -> DataFrame:
    """(id, color) such that no neighbours have the same.

    A vertex takes the lowest color free as soon as all neighbours of a higher degree, or of the same and a lower id, have theirs:
    the colors that one after the other would take in this order (Jones and Plassmann 1993).
    """
    degrees = _heard(vertices, edges, "id").selectExpr("id", "coalesce(size(heard), 0) AS degree", "CAST(NULL AS INT) AS color")
    found = _next(degrees)
    while not found.where("color IS NULL").isEmpty():
        found = _next(
            _heard(found, edges, "id", "degree", "color")
            .selectExpr(
                "id", "degree", "color", "coalesce(heard, array()) AS heard",
                "filter(heard, h -> h.degree > degree OR (h.degree = degree AND h.id < id)) AS earlier",
            )
            .selectExpr(
                "id", "degree",
                """CASE
                  WHEN color IS NOT NULL THEN color
                  WHEN earlier IS NULL THEN 0
                  WHEN exists(earlier, h -> h.color IS NULL) THEN NULL
                  ELSE array_min(array_except(sequence(0, size(earlier)), transform(earlier, h -> h.color)))
                END AS color""",
            )
        )  # fmt: skip
    return found.select("id", "color")


def _settled(labelled: DataFrame, edges: DataFrame) -> DataFrame:
    """(id, color, label) with labels passed on until each is one of those that most neighbours have."""
    colors = labelled.agg(F.max("color")).collect()[0][0] + 1
    found = _next(labelled)
    while not _most_frequent(found, edges).where("NOT array_contains(most, label)").isEmpty():
        for color in range(colors):
            found = _next(
                _most_frequent(found, edges).selectExpr(
                    "id", "color",
                    f"IF(color = {color} AND NOT array_contains(most, label), array_max(most), label) AS label",
                )
            )  # fmt: skip
    return found


def _most_frequent(labelled: DataFrame, edges: DataFrame) -> DataFrame:
    """By vertex: `most`, the labels that most neighbours have; without neighbours its own."""
    labels = _heard(labelled, edges, "label").selectExpr("id", "color", "label", "transform(heard, h -> h.label) AS labels")
    counted = labels.withColumn(
        "counted", F.expr("transform(array_distinct(labels), l -> struct(l, size(filter(labels, x -> x = l)) AS n))")
    )
    most = "transform(filter(counted, c -> c.n = array_max(transform(counted, o -> o.n))), c -> c.l)"
    return counted.selectExpr("id", "color", "label", f"coalesce({most}, array(label)) AS most")
