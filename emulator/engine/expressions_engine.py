"""Rounds as SQL text (emulator/expressions): every system's scenarios that compiled rounds lack something for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from emulator.bandwidth.quotas import has_edges
from emulator.checkpoints import DEFAULT_EVERY, Checkpoints
from emulator.engine.interface import Playing, Size
from emulator.errors import EnvironmentProblem, listing
from emulator.expressions.loop import FUSED_ROUNDS, Tracks, codegen_settings, emulate
from emulator.inputs import ScenarioInputs, find_alike
from emulator.outcomes.joined import Tables
from emulator.outcomes.trace import TRACE_TABLES
from emulator.protocols import System
from emulator.scenario import Scenario
from emulator.schema import OUTPUT_TABLES
from emulator.session import is_connect
from emulator.storage import OutputDirectory, table_of_rows

PRIVATE_CLASSES_OF = "4.1"
"""The Spark whose private classes emulator/planned.py and its helpers use."""

STATE_ROW_BYTES = 1500
"""Bytes of a state row while it is worked on, measured; two checkpoints are held at a time."""


class ExpressionsEngine:
    """Plays the scenarios of one system.

    `traced`: by scenario_id flags of the traced partitions. `bucket_rounds`: rounds of a time bucket of broker_rounds.
    `every`: jobs between two checkpoints, None: the mode's default. `identity`: as of Checkpoints.
    """

    def __init__(
        self,
        system: System,
        scenarios: Sequence[Scenario],
        traced: Mapping[int, np.ndarray],
        mode: str,
        bucket_rounds: int,
        every: int | None,
        identity: Mapping[str, str],
    ) -> None:
        self.name = system.name
        self._system = system
        self._traced = {s.scenario_id: traced[s.scenario_id] for s in scenarios}
        self._mode = mode
        self._bucket_rounds = bucket_rounds
        self._every = DEFAULT_EVERY[mode] if every is None else every
        self._identity = identity
        self.inputs: list[ScenarioInputs] = [system.inputs(s) for s in scenarios]
        for i in self.inputs:
            i.alike = find_alike(i, self._traced[i.scenario.scenario_id], has_edges(i.scenario))

    @property
    def settings(self) -> dict[str, str]:
        """Spark settings to hold while its tables are computed."""
        return codegen_settings(self.size.partitions)

    @property
    def size(self) -> Size:
        """How much it has to do."""
        return sum(map(_size_of, self.inputs), Size())

    def plan(self) -> list[str]:
        """What it would do, in lines."""
        rounds = max(i.scenario.rounds for i in self.inputs)
        jobs = f"{-(-rounds // FUSED_ROUNDS)} jobs or more" if self._mode == "plain" else "jobs by what happens"
        memory = max(1, 2 * self.size.rows * STATE_ROW_BYTES // 2**20)
        return [f"rounds not compiled: {len(self.inputs)} of the scenarios ({self.name}), {jobs}, {memory} MiB for the state"]

    def check_spark(self, spark: SparkSession) -> None:
        """Raises EnvironmentProblem unless this is the classic Spark whose private classes these rounds use."""
        kind = "Spark Connect" if is_connect(spark) else "Spark"
        if is_connect(spark) or not spark.version.startswith(f"{PRIVATE_CLASSES_OF}."):
            names = listing([i.scenario.name for i in self.inputs])
            raise EnvironmentProblem(
                "rounds that are not compiled (copies and remote reads that share quotas, ledgers) need classic Spark"
                f" {PRIVATE_CLASSES_OF}, and this is {kind} {spark.version}: {names}"
            )

    def kept(self, spark: SparkSession, uri: str, folder: str) -> Checkpoints:
        """What it keeps in a folder under the output folder `uri`."""
        self._checkpoints = Checkpoints(spark, uri, self._identity, self._every, folder)
        return self._checkpoints

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios, broker_rounds among them, not yet computed."""
        at = self._checkpoints
        goes_on = playing.resume and at.is_there()
        if not goes_on:
            at.start_anew()
        tracks = Tracks(partial(self._write_trace, playing.spark))
        state = emulate(
            playing.spark,
            self.inputs,
            self._traced,
            tracks,
            playing.progress,
            self._mode,
            self._bucket_rounds,
            checkpoints=at,
            resume=goes_on,
        )
        broker_rounds = table_of_rows(tracks.broker_rounds, OUTPUT_TABLES["broker_rounds"])
        return self._system.tables(playing.spark, state, self.inputs) | {"broker_rounds": broker_rounds}

    def finish(self, output: OutputDirectory) -> None:
        """All tables are staged: add the parts of the trace."""
        self._checkpoints.collect_trace({name: output.path(name) for name in TRACE_TABLES})

    def _write_trace(self, spark: SparkSession, state: DataFrame) -> None:
        self._checkpoints.write_trace(self._system.trace_tables(spark, state, self.inputs))


def _size_of(inputs: ScenarioInputs) -> Size:
    replica_rounds = inputs.replicas * inputs.scenario.rounds
    return Size(inputs.partition_count, len(inputs.states), inputs.replicas, inputs.rows, replica_rounds)
