"""The driver's part of playing partitions that share budgets step by step: a Spark job each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator.arrow_frames import frame_of
from emulator.engine.budgets.all_budgets import all_shares_of
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.engine.budgets.first_play import is_exceeded, windows_of
from emulator.engine.budgets.saturated import SaturatedRounds
from emulator.engine.budgets.shared_block import block_payloads
from emulator.engine.budgets.step_files import StepFiles
from emulator.engine.budgets.steps import FLOW_TABLES, Step, flows_from, play_step, use_from
from emulator.engine.rows import BETWEEN_SCHEMA, table_of
from emulator.inputs.arrays import Prepared


class Steps:
    """The steps of a scenario, given by its place. `blocks`: places of partitions; `names`: the tables that are told; `done`: is
    called with the rounds that are, `resumes` with the round that a run goes on at.

    A step that is done already, in a run that was interrupted, is not played again.
    """

    def __init__(
        self,
        spark: SparkSession,
        files: StepFiles,
        prepared: Prepared,
        scenario: int,
        blocks: Sequence[np.ndarray],
        names: Sequence[str],
        state_at: Sequence[int],
        done: Callable[[int], None],
        resumes: Callable[[int], None],
    ) -> None:
        self._spark, self._files, self._names, self._state_at, self._done = spark, files, names, state_at, done
        self._resumes, self._found = resumes, 0
        self._prepared, self._scenario, self._blocks = prepared, scenario, blocks
        self._shared, _ = prepared.shared_of(scenario)
        self._count = 0
        self.kept: list[int] = []
        """Numbers of the steps whose rows are the run's."""

    def play(self) -> tuple[DataFrame, pa.Table]:
        """Play all rounds: (what was told, the rows of `saturated`)."""
        saturated = SaturatedRounds(self._shared)
        self._step(Step(0, 0, None, False))
        edge = self._first_exceeded()
        while edge is not None:
            flows = flows_from({name: self._rows(name) for name in FLOW_TABLES}, self._shared)
            shares = all_shares_of(flows, self._shared, edge.round)
            following = edge.following(self._shared, shares.is_short)
            end = self._shared.rounds if following is None else following.round
            saturated.note(shares.used_up, edge.round, end)
            self._step(Step(edge.round, end, shares, following is None))
            edge = following
        return self._files.told(self.kept), saturated.rows()

    def _first_exceeded(self) -> Edge | None:
        """As play_shared.first_exceeded."""
        if not self._shared.has_first_play:
            return first_edge(self._shared)
        for edge, end in windows_of(self._shared):
            self._step(Step(edge.round, end, None, end == self._shared.rounds), keeps=False)
            use = use_from(table_of(self._files.told([self._count - 1]), "use"), len(self._shared.brokers))
            if is_exceeded([use], self._shared, edge.round, end):
                return edge
            self._keep(self._count - 1)
        return None

    def _step(self, step: Step, keeps: bool = True) -> None:
        """Play one more step from where the last one that was kept ended."""
        number = self._count
        if not self._files.is_done(number):
            if number and number == self._found:
                self._resumes(step.from_round)
            self._files.write(number, self._played(step))
        else:
            self._found = number + 1
        self._count += 1
        if keeps:
            self._keep(number)
        self._done(step.to_round)

    def _keep(self, number: int) -> None:
        if self.kept:
            self._files.forget_states(self.kept[-1])
        self.kept.append(number)

    def _played(self, step: Step) -> DataFrame:
        """The rows of a step, each block in a Spark partition of its own."""
        blocks = self._files.states(self.kept[-1]) if self.kept else self._start()
        placed = blocks.repartitionByRange(len(self._blocks), "block")
        return placed.mapInArrow(partial(play_step, step, self._state_at, self._names), self._files.schema)

    def _start(self) -> DataFrame:
        """The blocks before round 0."""
        payloads = block_payloads(self._prepared, self._scenario, self._blocks)
        columns = (range(len(payloads)), payloads, [None] * len(payloads))
        arrays = [pa.array(column, field.type) for column, field in zip(columns, BETWEEN_SCHEMA, strict=True)]
        return frame_of(self._spark, pa.table(arrays, schema=BETWEEN_SCHEMA))

    def _rows(self, table: str) -> pa.Table:
        """The rows of a table that the last kept step told."""
        return table_of(self._files.told(self.kept[-1:]), table)
