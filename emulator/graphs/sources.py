"""What a graph is made of: a scenario file, the folder of an import, or the tables of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from emulator.arrow.frames import frame_of
from emulator.errors import InputError
from emulator.graphs.needed import needed_for_writes
from emulator.graphs.placed import NOBODY, Placed, first_leaders, padded, placed, placed_in_scenario
from emulator.outcomes.views import register
from emulator.scenario import Run, Scenario, load_run
from emulator.scenario.ledgers import has_ledgers
from emulator.scenario.quorums import has_groups
from emulator.scenario.stored import load_stored
from emulator.storage.output_directory import OutputDirectory

PARTITIONS = pa.schema(
    [
        ("scenario_id", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("replicas", pa.list_(pa.int32())),
        ("first_leader", pa.int32()),
    ]
)


@dataclass(frozen=True)
class Source:
    """Scenarios of Kafka's and where their partitions lie. `result`: the folder of the run's tables, None: nothing ran."""

    scenarios: Sequence[Scenario]
    clusters: Sequence[Placed]
    result: str | None = None


def read_cluster(path: str) -> Source | None:
    """Returns a scenario file's clusters, or that of the folder of an import; None: it is neither. Needs no Spark.

    Raises InputError, one line, for the first thing that is wrong in it, and where all scenarios are of ledgers.
    """
    if path.endswith(".toml"):
        return _of_run(load_run(path))
    folder = path.removeprefix("file:")
    if "://" not in path and os.path.isfile(os.path.join(folder, "import_summary.json")):
        text = f'protocol = "kafka"\nrounds = 1\n\n[cluster]\nimport = {json.dumps(os.path.abspath(folder))}\n'
        return _of_run(load_run(os.path.join(folder, "cluster.toml"), text))
    return None


def read_result(folder: str, spark: SparkSession) -> Source:
    """Returns what a run's tables say at its end: replicas, ISR and leader. Views of its tables are left in the session.

    Raises InputError where there are none, or where a file that the scenario names is another one now.
    """
    if not OutputDirectory(spark, folder).tables():
        allowed = "a scenario file, the DIR of emulator import kafka, or that of emulator run"
        raise InputError(f"{folder}: no tables of a run are there; allowed: {allowed}")
    register(spark, folder, ("runs", "partitions", "outcomes", "events", "trace", "trace_partitions", "brokers", "broker_rounds"))
    runs = [row.asDict() for row in spark.sql("SELECT * FROM runs").collect()]
    if not runs:
        raise InputError(f"{folder}: table runs is not there; allowed: the DIR of a run that has ended")
    scenarios = [each for each in load_stored(runs[0]).scenarios if not has_ledgers(each.protocol)]
    _refuse_none(folder, scenarios)
    return Source(scenarios, [_at_the_end(each, spark) for each in scenarios], folder)


def partitions_of(source: Source, spark: SparkSession) -> DataFrame:
    """Returns (scenario_id, topic, partition, replicas, first_leader) of all partitions.

    Of a run, replicas are those at its end; first_leader is the broker that leads at the start, -1 for none.
    """
    started = frame_of(spark, pa.concat_tables([_partitions_in(each) for each in source.scenarios]))
    if source.result is None:
        return started
    ended = spark.sql("SELECT scenario_id, topic, partition, replicas FROM partitions")
    return ended.join(started.drop("replicas"), ["scenario_id", "topic", "partition"])


def _of_run(run: Run) -> Source:
    scenarios = [each for each in run.scenarios if not has_ledgers(each.protocol)]
    _refuse_none(run.path, scenarios)
    return Source(scenarios, [placed_in_scenario(each) for each in scenarios])


def _refuse_none(path: str, scenarios: Sequence[Scenario]) -> None:
    if not scenarios:
        raise InputError(f"{path}: all scenarios are of ledgers, whose fragments have no graph; allowed: a protocol of Kafka's")


def _partitions_in(scenario: Scenario) -> pa.Table:
    tables = [PARTITIONS.empty_table()] * (not scenario.topics)
    leaders, end = first_leaders(scenario), 0
    for topic in scenario.topics:
        start, end = end, end + topic.partitions
        there = topic.assignment >= 0
        ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
        columns = [
            pa.array(np.full(topic.partitions, scenario.scenario_id, np.int32)),
            pa.DictionaryArray.from_arrays(pa.array(np.zeros(topic.partitions, np.int32)), pa.array([topic.name])).cast(
                pa.string()
            ),
            pa.array(np.arange(topic.partitions, dtype=np.int32)),
            pa.ListArray.from_arrays(pa.array(ends), pa.array(topic.assignment[there].astype(np.int32))),
            pa.array(leaders[start:end]),
        ]
        tables.append(pa.table(columns, schema=PARTITIONS))
    return pa.concat_tables(tables)


def _at_the_end(scenario: Scenario, spark: SparkSession) -> Placed:
    found = spark.sql(f"""
        SELECT p.topic, p.replicas, p.min_isr, coalesce(o.isr, p.replicas) AS isr, coalesce(o.leader, {NOBODY}) AS leader
        FROM partitions p LEFT JOIN outcomes o USING (scenario_id, topic, partition)
        WHERE p.scenario_id = {scenario.scenario_id} AND size(p.replicas) > 0
    """).toArrow()
    replicas = padded(found.column("replicas"))
    return placed(
        scenario.scenario_id,
        [(broker.id, broker.rack) for broker in scenario.brokers],
        replicas,
        _needed(scenario, found, (replicas >= 0).sum(axis=1)),
        padded(found.column("isr")),
        np.asarray(found.column("leader")),
    )


def _needed(scenario: Scenario, found: pa.Table, copies: NDArray[np.int64]) -> NDArray[np.int32]:
    """Kafka's min.insync.replicas as it is at the end; groups have none, and need what they did at the start."""
    if not has_groups(scenario.protocol):
        at_the_end: NDArray[np.int32] = found.column("min_isr").to_numpy()
        return at_the_end
    needed, topics = np.zeros(len(copies), np.int32), found.column("topic").to_numpy()
    for topic in scenario.topics:
        own = topics == topic.name
        needed[own] = needed_for_writes(scenario, topic.config, copies[own])
    return needed
