"""Writes the graph of a cluster or of a run, and the answers that it gives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator.graphs.backends import BELIEFS, Graphs
from emulator.graphs.beliefs import belief_chains, ranges_sql
from emulator.graphs.blast_radius import blast_radius
from emulator.graphs.communities import community_rows
from emulator.graphs.edges import edges, vertices
from emulator.graphs.failure_sets import chance_rows, copyset_rows, failure_sets
from emulator.graphs.hot_spots import hot_spot_rows
from emulator.graphs.islands import island_rows
from emulator.graphs.schema import GRAPH_TABLES
from emulator.graphs.sources import Source, partitions_of
from emulator.storage.output_directory import OutputDirectory


def write_graph(
    source: Source, out: str, spark: SparkSession, graphs: Graphs, most_failures: int, seed: int, tell: Callable[[str], None]
) -> None:
    """Writes the tables of GRAPH_TABLES into `out`; those of an earlier graph are replaced, a run's tables are left alone.

    Raises InputError for a folder that cannot be written; nothing is left behind then.
    """
    output = OutputDirectory(spark, out, tables=GRAPH_TABLES)
    output.stage()
    try:
        tell("vertices and edges")
        partitions_of(source, spark).createOrReplaceTempView("graph_partitions")
        output.write("vertices", vertices(source, spark))
        output.write("edges", edges(source, spark))
        tell("copysets")
        found = [(cluster, failure_sets(cluster)) for cluster in source.clusters]
        output.write("copysets", pa.concat_tables([copyset_rows(cluster, sets) for cluster, sets in found]))
        tell("chances")
        chances = (row for cluster, sets in found for row in chance_rows(cluster, sets, most_failures, seed))
        output.write_rows("copyset_chances", chances, GRAPH_TABLES["copyset_chances"])
        tell("blast radius, hot spots, communities")
        _write(output, "blast_radius", [row for each in source.clusters for row in blast_radius(each)])
        carried = _carried(source, spark)
        hot = [
            row
            for each in source.clusters
            for row in hot_spot_rows(each, None if carried is None else carried[each.scenario_id], graphs)
        ]
        _write(output, "hot_spots", hot)
        _write(output, "communities", [row for each in source.clusters for row in community_rows(each, graphs)])
        tell("islands and beliefs")
        _write(output, "islands", [row for each in source.scenarios for row in island_rows(each, graphs)])
        output.write("belief_chains", belief_chains(_beliefs(source, spark), graphs))
        output.commit()
    except BaseException:
        output.abort()
        raise


def _write(output: OutputDirectory, table: str, rows: list[tuple[Any, ...]]) -> None:
    output.write_rows(table, rows, GRAPH_TABLES[table])


def _carried(source: Source, spark: SparkSession) -> dict[int, dict[int, tuple[int, int]]] | None:
    """Bytes out and in of each broker, by scenario."""
    if source.result is None:
        return None
    carried: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    summed = "SELECT scenario_id, broker, sum(bytes_out), sum(bytes_in) FROM broker_rounds GROUP BY scenario_id, broker"
    for scenario_id, broker, bytes_out, bytes_in in spark.sql(summed).collect():
        carried[scenario_id][broker] = bytes_out, bytes_in
    return carried


def _beliefs(source: Source, spark: SparkSession) -> DataFrame:
    if source.result is None:
        return spark.createDataFrame([], BELIEFS)
    return spark.sql(ranges_sql("believer, believed, leader_epoch, leader", "true")).select(*BELIEFS.names)
