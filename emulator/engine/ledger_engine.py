"""Compiled rounds of ledgers, and of topics that are lists of them: a small run in the driver, a large one as Spark jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emulator.engine.blocks import JOB_WEIGHT, Plan, plan_blocks
from emulator.engine.budgets.saturated import saturated_columns
from emulator.engine.in_driver import Parts, play_in_driver
from emulator.engine.interface import Playing, Size
from emulator.engine.jobs import Advance, Jobs
from emulator.engine.play_blocks import Payload, Player, play_blocks
from emulator.engine.play_ledger_blocks import (
    compile_ledgers,
    compile_topics,
    ledger_payload,
    play_ledger_payload,
    play_sharing_payload,
    play_topic_payload,
    sharing_payload,
    topic_payload,
)
from emulator.engine.rows import LEDGER_TABLES, packed_rows_of, rows_of, table_of
from emulator.engine.warm_up import check_numba, compile_all
from emulator.engine.weighed_engine import WeighedEngine
from emulator.errors import InputError
from emulator.faults.kinds import read_fault_rows
from emulator.inputs.ledger_arrays import PreparedLedgers, PreparedTopics, read_ledger_block, read_topic_block
from emulator.inputs.ledger_arrays.bookies import BookieArrays
from emulator.inputs.ledger_arrays.gather import records_of
from emulator.inputs.ledger_arrays.shares import limits_bookies
from emulator.outcomes.compiled.columns import by_scenario
from emulator.outcomes.compiled.traffic import BrokersOf, broker_round_rows, bucket_edges
from emulator.outcomes.compiled_ledgers import TABLES, ledger_names
from emulator.outcomes.compiled_ledgers.traffic import LEDGER_TRAFFIC, SUMS, summed
from emulator.outcomes.invariants import OF_LEDGERS
from emulator.outcomes.joined import Deferred, Tables
from emulator.progress import Progress, counted
from emulator.rounds import compiled
from emulator.rounds.bookkeeper.constants import DEAD
from emulator.rounds.bookkeeper.inputs import BookieSpan
from emulator.scenario import Scenario
from emulator.scenario.ledger_configs import MAX_LEDGERS, effective

PLAYERS: tuple[Player, ...] = (play_ledger_payload, play_topic_payload, play_sharing_payload)
"""Of blocks of ledgers, of topics, and of what shares bookies' budgets."""

LEDGERS_OF_A_BLOCK, TOPICS_OF_A_BLOCK = 10_000, 100
"""Whose state is in memory at once, at most; a topic has hundreds of ledgers."""


