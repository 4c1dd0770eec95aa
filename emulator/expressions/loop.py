"""The loop: runs a protocol's rounds over the state, k fused rounds a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.attach import Changes
from emulator.bandwidth.quotas import Quotas
from emulator.checkpoints import Checkpoints
from emulator.expressions.columns import pack, unpack
from emulator.inputs import ScenarioInputs
from emulator.leaps import no_leap
from emulator.local_checkpoints import held
from emulator.outcomes.broker_rounds import (
    BucketSums,
    add_sums,
    broker_bucket,
    bucket_length,
    bucket_rows,
    bucket_sums,
    sums_as_rows,
    sums_from,
)
from emulator.planned import Compiling, PlannedRound, release, release_all
from emulator.progress import Progress
from emulator.protocols import RulesOfRun, system_of
from emulator.round_plans import laid_out, plan_leaps, plan_rounds
from emulator.scenario.model import TIME_BUCKETS
from emulator.session import engine_settings
from emulator.state_schema import StateSchema

FUSED_ROUNDS = 25
"""Rounds a job: fewer pay Spark's cost per job more often, more attach the inputs of more rounds to every row."""

ROWS_WORTH_COMPILING = 3_000
"""State rows from which on Spark's compiled projections pay for being generated in every task."""

ROWS_WORTH_COMPILING_FUNCTIONS = 100_000
"""The same for the code of higher-order functions, which takes the planner longer."""

ROWS_WORTH_A_TASK = 300
"""State rows from which on a second task pays for itself."""

ROWS_PER_TASK = 250_000
WORTH_PARKING = 0.5
"""Share of the rows still under way from which on those that have arrived leave the loop."""

TRACE_ROUNDS_HELD = 20
"""Rounds of trace held in the state before they are written."""

ITERATIONS = 20
"""Iterations a job where partitions leap: fewer than plain rounds, since each adds four projections to the round's own."""

BUCKETS_HELD = 200_000
"""Entries of finished time buckets that rows keep before they are added up, which takes the brokers of every partition."""

CHANGES_HELD = 500_000
"""Changes of inputs attached at a time: more end an era, up to whose end all partitions go first."""


@dataclass(frozen=True)
class Job:
    """Rounds [from_round, to_round) run as one Spark job; `ends_bucket`: a time bucket of broker_rounds ends there."""

    from_round: int
    to_round: int
    ends_bucket: bool


