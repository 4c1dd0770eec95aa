"""The loop: runs a protocol's rounds over the state, k fused rounds a job. The only place with actions."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from emulator.initial import initial_state
from emulator.inputs import ScenarioInputs
from emulator.outcomes.broker_rounds import broker_bucket
from emulator.planned import PlannedRound, release
from emulator.progress import Progress
from emulator.protocols import PROTOCOLS
from emulator.rounds.columns import PACKED_COLUMNS, pack, unpack
from emulator.rounds.kafka.rules import RunRules
from emulator.rounds.record_trace import record_trace
from emulator.scenario import ELR_FEATURE
from emulator.schema import FEED, STATE_DDL, WORLD
from emulator.session import DEEP_STACK, engine_settings

FUSED_ROUNDS = 25
"""Rounds a job: fewer pay Spark's cost per job more often, more nest a task's lineage deeper than a stack holds."""

FUSED_ROUNDS_ON_SHALLOW_STACKS = 3
"""The same in a session that was not started with `session.DEEP_STACK`."""

ROWS_WORTH_COMPILING = 3_000
"""State rows from which on Spark's compiled projections pay for being generated in every task."""

ROWS_WORTH_A_TASK = 300
"""State rows from which on a second task pays for itself."""

ROWS_PER_TASK = 250_000
BUCKETS = 10
"""Time buckets of broker_rounds in a run."""

TRACE_ROUNDS_HELD = 20
"""Rounds of trace held in the state before they are written."""

WORLD_CHANGES = f"world_id INT, changes ARRAY<STRUCT<from_round: INT, value: STRUCT<{WORLD}>>>"
FEED_CHANGES = f"feed_id BIGINT, changes ARRAY<STRUCT<from_round: INT, value: STRUCT<{FEED}>>>"


ATTACHED_COLUMNS = [*PACKED_COLUMNS, "world_changes", "world_next", "feed_changes", "feed_next"]
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
    for low, high in zip(edges, edges[1:], strict=False):
        at = low
        while at < high:
            to = min(at + fused_rounds, high)
            jobs.append(Job(at, to, to == high and (to % bucket_rounds == 0 or to in rounds)))
            at = to
    return jobs


@dataclass
class Tracks:
    """What the loop hands out while it runs: traced rounds and broker traffic."""

    write_trace: Callable[[DataFrame], None]
    broker_rounds: list[Any] = field(default_factory=list)


def emulate(
    spark: SparkSession,
    inputs: list[ScenarioInputs],
    traced: dict[int, np.ndarray],
    tracks: Tracks,
    progress: Progress,
) -> DataFrame:
    """Run every scenario to its end and return the final state, checkpointed.

    The state is laid out once, by (scenario_id, partition_id), and keeps that layout; each job attaches the inputs
    that begin in its window, runs the planned round as often as the window is long, and checkpoints. A scenario that has
    reached its end leaves the loop.
    """
    rows = sum(i.rows for i in inputs)
    protocols = tuple(sorted({i.scenario.protocol for i in inputs}))
    elr = any(i.scenario.features[ELR_FEATURE] > 0 for i in inputs)
    late_news = any(i.has_late_news for i in inputs)
    slots = max(int(i.partition_table.slot_count.max()) for i in inputs)
    rounds = {i.scenario.scenario_id: i.scenario.rounds for i in inputs}
    tracing = any(bool(flags.any()) for flags in traced.values())
    bucket_rounds = bucket_length(max(rounds.values()))
    tasks = _tasks(spark, rows)
    with engine_settings(spark, tasks, codegen_settings(rows)):
        progress.start(max(rounds.values()), sum(i.partition_count for i in inputs), len(inputs))
        # Planning takes the driver seconds, the initial state a job: side by side.
        with ThreadPoolExecutor(1) as pool:
            planning = pool.submit(_plan_round, spark, RunRules(slots, protocols, elr, late_news), tracing, tasks)
            state = _laid_out(pack(initial_state(spark, inputs, traced)), tasks).localCheckpoint()
            planned = planning.result()
        return _loop(spark, state, planned, inputs, rounds, bucket_rounds, tracing, tracks, progress)


def _plan_round(spark: SparkSession, rules: RunRules, tracing: bool, tasks: int) -> PlannedRound:
    """One round over a state without rows that is laid out as the real one."""
    empty = spark.createDataFrame([], cast(StructType, StructType.fromDDL(STATE_DDL)))
    laid_out = _attach(spark, _laid_out(pack(empty), tasks), [], Job(0, 0, False)).localCheckpoint(eager=False)
    return PlannedRound(spark, laid_out, lambda frame: one_round(frame, rules, tracing))