class LedgerEngine(WeighedEngine):
    """Plays scenarios of ledgers by compiled rounds. A place is one of a ledger by itself, or, behind those, of a topic.

    `traced`: by scenario_id flags of the traced ledgers, whose entries and rounds are tables. `bucket_rounds`: as of
    CompiledEngine.
    """

    name, rounds_of, invariants = "ledgers", "ledgers", OF_LEDGERS

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        traced: Mapping[int, np.ndarray],
        leaps: bool,
        bucket_rounds: int,
    ) -> None:
        super().__init__(scenarios)
        self._traced, self._leaps, self._bucket_rounds = traced, leaps, bucket_rounds

    @cached_property
    def _ledgers(self) -> PreparedLedgers:
        return PreparedLedgers(self._scenarios, self._traced, self._leaps, self._bucket_rounds)

    @cached_property
    def _topics(self) -> PreparedTopics:
        return PreparedTopics(self._scenarios, self._traced, self._leaps, self._bucket_rounds)

    @cached_property
    def _weights(self) -> np.ndarray:
        """By place, how much there is to do, as of blocks.SMALL_WEIGHT."""
        return np.concatenate([self._ledgers.weights, self._topics.weights])

    @cached_property
    def size(self) -> Size:
        """How much it has to do: a ledger's replicas are the bookies of its ensemble."""
        own = [(s.rounds, topic.assignment) for s in self._scenarios for topic in s.topics]
        ledgers, bookies = sum(len(ensembles) for _, ensembles in own), sum(ensembles.size for _, ensembles in own)
        return Size(ledgers, ledgers, bookies, bookies, sum(rounds * ensembles.size for rounds, ensembles in own))

    def plan(self, cores: int | None) -> list[str]:
        """As of WeighedEngine.plan."""
        sharing = len(set(self._sharing.values()))
        note = f"bookies' budgets are shared in {counted(sharing, 'scenario')}: one task each, rounds in which one is short twice"
        return [*super().plan(cores), *([note] if sharing else [])]

    def warm_up(self, progress: Progress) -> None:
        """Have the rounds compiled, as of warm_up.warm_up."""
        check_numba(float(self._weights.sum()), progress)
        if compiled.is_compiling():
            of_ledgers = [partial(compile_ledgers, read_ledger_block(self._ledgers.payload(0, 1)))] if self._ledgers.count else []
            of_topics = [partial(compile_topics, read_topic_block(self._topics.payload(0, 1)))] if self._topics.count else []
            compile_all(progress, [*of_ledgers, *of_topics])

    def _in_driver(self, plan: Plan, cores: int, advance: Advance) -> Tables:
        tables = play_in_driver(plan, self._payload, PLAYERS, cores, Parts(plan, self._weights, advance))
        traffic, saturated = tables.pop("ledger_traffic"), tables.pop("saturated")
        columns = [tables["topics"].column(name).to_pylist() for name in LEDGERS_CREATED]
        self._check_counts(zip(*columns, strict=True))
        return {**tables, "broker_rounds": self._broker_rounds(traffic, saturated)}

    def play_all(self) -> dict[str, pa.Table]:
        """Play everything in this process; the rows of rows.LEDGER_TABLES."""
        plan = self._plan(1, None)
        return play_in_driver(plan, self._payload, PLAYERS, 1, Parts(plan, self._weights))

    def _in_jobs(self, playing: Playing, advance: Advance) -> Tables:
        names = list(LEDGER_TABLES)
        jobs = Jobs(playing, self._files, self._weights, names, advance, partial(self._plan, job_weight=JOB_WEIGHT))
        jobs.play(self._payload, partial(play_blocks, PLAYERS, names))
        (rows,) = jobs.rows()
        tables: Tables = {name: packed_rows_of(rows, name) for name in TABLES}
        if limits := self._limits:
            many = rows_of(rows, "topics").where(F.col("ledgers_created") > min(limits.values()))
            self._check_counts(tuple(row) for row in many.select(*LEDGERS_CREATED).collect())
        broker_rounds = Deferred(lambda: self._broker_rounds(traffic_of_jobs(rows), table_of(rows, "saturated")))
        return {**tables, "broker_rounds": broker_rounds}

    def _broker_rounds(self, traffic: pa.Table, saturated: pa.Table) -> pa.Table:
        """The rows of each scenario; `traffic`: sums of LEDGER_TRAFFIC of all blocks; `saturated`: of SATURATED_SCHEMA."""
        given, held = [], by_scenario(saturated)
        for scenario in self._scenarios:
            arrays = BookieArrays(scenario, read_fault_rows(scenario.faults, scenario.rounds))
            spans = records_of(BookieSpan, arrays.spans)
            number, rounds = scenario.scenario_id, scenario.rounds
            used_up = saturated_columns(held(number, number), len(arrays.ids), bucket_edges(rounds, self._bucket_rounds))
            given.append(BrokersOf(number, rounds, np.array(arrays.ids), spans, used_up))
        return broker_round_rows(given, self._bucket_rounds, summed(traffic), down=DEAD, names=SUMS)

    def _plan(self, cores: int, job_weight: float | None) -> Plan:
        return plan_blocks(self._weights, cores, job_weight, LEDGERS_OF_A_BLOCK, list(self._sharing), self._stretches)

    @cached_property
    def _stretches(self) -> list[tuple[int, int]]:
        """Stretches of places (first, end) that a block may have at most: ledgers, or topics."""
        ledgers, total = self._ledgers.count, len(self._weights)
        starts = {*range(0, ledgers, LEDGERS_OF_A_BLOCK), *range(ledgers, total, TOPICS_OF_A_BLOCK)}
        for first, end in self._sharing:
            starts = {start for start in starts if not first < start < end} | {first, end}
        bounds = sorted({*starts, total})
        return list(zip(bounds, bounds[1:], strict=False))

    @cached_property
    def _sharing(self) -> dict[tuple[int, int], int]:
        """Stretches of places, of ledgers and of topics, whose scenario has budgets of bookies, with the scenario's place."""
        found = {}
        for prepared, first in ((self._ledgers, 0), (self._topics, self._ledgers.count)):
            owners = prepared.numbers(0, prepared.count)[0] if prepared.count else np.zeros(0, np.int64)
            for place, scenario in enumerate(self._scenarios):
                own = np.flatnonzero(owners == place)
                if len(own) and limits_bookies(scenario):
                    found[first + int(own[0]), first + int(own[-1]) + 1] = place
        return found

    def _payload(self, first: int, last: int) -> Payload:
        """(what a task gets of the places [first, last), which of PLAYERS takes it).

        Who shares budgets is in one task: what is at a scenario's first places. At others there is nothing to do.
        """
        place = self._sharing.get((first, last))
        if place is None:
            return self._own_payload(first, last)
        own = [places for places, of in self._sharing.items() if of == place]
        payloads = [self._own_payload(*places) for places in own] if own[0] == (first, last) else []
        return sharing_payload(self._scenarios[place].scenario_id, place, payloads), 2

    def _own_payload(self, first: int, last: int) -> Payload:
        """Of ledgers, or topics, that share nothing."""
        ledgers = self._ledgers.count
        if first < ledgers:
            names = ledger_names(self._scenarios, *self._ledgers.numbers(first, last))
            return ledger_payload(names, self._ledgers.payload(first, last)), 0
        first, last = first - ledgers, last - ledgers
        names = ledger_names(self._scenarios, *self._topics.numbers(first, last))
        topics = {(s.scenario_id, topic.name): topic.assignment for s in self._scenarios for topic in s.topics}
        here = zip(names.scenario_id.tolist(), names.topic.to_pylist(), names.partition.tolist(), strict=True)
        spare = [topics[scenario, topic][partition].tolist() for scenario, topic, partition in here]
        return topic_payload(names, self._topics.payload(first, last), spare), 1

    @cached_property
    def _limits(self) -> dict[tuple[int, str], int]:
        """By (scenario_id, topic) how many ledgers it may have at most, where its config says so."""
        most = {
            (scenario.scenario_id, topic.name): int(effective(scenario.config, topic.config, MAX_LEDGERS))
            for scenario in self._scenarios
            for topic in scenario.topics
        }
        return {name: limit for name, limit in most.items() if limit > 0}

    def _check_counts(self, topics: Iterable[tuple[int, str, int, int]]) -> None:
        """Raises InputError if a topic, as of LEDGERS_CREATED, had more ledgers than its config says it may have at most."""
        names = {scenario.scenario_id: scenario.name for scenario in self._scenarios}
        for number, topic, partition, count in sorted(topics):
            most = self._limits.get((number, topic), count)
            if most < count:
                problem = f"scenario {names[number]}: {topic}:{partition} needs more than {most} ledgers"
                raise InputError(f"{problem}; allowed: {MAX_LEDGERS} = {2 * most}, say, in its config")


def traffic_of_jobs(rows: DataFrame) -> pa.Table:
    """Sums of LEDGER_TRAFFIC of all jobs, of a frame of rows_schema."""
    keys, sums = LEDGER_TRAFFIC.names[:3], LEDGER_TRAFFIC.names[3:]
    found = rows_of(rows, "ledger_traffic").groupBy(*keys).agg(*(F.sum(name).alias(name) for name in sums))
    return found.toArrow().cast(LEDGER_TRAFFIC)


LEDGERS_CREATED = ("scenario_id", "topic", "partition", "ledgers_created")
"""Columns of `topics`."""
