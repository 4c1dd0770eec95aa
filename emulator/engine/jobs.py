"""The Spark jobs of a run: each plays some blocks, and their rows are written once under the output folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from emulator.arrow.frames import frame_of
from emulator.engine.blocks import Plan
from emulator.engine.interface import Playing, Size
from emulator.engine.job_files import JobFiles
from emulator.engine.play_blocks import Payload, payload_rows
from emulator.engine.rows import rows_schema
from emulator.engine.task_watch import watching
from emulator.progress import Progress
from emulator.session import local_cores

MOST_CORES = 10_000

PlayBlocks = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""In a task: from what it gets of its blocks to their rows (rows.batches_of)."""


@dataclass
class Advance:
    """Tells progress how far the `size` of a run is, whose longest scenario has so many rounds."""

    progress: Progress
    size: Size
    rounds: int

    def resumed(self, share: float) -> None:
        """An earlier run has done this part."""
        self.progress.resumed(int(self.rounds * share), int(self.size.replica_rounds * share))

    def __call__(self, jobs: int, share: float) -> None:
        """So many jobs are done, and this part of the run."""
        left = round(self.size.partitions * (1 - share))
        self.progress.advance(int(self.rounds * share), left, jobs, int(self.size.replica_rounds * share))


@dataclass
class Jobs:
    """The jobs of a run; what an earlier run has done of them is not played again, if that is wanted.

    `weights`: by place, how much there is to do, as of blocks.SMALL_WEIGHT. `names`: the tables that blocks tell (rows.TABLES).
    `make_plan`: by cores. `apart`: stretches of places (first, end) whose blocks no job has. `shared_fetchers`: as of JobFiles.
    """

    playing: Playing
    files: JobFiles
    weights: np.ndarray
    names: Sequence[str]
    advance: Advance
    make_plan: Callable[[int], Plan]
    apart: Sequence[tuple[int, int]] = ()
    shared_fetchers: Sequence[int] = ()
    plan: Plan = field(init=False)
    done: set[int] = field(init=False)

    def __post_init__(self) -> None:
        if self.playing.resume and self.files.is_there():
            self.plan = self.files.plan()
        else:
            self.files.start_anew()
            self.plan = self.make_plan(cores(self.playing.spark))
            self.files.begin(self.plan, self.shared_fetchers)
        self.done = self.files.done(self.plan, self.schema)
        jobs = self._with_blocks
        self.advance.progress.of_jobs(len(jobs))
        if self.done:
            self.advance.resumed(self.share)
            self.advance.progress.note(f"resuming: {len(self.done)} of {len(jobs)} jobs are done, {self.share:.0%} of the run")

    @property
    def schema(self) -> StructType:
        """Of the rows of a job."""
        return rows_schema(self.names)

    def play(self, payload_of: Callable[[int, int], Payload], play_blocks: PlayBlocks) -> None:
        """Play the jobs that are not done. `payload_of`: of the places [first, end) of a block."""
        for job in self._with_blocks:
            if job not in self.done:
                # Each block in a Spark partition of its own, the longest first.
                blocks = sorted(self._blocks(job), key=lambda block: -self._of_blocks[block])
                payloads = [payload_of(*self.plan.bounds[block : block + 2]) for block in blocks]
                table = payload_rows(blocks, payloads).add_column(0, "place", [pa.array(range(len(blocks)), pa.int32())])
                placed = frame_of(self.playing.spark, table).repartitionByRange(len(blocks), "place").drop("place")
                with watching(self.playing.spark, len(blocks), partial(self._advance_within, job)):
                    self.files.write(job, placed.mapInArrow(play_blocks, self.schema))
                self.done.add(job)
                self.advance.progress.keeps()
            self.advance(len(self.done), self.share)

    def rows(self) -> list[DataFrame]:
        """The rows of all jobs: one frame, or none if no job has a block."""
        return [self.files.rows(self._with_blocks, self.schema)] if self._with_blocks else []

    @property
    def share(self) -> float:
        """Which part of the run is done, by weight."""
        return float(sum(self._of_blocks[self._blocks(job)].sum() for job in self.done) / self._of_blocks.sum())

    @property
    def _with_blocks(self) -> list[int]:
        return [job for job in range(self.plan.job_count) if self._blocks(job)]

    @cached_property
    def _of_blocks(self) -> np.ndarray:
        return self.plan.sums(self.weights)

    def _blocks(self, job: int) -> list[int]:
        return blocks_of(self.plan, job, self.apart)

    def _advance_within(self, job: int, ended: int) -> None:
        """So many blocks of a job have been played: about the longest ones, which come first."""
        own = np.sort(self._of_blocks[self._blocks(job)])[::-1]
        self.advance(len(self.done), self.share + float(own[:ended].sum() / self._of_blocks.sum()))


def blocks_of(plan: Plan, job: int, apart: Sequence[tuple[int, int]]) -> list[int]:
    """The numbers of a job's blocks; those of the stretches `apart` are in no job."""
    return [b for b in plan.blocks_of(job) if not any(first <= plan.bounds[b] < end for first, end in apart)]


def cores(spark: SparkSession) -> int:
    """Tasks that run side by side: what a local master says, else what Spark says by a job: so many partitions a range has."""
    if (local := local_cores(spark)) is not None:
        return local
    partitions = spark.range(MOST_CORES).select(F.spark_partition_id().alias("partition"))
    return int(partitions.agg(F.max("partition")).collect()[0][0]) + 1