def _loop(
    spark: SparkSession,
    state: DataFrame,
    planned: PlannedRound,
    inputs: list[ScenarioInputs],
    rounds: dict[int, int],
    bucket_rounds: int,
    tracing: bool,
    tracks: Tracks,
    progress: Progress,
) -> DataFrame:
    finished: list[DataFrame] = []
    replica_rounds = bucket_from = trace_held = 0
    checkpointed = state
    jobs = plan_jobs(list(rounds.values()), bucket_rounds, fused_rounds(spark))
    for number, job in enumerate(jobs, 1):
        window = planned.run(_attach(spark, state, inputs, job), job.to_round - job.from_round)
        previous, checkpointed = checkpointed, window.select(PACKED_COLUMNS).localCheckpoint()
        if not finished:
            release(previous)
        running = [i for i in inputs if i.scenario.rounds > job.from_round]
        replicas = sum(i.replicas for i in running)
        replica_rounds += (job.to_round - job.from_round) * replicas
        state = checkpointed
        trace_held += job.to_round - job.from_round
        ended = [i.scenario.scenario_id for i in running if i.scenario.rounds == job.to_round]
        if tracing and (trace_held >= TRACE_ROUNDS_HELD or ended):
            tracks.write_trace(unpack(checkpointed))
            state = state.withColumn("trace", F.expr("IF(traced, filter(trace, x -> false), null)"))
            trace_held = 0
        if job.ends_bucket:
            tracks.broker_rounds += broker_bucket(spark, unpack(checkpointed), running, bucket_from, job.to_round)
            bucket_from = job.to_round
            state = state.withColumns({name: F.expr(text) for name, text in _EMPTY_BUCKET.items()})
        if ended and job is not jobs[-1]:
            finished.append(checkpointed.where(F.col("scenario_id").isin(ended)))
            state = state.where(~F.col("scenario_id").isin(ended))
        left = [i for i in inputs if i.scenario.rounds > job.to_round]
        progress.advance(job.to_round, sum(i.partition_count for i in left), number, replica_rounds)
    progress.finish()
    for done in finished:
        checkpointed = checkpointed.unionByName(done)
    return unpack(checkpointed)


def bucket_length(rounds: int) -> int:
    """Rounds of a time bucket of broker_rounds: about a tenth of the run, in whole jobs; it does not depend on them."""
    return -(-max(-(-rounds // BUCKETS), 1) // FUSED_ROUNDS) * FUSED_ROUNDS


_EMPTY_BUCKET = {"produced_bytes": "0L", "served_bytes": "0L", "served": "filter(served, x -> false)"}


def _laid_out(state: DataFrame, tasks: int) -> DataFrame:
    keys = ["scenario_id", "partition_id"]
    return state.repartition(tasks, *keys).sortWithinPartitions(*keys)


def _tasks(spark: SparkSession, rows: int) -> int:
    if rows < ROWS_WORTH_A_TASK:
        return 1
    return max(spark.sparkContext.defaultParallelism, -(-rows // ROWS_PER_TASK))


def codegen_settings(rows: int) -> dict[str, str]:
    """Settings for so many rows: few are through before their code would be compiled."""
    mode = "FALLBACK" if rows >= ROWS_WORTH_COMPILING else "NO_CODEGEN"
    return {
        "spark.sql.codegen.factoryMode": mode,
        "spark.sql.codegen.useIdInClassName": "false",
        "spark.sql.codegen.wholeStage": "false",
        # Looking for common subexpressions costs every task of a small run more than it saves.
        "spark.sql.subexpressionElimination.enabled": str(rows >= ROWS_WORTH_COMPILING).lower(),
    }


def fused_rounds(spark: SparkSession) -> int:
    """Rounds a job in this session: many where its threads have the stack for it."""
    options = spark.conf.get("spark.driver.extraJavaOptions", "") or ""
    return FUSED_ROUNDS if DEEP_STACK in options else FUSED_ROUNDS_ON_SHALLOW_STACKS


def one_round(state: DataFrame, rules: RunRules, tracing: bool = False) -> DataFrame:
    """One round of the run's protocols over the state with its attached changes; traced replicas also record it."""
    (phases,) = {PROTOCOLS[name] for name in rules.protocols}
    for phase in phases:
        state = phase(state, rules)
    if tracing:
        state = record_trace(state)
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


def _join_changes(spark: SparkSession, state: DataFrame, kind: str, changes: list[tuple[int, Any]], ddl: str) -> DataFrame:
    schema = cast(StructType, StructType.fromDDL(ddl))
    if not changes:
        return state.withColumns({f"{kind}_changes": F.lit(None).cast(schema["changes"].dataType), f"{kind}_next": F.lit(0)})
    ids, values = zip(*changes, strict=True)
    arrow = to_arrow_schema(schema)
    table = pa.table([pa.array(ids, arrow.field(0).type), pa.array(values, arrow.field(1).type)], schema=arrow)
    frame = spark.createDataFrame(cast(Any, table), schema=schema).withColumnRenamed("changes", f"{kind}_changes")
    return state.join(F.broadcast(frame), f"{kind}_id", "left").withColumn(f"{kind}_next", F.lit(0))
