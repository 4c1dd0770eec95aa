"""Compiled rounds: a small run is one call in the driver, a large one Spark jobs over groups of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow_frames import frame_of
from emulator.engine.blocks import MOST_PARTITIONS, Plan, plan_blocks
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.engine.play_blocks import PAYLOADS_SCHEMA, play_blocks, play_payload
from emulator.engine.rows import TABLES as ROW_TABLES
from emulator.engine.rows import rows_of, rows_schema
from emulator.engine.task_watch import watching
from emulator.engine.warm_up import warm_up
from emulator.inputs.arrays import Prepared, prepare
from emulator.outcomes.assemble import broker_rows, fault_rows, invariant_table
from emulator.outcomes.compiled import broker_round_rows
from emulator.outcomes.compiled.tables import TABLES
from emulator.outcomes.compiled.traffic import SUMS
from emulator.outcomes.joined import Tables
from emulator.outcomes.trace import TRACE_TABLES
from emulator.progress import Progress
from emulator.scenario import Scenario
from emulator.storage import OutputDirectory

STATES = "replica_states"

SMALL_WEIGHT = 2e7
"""Weight of a run up to which it is one call in the driver: about two seconds of a core."""

JOB_WEIGHT = 6e8
"""Weight of what a core plays in a job: about a minute."""

MOST_CORES = 10_000

WEIGHT_OF_ROWS = 300.0
"""What the rows of a replica at the end cost, in replica-rounds."""

WEIGHT_OF_TRACE = 20.0
"""What a traced round of a replica costs, likewise, and one at whose end it is told of."""

STATES_AT_ONCE = 4
"""Rounds named by --state-at up to which a block has as many partitions as without."""


class CompiledEngine:
    """Plays scenarios by compiled rounds.

    `traced`: by scenario_id flags of the traced partitions. `bucket_rounds`: rounds of a time bucket of broker_rounds.
    `identity`: what must be the same to go on from what an earlier run kept. `state_at`: ascending rounds at whose end every
    replica is told of.
    """

    name = "compiled"
    settings: Mapping[str, str] = {}

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        traced: Mapping[int, np.ndarray],
        leaps: bool,
        bucket_rounds: int,
        identity: Mapping[str, str],
        state_at: Sequence[int] = (),
    ) -> None:
        self._scenarios = scenarios
        self._traced = traced
        self._leaps = leaps
        self._bucket_rounds = bucket_rounds
        self._identity = identity
        self._state_at = tuple(state_at)

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self._scenarios, self._traced, self._leaps, self._bucket_rounds)

    @cached_property
    def _weights(self) -> np.ndarray:
        """By place, how much there is to do: about replica-rounds that are played in the same time."""
        prepared = self._prepared
        traced = np.concatenate([self._traced[s.scenario_id] for s in self._scenarios])
        of_rows = WEIGHT_OF_ROWS + WEIGHT_OF_TRACE * len(self._state_at)
        return prepared.weights * np.where(traced, WEIGHT_OF_TRACE, 1.0) + of_rows * prepared.slots

    @cached_property
    def size(self) -> Size:
        """How much it has to do."""
        slots, rounds = self._prepared.slots, self._prepared.rounds
        return Size(len(slots), len(slots), int(slots.sum()), int(slots.sum()), int((slots * rounds).sum()))

    @property
    def is_small(self) -> bool:
        """Whether the driver plays it, without a Spark job."""
        return float(self._weights.sum()) <= SMALL_WEIGHT

    def plan(self) -> list[str]:
        """What it would do, in lines."""
        how = "one call in the driver" if self.is_small else "Spark jobs over blocks of partitions"
        return [f"compiled rounds: {len(self._scenarios)} of the scenarios, {how}"]

    def check_spark(self, spark: SparkSession) -> None:
        """Any Spark will do."""

    def kept(self, spark: SparkSession, uri: str, folder: str) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`."""
        self._files = JobFiles(spark, uri, self._identity, folder)
        return self._files

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios, broker_rounds among them."""
        progress = playing.progress
        warm_up(self._prepared, progress, in_one_block=self.is_small)
        progress.start(max(s.rounds for s in self._scenarios), self.size.partitions, len(self._scenarios))
        tables, traffic = self._in_driver(progress) if self.is_small else self._in_jobs(playing)
        progress.finish()
        return tables | {
            "broker_rounds": pa.concat_tables([self._broker_rounds(at, traffic) for at in range(len(self._scenarios))]),
            "invariants": invariant_table(),
            "brokers": broker_rows(self._scenarios),
            "faults": fault_rows(self._scenarios),
        }

    def finish(self, output: OutputDirectory) -> None:
        """All tables are staged: nothing is left to add."""

    def _broker_rounds(self, at: int, traffic: pa.Table) -> pa.Table:
        scenario, brokers = self._scenarios[at], self._prepared.brokers_of(at)
        identity = (scenario.scenario_id, scenario.rounds, self._bucket_rounds)
        return broker_round_rows(*identity, brokers.ids, brokers.spans, traffic)

    def _in_driver(self, progress: Progress) -> tuple[Tables, pa.Table]:
        tables = play_payload(0, self._prepared.block(np.arange(self.size.partitions)), self._state_at)
        self._advance(progress, 1, 1.0)
        return {name: tables[name] for name in TABLES}, tables["traffic"]

    def _in_jobs(self, playing: Playing) -> tuple[Tables, pa.Table]:
        files, spark, schema = self._files, playing.spark, rows_schema(self._told)
        if playing.resume and files.is_there():
            plan = files.plan()
        else:
            files.start_anew()
            most = max(1, MOST_PARTITIONS * STATES_AT_ONCE // max(STATES_AT_ONCE, len(self._state_at)))
            plan = plan_blocks(self._weights, _cores(spark), JOB_WEIGHT, most)
            files.begin(plan)
        done = files.done(plan, schema)
        for job in range(plan.job_count):
            if job not in done:
                rows, told = self._job(spark, plan, job), partial(self._advance_within, playing.progress, plan, done, job)
                with watching(spark, len(plan.blocks_of(job)), told):
                    files.write(job, rows)
                done.add(job)
            self._advance(playing.progress, len(done), self._share(plan, done))
        rows = files.rows(range(plan.job_count), schema)
        tables: Tables = {name: rows_of(rows, name) for name in TABLES if name in self._told}
        traffic = rows_of(rows, "traffic").groupBy("scenario_id", "broker_place", "bucket")
        sums = traffic.agg(*(F.sum(name).alias(name) for name in SUMS))
        return tables, sums.toArrow()

    def _job(self, spark: SparkSession, plan: Plan, job: int) -> DataFrame:
        """A job's rows: a row a block, each in a Spark partition of its own, the longest first."""
        weights = np.add.reduceat(self._weights, plan.bounds[:-1])
        blocks = sorted(plan.blocks_of(job), key=lambda block: -weights[block])
        payloads = [self._prepared.block(plan.places_of(block)) for block in blocks]
        order = pa.array(range(len(blocks)), pa.int32())
        columns = [order, pa.array(blocks, pa.int32()), pa.array(payloads, pa.binary())]
        schema = PAYLOADS_SCHEMA.insert(0, pa.field("place", pa.int32()))
        frame = frame_of(spark, pa.table(columns, schema=schema))
        placed = frame.repartitionByRange(len(blocks), "place").drop("place")
        return placed.mapInArrow(partial(play_blocks, self._told, self._state_at), rows_schema(self._told))

    @cached_property
    def _told(self) -> list[str]:
        """What jobs tell: tables without rows take as much room on the way as others."""
        traced = any(flags.any() for flags in self._traced.values())
        left_out = {name for name in TRACE_TABLES if not traced}
        if not self._state_at:
            left_out.add(STATES)
        return [name for name in ROW_TABLES if name not in left_out]

    def _share(self, plan: Plan, done: set[int]) -> float:
        """Which part of the run is done, by weight."""
        weights = np.add.reduceat(self._weights, plan.bounds[:-1])
        return float(sum(weights[b] for job in done for b in plan.blocks_of(job)) / weights.sum())

    def _advance_within(self, progress: Progress, plan: Plan, done: set[int], job: int, blocks: int) -> None:
        """So many blocks of a job have been played: about the longest ones, which come first."""
        weights = np.add.reduceat(self._weights, plan.bounds[:-1])
        own = np.sort(weights[list(plan.blocks_of(job))])[::-1]
        share = self._share(plan, done) + float(own[:blocks].sum() / weights.sum())
        self._advance(progress, len(done), share)

    def _advance(self, progress: Progress, jobs: int, share: float) -> None:
        rounds, size = max(s.rounds for s in self._scenarios), self.size
        progress.advance(int(rounds * share), round(size.partitions * (1 - share)), jobs, int(size.replica_rounds * share))


def _cores(spark: SparkSession) -> int:
    """Tasks that run side by side, as Spark says: so many partitions a range has."""
    partitions = spark.range(MOST_CORES).select(F.spark_partition_id().alias("partition"))
    return int(partitions.agg(F.max("partition")).collect()[0][0]) + 1
