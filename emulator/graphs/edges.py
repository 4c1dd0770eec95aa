"""Vertices and edges of a cluster and of what a run did to it, by the names of GraphFrames: id, src, dst."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator.arrow.frames import frame_of
from emulator.faults.kinds import read_fault_rows
from emulator.graphs.beliefs import ranges_sql
from emulator.graphs.communities import shared_partitions
from emulator.graphs.placed import Placed
from emulator.graphs.schema import GRAPH_TABLES
from emulator.graphs.sources import Source
from emulator.storage.table_writer import table_of_rows

_PARTITION_ID = "concat_ws('', scenario_id, '/partition/', topic, '-', partition)"


def _broker_id(column: str) -> str:
    return f"concat_ws('', scenario_id, '/broker/', {column})"


_TURNS = """
WITH turns AS (
  SELECT scenario_id, topic, partition, round, kind, broker, lead(round) OVER w AS until, row_number() OVER w AS nth
  FROM events WHERE kind IN ('election', 'unclean_election', 'leader_lost')
  WINDOW w AS (PARTITION BY scenario_id, topic, partition ORDER BY round, kind != 'leader_lost', leader_epoch)
)
"""
"""What the controller did about leaders; who is elected in the round in which a leader is lost comes after it."""
_LEADS = """
SELECT scenario_id, topic, partition, broker, round AS from_round, until AS to_round FROM turns WHERE kind != 'leader_lost'
UNION ALL
SELECT p.scenario_id, p.topic, p.partition, p.first_leader, NULL, t.round
FROM graph_partitions p LEFT JOIN turns t
  ON p.scenario_id = t.scenario_id AND p.topic = t.topic AND p.partition = t.partition AND t.nth = 1
WHERE p.first_leader >= 0
"""


def vertices(source: Source, spark: SparkSession) -> DataFrame:
    """Returns table `vertices`; `partitions_of` as view graph_partitions."""
    rows = []
    for cluster in source.clusters:
        before = cluster.scenario_id
        for broker, rack in zip(cluster.brokers.tolist(), cluster.racks, strict=True):
            rows.append((before, f"{before}/broker/{broker}", "broker", broker, rack, None, None))
        rows += [(before, f"{before}/rack/{name}", "rack", None, name, None, None) for name in cluster.rack_names]
    few = frame_of(spark, table_of_rows(rows, GRAPH_TABLES["vertices"]))
    partitions = spark.sql(
        f"SELECT scenario_id, {_PARTITION_ID} AS id, 'partition' AS kind, CAST(NULL AS INT) AS broker,"
        " CAST(NULL AS STRING) AS rack, topic, partition FROM graph_partitions"
    )
    return few.unionByName(partitions)


def edges(source: Source, spark: SparkSession) -> DataFrame:
    """Returns table `edges`; those of rounds only of a run."""
    rows = [row for each in source.clusters for row in _stands_in(each)]
    rows += [row for each in source.scenarios for row in _link_cuts(source, each.scenario_id)]
    found = frame_of(spark, table_of_rows(rows, GRAPH_TABLES["edges"]))
    for cluster in source.clusters:
        found = found.unionByName(_shares(cluster, spark), allowMissingColumns=True)
    for query in _queries(source.result is not None):
        found = found.unionByName(spark.sql(query), allowMissingColumns=True)
    return found


def _queries(ran: bool) -> Iterator[str]:
    kept = "scenario_id, topic, partition"
    yield (
        f"SELECT {kept}, {_broker_id('broker')} AS src, {_PARTITION_ID} AS dst, 'replicates' AS kind"
        " FROM (SELECT *, explode(replicas) AS broker FROM graph_partitions)"
    )
    leads = f"SELECT {kept}, {_broker_id('broker')} AS src, {_PARTITION_ID} AS dst, 'leads' AS kind"
    if not ran:
        yield f"{leads} FROM (SELECT *, first_leader AS broker FROM graph_partitions WHERE first_leader >= 0)"
        return
    yield f"{_TURNS} {leads}, from_round, to_round FROM ({_LEADS})"
    for kind, condition in (("believes_in", "true"), ("fetches_from", "fetches")):
        yield (
            f"SELECT {kept}, {_broker_id('believer')} AS src, {_broker_id('believed')} AS dst, '{kind}' AS kind,"
            f" leader_epoch, from_round, to_round FROM ({ranges_sql('believer, believed, leader_epoch', condition)})"
        )


def _stands_in(cluster: Placed) -> Iterator[tuple[object, ...]]:
    before = cluster.scenario_id
    for broker, rack in zip(cluster.brokers.tolist(), cluster.racks, strict=True):
        if rack is not None:
            yield before, f"{before}/broker/{broker}", f"{before}/rack/{rack}", "stands_in", *[None] * 6


def _link_cuts(source: Source, scenario_id: int) -> Iterator[tuple[object, ...]]:
    """Of each link cut, the directions that it cuts; isolations cut none by name: table `islands` has them."""
    scenario = next(each for each in source.scenarios if each.scenario_id == scenario_id)
    for fault in read_fault_rows(scenario.faults, scenario.rounds):
        if fault.kind != "link_cut":
            continue
        ends = [f"{scenario_id}/broker/{fault.broker}", f"{scenario_id}/broker/{fault.peer}"]
        for direction, (src, dst) in (("out", ends), ("in", ends[::-1])):
            if fault.direction in ("both", direction):
                yield scenario_id, src, dst, "link_cut", None, None, None, None, fault.from_round, fault.to_round


def _shares(cluster: Placed, spark: SparkSession) -> DataFrame:
    pairs, shared = shared_partitions(cluster)
    ids = cluster.brokers[pairs]
    columns = {
        "scenario_id": pa.array(np.full(len(pairs), cluster.scenario_id, np.int32)),
        "a": pa.array(ids[:, 0]),
        "b": pa.array(ids[:, 1]),
        "partitions": pa.array(shared.astype(np.int64)),
    }
    frame = frame_of(spark, pa.table(columns))
    return frame.selectExpr(
        "scenario_id", f"{_broker_id('a')} AS src", f"{_broker_id('b')} AS dst", "'shares' AS kind", "partitions"
    )
