"""The driver's part of playing more partitions that share budgets than a task holds: step by step, a Spark job each.

From quota edge to quota edge, in blocks side by side, where fetches and producers are all that is shared. Copies and remote reads
take turns round by round: they are played as if nobody waited, where that can be judged afterwards, else in one task after all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from emulator.arrow.frames import frame_of
from emulator.engine.budgets.all_budgets import all_shares_of
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.engine.budgets.first_copies import can_play_first, may_have_waited
from emulator.engine.budgets.first_play import is_exceeded, windows_of
from emulator.engine.budgets.play_shared import play_shared, shared_payload
from emulator.engine.budgets.saturated import SaturatedRounds
from emulator.engine.budgets.shared_block import block_payloads
from emulator.engine.budgets.step_files import StepFiles
from emulator.engine.budgets.steps import FLOW_TABLES, Step, flows_from, play_step, use_from
from emulator.engine.play_blocks import payload_rows, play_blocks
from emulator.engine.rows import BETWEEN_SCHEMA, rows_schema, table_of
from emulator.inputs.arrays import Prepared


class Steps:
    """The steps of a scenario, given by its place. `blocks`: places of partitions, of which `at_once` are about a minute's work;
    `names`: the tables that are told; `done`: is called with the rounds that are, `resumes` with the round that a run goes on at.

    A step that is done already, in a run that was interrupted, is not played again.
    """

    def __init__(
        self,
        spark: SparkSession,
        files: StepFiles,
        prepared: Prepared,
        scenario: int,
        blocks: Sequence[np.ndarray],
        at_once: int,
        names: Sequence[str],
        state_at: Sequence[int],
        done: Callable[[int], None],
        resumes: Callable[[int], None],
    ) -> None:
        self._spark, self._files, self._names, self._state_at, self._done = spark, files, names, state_at, done
        self._resumes, self._found = resumes, 0
        self._prepared, self._scenario, self._blocks, self._at_once = prepared, scenario, blocks, at_once
        self._shared, _ = prepared.shared_of(scenario)
        self._count = 0
        self.kept: list[int] = []
        """Numbers of the steps whose rows are the run's."""

    def play(self) -> tuple[DataFrame, pa.Table]:
        """Play all rounds: (what was told, the rows of `saturated`)."""
        if not self._shared.is_by_edges:
            return self._in_turn()
        saturated = SaturatedRounds(self._shared)
        self._step(Step(0, 0, None, False))
        edge = self._first_exceeded()
        while edge is not None:
            flows = flows_from({name: self._rows(name) for name in FLOW_TABLES}, self._shared)
            shares = all_shares_of(flows, self._shared, edge.round)
            following = edge.following(self._shared, shares.fetches.is_short)
            end = self._shared.rounds if following is None else following.round
            saturated.note(shares.fetches.used_up, edge.round, end)
            self._step(Step(edge.round, end, shares, following is None))
            edge = following
        return self._files.told(self.kept), saturated.rows()

    def _in_turn(self) -> tuple[DataFrame, pa.Table]:
        """As `play`, where copies or remote reads take turns: all partitions in one task, if somebody may have to wait."""
        if can_play_first(self._shared) and self._nobody_waited():
            return self._files.told(self.kept), SaturatedRounds(self._shared).rows()
        self._do(self._together, 0)
        self._keep(self._count - 1)
        self._done(self._shared.rounds)
        told = self._files.told(self.kept)
        return told, table_of(told, "saturated")

    def _together(self) -> DataFrame:
        """The rows of all partitions, played in one task."""
        rows = payload_rows([0], [(shared_payload(self._prepared, self._scenario), 0)])
        player = partial(play_shared, state_at=self._state_at)
        played = frame_of(self._spark, rows).mapInArrow(partial(play_blocks, [player], self._names), rows_schema(self._names))
        return played.withColumn("keeps", F.lit(0))

    def _nobody_waited(self) -> bool:
        """Play the whole run as if no copy waited for a thread, some blocks after others; whether that was so. If not, it is
        forgotten.
        """
        whole, shared = Step(0, self._shared.rounds, None, True), self._shared
        for first in range(0, len(self._blocks), self._at_once):
            end = min(first + self._at_once, len(self._blocks))
            self._step(whole, range(first, end), shared.rounds * end // len(self._blocks))
        copies = table_of(self._files.told(self.kept), "copies")
        if not may_have_waited(copies, shared):
            return True
        self.kept = []
        return False

    def _first_exceeded(self) -> Edge | None:
        """As play_shared.first_exceeded."""
        if self._shared.limits_clients:
            return first_edge(self._shared)
        for edge, end in windows_of(self._shared):
            self._step(Step(edge.round, end, None, end == self._shared.rounds), keeps=False)
            use = use_from(table_of(self._files.told([self._count - 1]), "use"))
            if is_exceeded([use], self._shared, edge.round, end):
                return edge
            self._keep(self._count - 1)
        return None

    def _step(self, step: Step, blocks: range | None = None, done: int | None = None, keeps: bool = True) -> None:
        """Play one more step from where the last one that was kept ended. `blocks`: these only, from round 0, so that `done` of
        the run's rounds are played; None: all of them.
        """
        self._do(partial(self._played, step, blocks), step.from_round if done is None else done)
        if keeps:
            self._keep(self._count - 1)
        self._done(step.to_round if done is None else done)

    def _do(self, played: Callable[[], DataFrame], resumes_at: int) -> None:
        """Do one more step, if it is not done already: write what was played."""
        if not self._files.is_done(self._count):
            if self._count and self._count == self._found:
                self._resumes(resumes_at)
            self._files.write(self._count, played())
        else:
            self._found = self._count + 1
        self._count += 1

    def _keep(self, number: int) -> None:
        if self.kept:
            self._files.forget_states(self.kept[-1])
        self.kept.append(number)

    def _played(self, step: Step, blocks: range | None) -> DataFrame:
        """The rows of a step, each block in a Spark partition of its own."""
        meant = range(len(self._blocks)) if blocks is None else blocks
        begins = blocks is not None or not self.kept
        frame = self._start(meant) if begins else self._files.states(self.kept[-1])
        placed = frame.repartitionByRange(len(meant), "block")
        return placed.mapInArrow(partial(play_step, step, self._state_at, self._names), self._files.schema)

    def _start(self, blocks: range) -> DataFrame:
        """These blocks before round 0."""
        payloads = block_payloads(self._prepared, self._scenario, [self._blocks[block] for block in blocks])
        columns = (blocks, payloads, [None] * len(payloads))
        arrays = [pa.array(column, field.type) for column, field in zip(columns, BETWEEN_SCHEMA, strict=True)]
        return frame_of(self._spark, pa.table(arrays, schema=BETWEEN_SCHEMA))

    def _rows(self, table: str) -> pa.Table:
        """The rows of a table that the last kept step told."""
        return table_of(self._files.told(self.kept[-1:]), table)
