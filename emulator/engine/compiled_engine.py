"""Compiled rounds: blocks of a small run are played by the driver, those of a large one by Spark jobs over groups of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.engine.blocks import JOB_WEIGHT, MOST_PARTITIONS, Plan, is_for_driver, plan_blocks
from emulator.engine.budgets.play_shared import Tell, nobody_asks, play_shared, shared_payload
from emulator.engine.budgets.saturated import SATURATED_SCHEMA, saturated_columns
from emulator.engine.budgets.step_files import StepFiles
from emulator.engine.budgets.through_spark import Steps
from emulator.engine.estimate import Work
from emulator.engine.fetch_use import short_fetchers
from emulator.engine.identity import Identity
from emulator.engine.in_driver import Parts, play_in_driver
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.engine.jobs import Advance, Jobs
from emulator.engine.partition_work import PartitionWork
from emulator.engine.play_blocks import Payload, Player, play_blocks, play_payload
from emulator.engine.rows import PARTITION_TABLES, STEP_TABLES, packed_rows_of, rows_of, table_of
from emulator.engine.warm_up import warm_up
from emulator.inputs.arrays import Prepared, prepare
from emulator.outcomes.compiled import BrokersOf, broker_round_rows, bucket_edges
from emulator.outcomes.compiled.columns import by_scenario
from emulator.outcomes.compiled.consumers import CONSUMER_TABLES
from emulator.outcomes.compiled.tables import TABLES
from emulator.outcomes.compiled.trace import TRACE_TABLES
from emulator.outcomes.compiled.traffic import SUMS
from emulator.outcomes.invariants import OF_PARTITIONS, OF_READS, invariant_table
from emulator.outcomes.joined import Deferred, Tables
from emulator.outcomes.scenarios import broker_rows, fault_rows
from emulator.outcomes.written_events import summed_counts
from emulator.outcomes.written_rows import summed_count_rows
from emulator.progress import Progress, counted, duration
from emulator.scenario import Scenario
from emulator.scenario.model import longest_of
from emulator.session import local_cores

STATES = "replica_states"

MOST_TRACED = 1_000_000
"""Rounds of replicas up to which their rows are in the driver's memory until they are written."""

MOST_TOGETHER = 50_000
"""Partitions that share budgets up to which one task plays them all; more of them go in Spark jobs (budgets/through_spark.py)."""

STATES_AT_ONCE = 4
"""Rounds named by --state-at up to which a block has as many partitions as without."""


Played = tuple[Tables, Callable[[], pa.Table], pa.Table, dict[int, int]]
"""Tables but broker_rounds; what brokers sent and received in each bucket, which may take a Spark job; rows of `saturated`; as of
CompiledEngine.short_fetchers.
"""