def next_job(from_round: int, rounds: Collection[int], bucket_rounds: int, fused_rounds: int, quota_edge: int) -> Job:
    """The job that begins in a round: of at most `fused_rounds`, not across a bucket's or a scenario's end or a quota edge.

    `rounds`: those of each scenario.
    """
    ends = (from_round + fused_rounds, (from_round // bucket_rounds + 1) * bucket_rounds, quota_edge)
    to_round = min(*ends, *(r for r in rounds if r > from_round))
    return Job(from_round, to_round, to_round % bucket_rounds == 0 or to_round in rounds)


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
    mode: str = "plain",
    bucket_rounds: int | None = None,
    checkpoints: Checkpoints | None = None,
    resume: bool = False,
) -> DataFrame:
    """Run every scenario to its end and return the final state, checkpointed.

    The state is laid out once, by (scenario_id, partition_id), and keeps that layout; each job attaches the inputs
    that begin in its window, runs the planned round as often as the window is long, and checkpoints. `mode`: "plain", every
    partition one round at a time; "leap", every partition with a clock of its own, over quiet rounds at once (emulator/leaps.py).
    `bucket_rounds`: rounds of a time bucket of broker_rounds, None: those of a run that says nothing of them. `checkpoints`:
    where the state goes every few jobs; `resume`: go on from the last one there.
    """
    rows = sum(i.rows for i in inputs)
    system = system_of(i.scenario.protocol for i in inputs)
    rules, rounds = system.rules_of(inputs), [i.scenario.rounds for i in inputs]
    tracing = any(bool(flags.any()) for flags in traced.values())
    bucket_rounds = bucket_rounds or bucket_length(max(rounds), TIME_BUCKETS)
    tasks = _tasks(spark, rows)
    plan, loop = (plan_leaps, _leaps) if mode == "leap" else (plan_rounds, _rounds)
    with engine_settings(spark, tasks, codegen_settings(rows)):
        progress.start(max(rounds), sum(i.partition_count for i in inputs), len(inputs))
        # Planning takes the driver seconds, the initial state a job: side by side.
        with ThreadPoolExecutor(1) as pool:
            planning = pool.submit(plan, spark, rules, tracing, tasks, compiling(rows, rules), bucket_rounds)
            if resume and checkpoints is not None:
                state, known = checkpoints.load()
            else:
                state, known = pack(system.initial_state(spark, inputs, traced), system.schema), {}
            state = held(laid_out(state, tasks))
            planned = planning.result()
        quotas = Quotas(spark, inputs, known.get("quotas"))
        run = _Run(spark, inputs, system.schema, planned, tasks, bucket_rounds, tracing, tracks, progress, checkpoints, quotas)
        return unpack(loop(run, state, known), system.schema)


@dataclass(frozen=True)
class _Run:
    """What both loops work with."""

    spark: SparkSession
    inputs: list[ScenarioInputs]
    schema: StateSchema
    planned: PlannedRound
    tasks: int
    bucket_rounds: int
    tracing: bool
    tracks: Tracks
    progress: Progress
    checkpoints: Checkpoints | None
    quotas: Quotas

    @property
    def ends(self) -> dict[int, int]:
        """Rounds by scenario_id."""
        return {i.scenario.scenario_id: i.scenario.rounds for i in self.inputs}

    def write_trace(self, state: DataFrame) -> DataFrame:
        """Write what the checkpointed state has recorded; the state without it."""
        self.tracks.write_trace(unpack(state, self.schema))
        return state.withColumn("trace", F.expr("IF(traced, filter(trace, x -> false), null)"))

    def save_if_due(self, state: list[DataFrame], columns: list[str], known: dict[str, Any]) -> None:
        """A job is done: write a checkpoint if it is time for one."""
        if self.checkpoints is not None:
            known = known | {"quotas": self.quotas.as_known()}
            self.checkpoints.save_if_due(lambda: reduce(DataFrame.unionByName, state).select(columns), known)


def _rounds(run: _Run, state: DataFrame, known: dict[str, Any]) -> DataFrame:
    """Every partition one round at a time; a scenario that has reached its end leaves the loop.

    `known`: what a checkpoint said, empty at the start.
    """
    ends = run.ends
    done = known.get("round", 0)
    bucket_from, trace_held, iterations = (known.get(name, 0) for name in ("bucket_from", "trace_held", "iterations"))
    run.tracks.broker_rounds += [tuple(row) for row in known.get("broker_rounds", [])]
    ended = [scenario for scenario, rounds in ends.items() if rounds <= done]
    finished = [state.where(F.col("scenario_id").isin(ended))] if ended else []
    checkpointed = state
    state = state.where(~F.col("scenario_id").isin(ended)) if ended else state
    last_round = max(ends.values())
    while done < last_round:
        state = run.quotas.share_out(state, done)
        job = next_job(done, ends.values(), run.bucket_rounds, FUSED_ROUNDS, run.quotas.next_edge)
        done = job.to_round
        changes = Changes(run.spark, run.inputs, job.from_round, job.to_round, run.schema)
        window = run.planned.run(changes.attach(state), job.to_round - job.from_round)
        previous, checkpointed = checkpointed, held(window)
        if not finished:
            release(previous)
        running = [i for i in run.inputs if i.scenario.rounds > job.from_round]
        state = checkpointed
        trace_held += job.to_round - job.from_round
        ended = [scenario for scenario, rounds in ends.items() if rounds == job.to_round]
        if run.tracing and (trace_held >= TRACE_ROUNDS_HELD or ended):
            state = run.write_trace(state)
            trace_held = 0
        if job.ends_bucket and run.schema.has_buckets:
            at_edge = job.to_round % run.bucket_rounds == 0
            ending = running if at_edge else [i for i in running if i.scenario.scenario_id in ended]
            ended_bucket = (bucket_from, job.to_round, ending, run.quotas.saturated_rounds)
            run.tracks.broker_rounds += broker_bucket(run.spark, unpack(checkpointed, run.schema), run.inputs, *ended_bucket)
            if at_edge:
                bucket_from = job.to_round
                state = state.withColumns({name: F.expr(text) for name, text in _EMPTY_BUCKET.items()})
        if ended and done < last_round:
            finished.append(checkpointed.where(F.col("scenario_id").isin(ended)))
            state = state.where(~F.col("scenario_id").isin(ended))
        iterations += 1
        if done < last_round:
            now = {"round": job.to_round, "bucket_from": bucket_from, "trace_held": trace_held, "iterations": iterations}
            run.save_if_due([*finished, state], run.schema.packed_columns, now | {"broker_rounds": run.tracks.broker_rounds})
        left = [i for i in run.inputs if i.scenario.rounds > job.to_round]
        replica_rounds = sum(min(job.to_round, i.scenario.rounds) * i.replicas for i in run.inputs)
        run.progress.advance(job.to_round, sum(i.partition_count for i in left), iterations, replica_rounds)
    run.progress.finish()
    return reduce(DataFrame.unionByName, finished, checkpointed)


def _leaps(run: _Run, state: DataFrame, known: dict[str, Any]) -> DataFrame:
    """Every partition at its own pace to the end of an era, then all of them through the next one.

    `known`: what a checkpoint said, empty at the start.
    """
    carried: BucketSums = sums_from(known.get("carried", []))
    iterations = known.get("iterations", 0)
    state = state if known else state.withColumns({name: F.expr(text) for name, text in no_leap(run.schema).items()})
    kept = [*run.schema.packed_columns, *no_leap(run.schema)]
    era_ends = [to_round for _, to_round in eras(run.inputs)]
    from_round = known.get("era", 0)
    while from_round < era_ends[-1]:
        state = run.quotas.share_out(state, from_round)
        to_round = min(run.quotas.next_edge, next(end for end in era_ends if end > from_round))
        changes = Changes(run.spark, run.inputs, from_round, to_round, run.schema)
        arrived = f"round >= least({to_round}, ends)"
        parked: list[DataFrame] = []
        parked_rounds = 0
        read: list[DataFrame] = []  # checkpointed frames that the state, or what is parked, still reads
        slowest = from_round
        while True:
            # An iteration takes every partition a round on at least, but for a probe that fails.
            fused = min(ITERATIONS, to_round - slowest)
            checkpointed = held(run.planned.run(changes.attach_ahead(state, run.ends), fused))
            iterations += fused
            if not parked:
                release_all(read)
            read.append(checkpointed)
            state = run.write_trace(checkpointed) if run.tracing else checkpointed
            at = state.agg(
                F.expr(f"count_if(NOT {arrived}) AS running"),
                F.expr("count(1) AS rows"),
                F.expr(f"sum(IF(slot = 0 AND NOT {arrived}, members, 0)) AS partitions"),
                F.expr("min(round) AS round"),
                F.expr("sum(round * CAST(members AS BIGINT)) AS replica_rounds"),
                F.expr(f"sum(IF({arrived}, round * CAST(members AS BIGINT), 0)) AS arrived_rounds"),
                F.expr("sum(size(buckets)) AS buckets"),
            ).collect()[0]
            if at.buckets > BUCKETS_HELD:
                add_sums(carried, bucket_sums(run.spark, checkpointed, run.inputs))
                state = state.withColumn("buckets", F.expr("filter(buckets, x -> false)"))
            run.progress.advance(at["round"], at.partitions, iterations, at.replica_rounds + parked_rounds)
            if at.running == 0:
                break
            slowest = at["round"]
            now = {"era": from_round, "iterations": iterations, "carried": sums_as_rows(carried)}
            run.save_if_due([*parked, state], kept, now)
            if at.running <= at.rows * WORTH_PARKING:
                parked.append(state.where(arrived))
                parked_rounds += at.arrived_rounds
                state = state.where(f"NOT {arrived}")
        from_round = to_round
        if parked:
            state = held(laid_out(reduce(DataFrame.unionByName, [*parked, state]), run.tasks))
            release_all(read)
    if run.schema.has_buckets:
        add_sums(carried, bucket_sums(run.spark, state, run.inputs))
        for bucket_from in range(0, max(run.ends.values()), run.bucket_rounds):
            run.tracks.broker_rounds += bucket_rows(
                run.inputs, carried, bucket_from, bucket_from + run.bucket_rounds, run.quotas.saturated_rounds
            )
    run.progress.finish()
    return state


def eras(inputs: list[ScenarioInputs]) -> list[tuple[int, int]]:
    """Stretches of rounds [from, to) over which at most CHANGES_HELD changes of inputs begin, or one round."""
    begins: Counter[int] = Counter()
    for i in inputs:
        rounds, counts = i.change_counts()
        begins.update(dict(zip(rounds.tolist(), counts.tolist(), strict=True)))
    edges, held = [0], 0
    for round_, count in sorted(begins.items()):
        if held + count > CHANGES_HELD and round_ > edges[-1]:
            edges.append(round_)
            held = 0
        held += count
    edges.append(max(i.scenario.rounds for i in inputs))
    return list(pairwise(edges))


_EMPTY_BUCKET = {"produced_bytes": "0L", "served_bytes": "0L", "served": "filter(served, x -> false)"}


def _tasks(spark: SparkSession, rows: int) -> int:
    if rows < ROWS_WORTH_A_TASK:
        return 1
    cores = spark.sparkContext.defaultParallelism
    waves = -(-rows // (ROWS_PER_TASK * cores))
    return max(1, waves) * cores  # whole waves: in a last one of a single task the other cores would wait


def compiling(rows: int, rules: RulesOfRun) -> Compiling:
    """What is worth compiling for so many rows of a run."""
    if rows < ROWS_WORTH_COMPILING:
        return Compiling.NOTHING
    if rules.works_in_functions:
        return Compiling.AROUND_FUNCTIONS
    return Compiling.FUNCTIONS if rows >= ROWS_WORTH_COMPILING_FUNCTIONS else Compiling.STAGES


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
