"""What the engines of ledgers and of groups have in common: places that weigh something, a run in the driver or in jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pyspark.sql import SparkSession

from emulator.engine.blocks import Plan, is_for_driver
from emulator.engine.estimate import Work
from emulator.engine.identity import Identity
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.engine.jobs import Advance
from emulator.outcomes.invariants import Invariant, invariant_table
from emulator.outcomes.joined import Tables
from emulator.outcomes.scenarios import broker_rows, fault_rows
from emulator.outcomes.written_events import counted_and_written
from emulator.progress import Progress
from emulator.scenario import Scenario
from emulator.scenario.model import longest_of
from emulator.session import local_cores


class WeighedEngine(ABC):
    """Plays scenarios by compiled rounds."""

    name: ClassVar[str]
    """As of Engine: what its places are."""
    rounds_of: ClassVar[str]
    """A word for what its rounds are of."""
    invariants: ClassVar[tuple[Invariant, ...]]
    """What is looked at in its rounds."""
    shared_fetchers: ClassVar[tuple[int, ...]] = ()
    """As of Engine: they have no fetchers."""

    def __init__(self, scenarios: Sequence[Scenario]) -> None:
        self._scenarios = scenarios

    @property
    @abstractmethod
    def size(self) -> Size:
        """How much it has to do."""

    @property
    @abstractmethod
    def _weights(self) -> np.ndarray:
        """By place, how much there is to do, as of blocks.SMALL_WEIGHT."""

    @abstractmethod
    def warm_up(self, progress: Progress) -> None:
        """Have the rounds compiled, as of warm_up.warm_up."""

    @abstractmethod
    def _plan(self, cores: int, job_weight: float | None) -> Plan:
        """How places are cut into blocks, as of blocks.plan_blocks."""

    @abstractmethod
    def _in_driver(self, plan: Plan, cores: int, advance: Advance) -> Tables:
        """Tables of a run that the driver plays, broker_rounds among them."""

    @abstractmethod
    def _in_jobs(self, playing: Playing, advance: Advance) -> Tables:
        """Those of one that Spark's jobs play."""

    @property
    def traced_rounds(self) -> int:
        """None: a trace of ledgers is of entries, which are not counted beforehand; groups have none."""
        return 0

    def work(self, cores: int | None) -> Work:
        """How much it has to do, as an estimate of time and room needs it; `cores`: as of `is_small`."""
        return Work(float(self._weights.sum()), self.size.rows, by_jobs=not self.is_small(cores))

    def is_small(self, cores: int | None) -> bool:
        """Whether the driver plays it, without a Spark job; `cores`: as of blocks.is_for_driver."""
        return is_for_driver(float(self._weights.sum()), cores)

    def plan(self, cores: int | None) -> list[str]:
        """What it would do, in lines; `cores`: as of `is_small`."""
        how = "calls in the driver" if self.is_small(cores) else f"Spark jobs over blocks of {self.name}"
        return [f"compiled rounds of {self.rounds_of}: {len(self._scenarios)} of the scenarios, {how}"]

    def kept(self, spark: SparkSession, uri: str, folder: str, identity: Identity) -> JobFiles:
        """What it keeps in a folder under the output folder `uri`; `identity`: as of JobFiles."""
        self._files = JobFiles(spark, uri, identity, folder)
        return self._files

    def play(self, playing: Playing) -> Tables:
        """Play every scenario to its end; the tables of these scenarios."""
        progress, size = playing.progress, self.size
        self.warm_up(progress)
        longest = longest_of(self._scenarios)
        advance = Advance(progress, size, longest.rounds)
        progress.start(longest.rounds, size.partitions, len(self._scenarios), longest.round_ms)
        cores = local_cores(playing.spark)
        if self.is_small(cores):
            tables = self._in_driver(self._plan(cores or 1, None), cores or 1, advance)
        else:
            tables = self._in_jobs(playing, advance)
        progress.finish()
        return tables | {
            **counted_and_written(tables["events"], self._scenarios),
            "invariants": invariant_table(self.invariants),
            "brokers": broker_rows(self._scenarios),
            "faults": fault_rows(self._scenarios),
        }