class CompiledEngine:
    """Plays scenarios by compiled rounds.

    `traced`: by scenario_id flags of the traced partitions. `bucket_rounds`: rounds of a time bucket of broker_rounds.
    `state_at`: ascending rounds at whose end every replica is told of.
    """

    name = "compiled"

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        traced: Mapping[int, np.ndarray],
        leaps: bool,
        bucket_rounds: int,
        state_at: Sequence[int] = (),
    ) -> None:
        self._scenarios = scenarios
        self._traced = traced
        self._leaps = leaps
        self._bucket_rounds = bucket_rounds
        self._state_at = tuple(state_at)
        self.short_fetchers: dict[int, int] = {}
        """When it has played: by scenario_id, how many fetchers may have had more to bring than they can (fetch_use.py)."""

    @cached_property
    def _prepared(self) -> Prepared:
        return prepare(self._scenarios, self._traced, self._leaps, self._bucket_rounds)

    @cached_property
    def _work(self) -> PartitionWork:
        return PartitionWork(self._scenarios, self._prepared, self._traced, self._leaps, self._state_at)

    @property
    def size(self) -> Size:
        """How much it has to do."""
        return self._work.size

    @property
    def traced_rounds(self) -> int:
        """Rounds of replicas that become rows: traced ones, and those at whose end every replica is told of."""
        return self._work.traced_rounds

    def work(self, cores: int | None) -> Work:
        """How much it has to do, as an estimate of time and room needs it; `cores`: as of `is_small`."""
        return self._work.estimated(by_jobs=not self.is_small(cores))

    @property
    def _weights(self) -> np.ndarray:
        return self._work.weights

    @property
    def _shared(self) -> dict[int, tuple[int, int]]:
        return self._work.shared

    def is_small(self, cores: int | None) -> bool:
        """Whether the driver plays it, without a Spark job; `cores`: as of blocks.is_for_driver."""
        threads = cores if self.traced_rounds <= MOST_TRACED else None
        weight = float(self._weights.sum())
        if threads is not None and len(self._shared) == 1:
            # Its partitions are played by threads wherever that is; here it can be told how far they are.
            ((first, end),) = self._shared.values()
            weight -= float(self._weights[first:end].sum())
        return is_for_driver(weight, threads) and not self._stepped

    def plan(self, cores: int | None) -> list[str]:
        """What it would do, in lines; `cores`: as of `is_small`."""
        how = "Spark jobs over blocks of partitions"
        if self.is_small(cores):
            how = "one call in the driver" if self._plan(cores or 1, None).block_count == 1 else "calls in the driver"
        return [f"compiled rounds: {len(self._scenarios)} of the scenarios, {how}"]

    def kept(self, spark: SparkSession, uri: str, folder: str, identity: Identity) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`; `identity`: as of JobFiles."""
        self.keeps_in(JobFiles(spark, uri, identity, folder))
        return self._files

    def keeps_in(self, files: JobFiles) -> None:
        """Where it keeps what it has done."""
        self._files = files

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios, broker_rounds among them."""
        progress, longest = playing.progress, longest_of(self._scenarios)
        cores = local_cores(playing.spark)
        plan = self._plan(cores or 1, None) if self.is_small(cores) else None
        warm_up(self._prepared, progress, in_one_block=plan is not None and plan.block_count == 1)
        progress.start(longest.rounds, self.size.partitions, len(self._scenarios), longest.round_ms)
        played = self._in_jobs(playing) if plan is None else self._in_driver(plan, cores or 1, progress)
        tables, traffic, saturated, self.short_fetchers = played
        progress.finish()
        if saturated.num_rows:
            full = counted(len(saturated.group_by("broker_place").aggregate([])), "broker")
            progress.note(f"budgets of brokers held somebody back, on {full}: @who_suffers_meanwhile says whom and for how long")
        return tables | {
            "broker_rounds": Deferred(lambda: self._all_broker_rounds(traffic(), saturated)),
            "invariants": invariant_table(OF_PARTITIONS, *([OF_READS] if self._has_consumers else [])),
            "brokers": broker_rows(self._scenarios),
            "faults": fault_rows(self._scenarios),
        }

    @property
    def _has_consumers(self) -> bool:
        return any(scenario.consumers for scenario in self._scenarios)

    def _all_broker_rounds(self, traffic: pa.Table, saturated: pa.Table) -> pa.Table:
        held, given = by_scenario(saturated), []
        for at, scenario in enumerate(self._scenarios):
            brokers, number, rounds = self._prepared.brokers_of(at), scenario.scenario_id, scenario.rounds
            held_back = saturated_columns(held(number, number), len(brokers.ids), bucket_edges(rounds, self._bucket_rounds))
            given.append(BrokersOf(number, rounds, brokers.ids, brokers.spans, held_back))
        return broker_round_rows(given, self._bucket_rounds, traffic)

    def _in_driver(self, plan: Plan, cores: int, progress: Progress) -> Played:
        parts = Parts(plan, self._weights, self._advance(progress))
        told = play_in_driver(plan, self._payload, self._players(parts.tell), cores, parts)
        tables = {name: told[name] for name in TABLES} | {"event_counts": summed_count_rows(told["event_counts"])}
        saturated = told.get("saturated", SATURATED_SCHEMA.empty_table())
        return tables, lambda: told["traffic"], saturated, short_fetchers(told["fetch_use"], self._scenarios)

    def _in_jobs(self, playing: Playing) -> Played:
        pa.default_memory_pool().release_unused()  # of reading the files of large scenarios
        apart = list(self._stepped.values())
        sharing = [scenario.scenario_id for scenario in self._scenarios if scenario.shares_fetchers]
        make_plan = partial(self._plan, job_weight=JOB_WEIGHT)
        jobs = Jobs(playing, self._files, self._weights, self._told, self._advance(playing.progress), make_plan, apart, sharing)
        jobs.play(self._payload, partial(play_blocks, self._players(), self._told))
        frames, saturated = jobs.rows(), []
        share = jobs.share
        for at, (first, end) in self._stepped.items():
            own = float(self._weights[first:end].sum() / self._weights.sum())
            rows, used_up = self._in_steps(jobs, at, share, own)
            share += own
            frames.append(rows)
            saturated.append(used_up)
        rows = reduce(DataFrame.unionByName, frames)
        tables: Tables = {name: packed_rows_of(rows, name) for name in TABLES if name in self._told}
        tables["event_counts"] = summed_counts(rows_of(rows, "event_counts"))
        traffic = rows_of(rows, "traffic").groupBy("scenario_id", "broker_place", "bucket")
        sums = traffic.agg(*(F.sum(name).alias(name) for name in SUMS))
        if len(self._shared) > len(self._stepped):
            saturated.append(table_of(rows, "saturated"))
        short = short_fetchers(table_of(rows, "fetch_use"), self._scenarios) if self._may_share_fetchers else {}
        return tables, sums.toArrow, pa.concat_tables([SATURATED_SCHEMA.empty_table(), *saturated]), short

    @cached_property
    def _may_share_fetchers(self) -> bool:
        return any(s.fetching.per_round is None and not s.shares_fetchers for s in self._scenarios)

    def _plan(self, cores: int, job_weight: float | None) -> Plan:
        most = max(1, MOST_PARTITIONS * STATES_AT_ONCE // max(STATES_AT_ONCE, len(self._state_at)))
        together = [places for at, places in self._shared.items() if at not in self._stepped]
        return plan_blocks(self._weights, cores, job_weight, most, together, list(self._stepped.values()))

    def _in_steps(self, jobs: Jobs, at: int, before: float, own: float) -> tuple[DataFrame, pa.Table]:
        """A scenario of `_stepped`: (what it told, as of _told; the rows of `saturated`).

        `before`: the part of the run that was played before it; `own`: its part.
        """
        scenario, (first, end) = self._scenarios[at], self._stepped[at]
        names, plan, spark = [*self._told, *STEP_TABLES], jobs.plan, jobs.playing.spark
        files = StepFiles(spark, self._files.uri, self._files.folder, scenario.scenario_id, names)
        blocks = [plan.places_of(block) for block, bound in enumerate(plan.bounds[:-1]) if first <= bound < end]

        def is_done(rounds: int) -> None:
            jobs.playing.progress.keeps()
            jobs.advance(len(jobs.done), before + own * rounds / scenario.rounds)

        def resumes(round_: int) -> None:
            seconds = round_ * scenario.round_ms / 1000
            jobs.playing.progress.note(f"resuming at round {round_} ({duration(seconds)}) of scenario {scenario.name}")

        at_once = max(1, (len(plan.bounds) - 1) // plan.job_count)
        steps = Steps(spark, files, self._prepared, at, blocks, at_once, names, self._state_at, is_done, resumes)
        rows, saturated = steps.play()
        return rows.select(*self._told), saturated

    @cached_property
    def _stepped(self) -> dict[int, tuple[int, int]]:
        """Of `_shared` the scenarios with more partitions than are played in one task without a try."""
        return {at: (first, end) for at, (first, end) in self._shared.items() if end - first > MOST_TOGETHER}

    def _players(self, tell: Tell = nobody_asks) -> list[Player]:
        """Of partitions by themselves, and of those that share budgets, who `tell` how far they are."""
        return [partial(play_payload, state_at=self._state_at), partial(play_shared, state_at=self._state_at, tell=tell)]

    def _payload(self, first: int, end: int) -> Payload:
        """What one of `_players` gets of a block of the places [first, end)."""
        for at, places in self._shared.items():
            if places == (first, end):
                return shared_payload(self._prepared, at), 1
        return self._prepared.block(np.arange(first, end)), 0

    @cached_property
    def _told(self) -> list[str]:
        """What jobs tell: tables without rows take as much room on the way as others."""
        traced = any(flags.any() for flags in self._traced.values())
        left_out = {name for name in TRACE_TABLES if not traced} | {*STEP_TABLES}
        if not self._state_at:
            left_out.add(STATES)
        if not self._has_consumers:
            left_out |= {*CONSUMER_TABLES}
        if not self._shared:
            left_out.add("saturated")
        if not self._may_share_fetchers:
            left_out.add("fetch_use")
        return [name for name in PARTITION_TABLES if name not in left_out]

    def _advance(self, progress: Progress) -> Advance:
        return Advance(progress, self.size, max(s.rounds for s in self._scenarios))
