"""Compiled rounds of groups that commit by quorums: a small run in the driver, a large one as Spark jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator import compiled
from emulator.engine.blocks import JOB_WEIGHT, SMALL_WEIGHT, Plan, plan_blocks
from emulator.engine.estimate import Work
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.engine.jobs import Advance, Jobs
from emulator.engine.play_blocks import payload_rows, play_blocks
from emulator.engine.play_group_blocks import compile_groups, group_payload, play_group_payload
from emulator.engine.rows import GROUP_TABLES, rows_of
from emulator.engine.warm_up import check_numba, compile_all
from emulator.inputs.quorum_arrays.prepare import PreparedGroups, read_group_block
from emulator.outcomes.compiled_groups import TABLES
from emulator.outcomes.compiled_ledgers import ledger_names
from emulator.outcomes.invariants import OF_GROUPS, invariant_table
from emulator.outcomes.joined import Tables, empty_table
from emulator.outcomes.scenarios import broker_rows, fault_rows
from emulator.outcomes.written_events import counted_and_written
from emulator.progress import Progress
from emulator.scenario import Scenario

GROUPS_OF_A_BLOCK = 20_000
"""Whose state is in memory at once, at most."""


class GroupEngine:
    """Plays scenarios of groups by compiled rounds. `identity`: as of CompiledEngine."""

    name = "groups"

    def __init__(self, scenarios: Sequence[Scenario], identity: Mapping[str, str]) -> None:
        self._scenarios, self._identity = scenarios, identity

    @cached_property
    def _groups(self) -> PreparedGroups:
        return PreparedGroups(self._scenarios)

    @cached_property
    def size(self) -> Size:
        """How much it has to do."""
        own = [(s.rounds, topic.assignment >= 0) for s in self._scenarios for topic in s.topics]
        groups, servers = sum(len(present) for _, present in own), sum(int(present.sum()) for _, present in own)
        return Size(groups, groups, servers, servers, sum(rounds * int(present.sum()) for rounds, present in own))

    @property
    def traced_rounds(self) -> int:
        """None: groups have no trace."""
        return 0

    @property
    def work(self) -> Work:
        """The same, as an estimate of time and room needs it."""
        return Work(float(self._groups.weights.sum()), self.size.rows, by_jobs=not self.is_small)

    @property
    def is_small(self) -> bool:
        """Whether the driver plays it, without a Spark job."""
        return float(self._groups.weights.sum()) <= SMALL_WEIGHT

    def plan(self) -> list[str]:
        """What it would do, in lines."""
        how = "calls in the driver" if self.is_small else "Spark jobs over blocks of groups"
        return [f"compiled rounds of quorums: {len(self._scenarios)} of the scenarios, {how}"]

    def kept(self, spark: SparkSession, uri: str, folder: str) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`."""
        self._files = JobFiles(spark, uri, self._identity, folder)
        return self._files

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios."""
        progress, size = playing.progress, self.size
        self.warm_up(progress)
        advance = Advance(progress, size, max(s.rounds for s in self._scenarios))
        progress.start(advance.rounds, size.partitions, len(self._scenarios), self._scenarios[0].round_ms)
        tables = self._in_driver(advance) if self.is_small else self._in_jobs(playing, advance)
        progress.finish()
        return tables | {
            **counted_and_written(tables["events"], self._scenarios),
            "broker_rounds": empty_table("broker_rounds"),
            "invariants": invariant_table(OF_GROUPS),
            "brokers": broker_rows(self._scenarios),
            "faults": fault_rows(self._scenarios),
        }

    def warm_up(self, progress: Progress) -> None:
        """Have the rounds compiled, as of warm_up.warm_up."""
        check_numba(float(self._groups.weights.sum()), progress)
        if compiled.is_compiling():
            compile_all(progress, [partial(compile_groups, read_group_block(self._groups.payload(0, 1)))])

    def _in_driver(self, advance: Advance) -> Tables:
        parts, weights = [], self._groups.weights
        for first in range(0, self._groups.count, GROUPS_OF_A_BLOCK):
            last = min(first + GROUPS_OF_A_BLOCK, self._groups.count)
            parts.append(play_group_payload(0, self._payload(first, last)))
            advance(1, float(weights[:last].sum() / weights.sum()))
        return {name: pa.concat_tables([part[name] for part in parts]) for name in TABLES}

    def _in_jobs(self, playing: Playing, advance: Advance) -> Tables:
        names = list(GROUP_TABLES)
        jobs = Jobs(playing, self._files, self._groups.weights, names, advance, self._plan)
        jobs.play(self._payloads, partial(play_blocks, (play_group_payload,), names))
        (rows,) = jobs.rows()
        tables: dict[str, DataFrame] = {name: rows_of(rows, name) for name in TABLES}
        return {**tables}

    def _plan(self, cores: int) -> Plan:
        return plan_blocks(self._groups.weights, cores, JOB_WEIGHT, GROUPS_OF_A_BLOCK)

    def _payloads(self, plan: Plan, blocks: Sequence[int]) -> pa.Table:
        """A row of play_blocks.PAYLOADS_SCHEMA for each of these blocks."""
        return payload_rows(blocks, [(self._payload(plan.bounds[block], plan.bounds[block + 1]), 0) for block in blocks])

    def _payload(self, first: int, last: int) -> bytes:
        """What a task gets of the places [first, last)."""
        names = ledger_names(self._scenarios, *self._groups.numbers(first, last))
        return group_payload(names, self._groups.payload(first, last))
