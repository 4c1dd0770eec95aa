"""The loop: runs a protocol's rounds over the state, k fused rounds a job. The only place with actions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from emulator.inputs import ScenarioInputs
from emulator.protocols import PROTOCOLS
from emulator.state_schema import FEED, STATE_COLUMNS, WORLD

FUSED_ROUNDS = 20
"""Rounds a job: fewer pay Spark's cost per job more often, more cost planning time (docs/design_notes.md)."""

WORLD_CHANGES = StructType.fromDDL(f"world_id INT, changes ARRAY<STRUCT<from_round: INT, value: STRUCT<{WORLD}>>>")
FEED_CHANGES = StructType.fromDDL(f"feed_id BIGINT, changes ARRAY<STRUCT<from_round: INT, value: STRUCT<{FEED}>>>")


ATTACHED_COLUMNS = [*STATE_COLUMNS, "world_changes", "world_next", "feed_changes", "feed_next"]
"""The state with the inputs that begin within a job, in the order that a planned round reads them."""


@dataclass(frozen=True)
class Job:
    """Rounds [from_round, to_round) run as one Spark job; `ends_bucket`: a time bucket of broker_rounds ends there."""

    from_round: int
    to_round: int
    ends_bucket: bool


def plan_jobs(rounds: list[int], bucket_rounds: int, fused_rounds: int = FUSED_ROUNDS) -> list[Job]:
    """Cut the run into jobs of at most `fused_rounds` that never cross a bucket's or a scenario's end."""
    edges = sorted(set(rounds) | set(range(0, max(rounds), bucket_rounds)) | {0})
    jobs = []
    for low, high in zip(edges, edges[1:]):
        at = low
        while at < high:
            to = min(at + fused_rounds, high)
            jobs.append(Job(at, to, to == high and (to % bucket_rounds == 0 or to in rounds)))
            at = to
    return jobs


def run_rounds(
    spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs], protocol: str, job: Job, slots: int
) -> DataFrame:
    """The state after a job's rounds, not yet computed: attaches what changes in the window, then runs the phases."""
    state = _attach(spark, state, inputs, job)
    for _ in range(job.from_round, job.to_round):
        state = one_round(state, protocol, slots)
    return state.select(list(STATE_COLUMNS))


def one_round(state: DataFrame, protocol: str, slots: int) -> DataFrame:
    """One round of a protocol over the state with its attached changes."""
    for phase in PROTOCOLS[protocol]:
        state = phase(state, slots) if phase.__name__ == "elect_leader" else phase(state)
    return state.select(ATTACHED_COLUMNS)


def _attach(spark: SparkSession, state: DataFrame, inputs: list[ScenarioInputs], job: Job) -> DataFrame:
    """Add `world_changes` and `feed_changes`, the inputs that begin within the job, by broadcast joins on their ids."""
    worlds, feeds = [], []
    world_offset = feed_offset = 0
    for i in inputs:
        if job.from_round < i.scenario.rounds:
            worlds += [(world_offset + w, c) for w, c in i.world_changes(job.from_round, job.to_round).items()]
            feeds += [(feed_offset + f, c) for f, c in i.feed_changes(job.from_round, job.to_round).items()]
        world_offset += len(i.worlds)
        feed_offset += len(i.feeds)
    state = _join_changes(spark, state, "world", worlds, WORLD_CHANGES)
    return _join_changes(spark, state, "feed", feeds, FEED_CHANGES).select(ATTACHED_COLUMNS)


def _join_changes(
    spark: SparkSession, state: DataFrame, kind: str, changes: list[tuple[int, Any]], schema: StructType
) -> DataFrame:
    if not changes:
        return state.withColumns(
            {f"{kind}_changes": F.lit(None).cast(schema["changes"].dataType), f"{kind}_next": F.lit(0)}
        )
    ids, values = zip(*changes)
    arrow = to_arrow_schema(schema)
    table = pa.table([pa.array(ids, arrow.field(0).type), pa.array(values, arrow.field(1).type)], schema=arrow)
    frame = spark.createDataFrame(table, schema=schema).withColumnRenamed("changes", f"{kind}_changes")
    return state.join(F.broadcast(frame), f"{kind}_id", "left").withColumn(f"{kind}_next", F.lit(0))
