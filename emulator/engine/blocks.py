"""Blocks of partitions: what one task plays, cut by how much there is to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BLOCKS_PER_CORE = 4
"""At least so many of a job for each core: the last ones of a job leave no core idle for long."""

SMALL_WEIGHT = 2e7
"""Weight of a run up to which the driver plays it: about two seconds of a core. Of Kafka it is replica-rounds."""

LOCAL_WEIGHT = 3e8
"""Likewise where Spark's tasks would run on the driver's machine: twenty seconds of a core, a quarter of a job. Its threads do
without what Spark's workers take to start, which is as long as the rounds of 100,000 partitions.
"""

LEAST_WEIGHT = 2e6
"""Of a block that a thread of the driver plays, where it plays more than one: a tenth of a second."""

JOB_WEIGHT = 1.2e9
"""Weight of what a core plays in a job: half a minute to a minute."""

MOST_PARTITIONS = 33_000
"""Of a block, whose arrays are in memory at once: all processes of 1,000,000 partitions stay below 4 GB."""


@dataclass(frozen=True)
class Plan:
    """Block b has the partitions at places bounds[b] to bounds[b + 1], job j the blocks jobs[j] to jobs[j + 1]."""

    bounds: tuple[int, ...]
    jobs: tuple[int, ...]

    def blocks_of(self, job: int) -> range:
        """The numbers of a job's blocks."""
        return range(self.jobs[job], self.jobs[job + 1])

    def places_of(self, block: int) -> np.ndarray:
        """The places of a block's partitions."""
        return np.arange(self.bounds[block], self.bounds[block + 1])

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """By block, what its partitions weigh together; `weights`: by place."""
        return np.add.reduceat(weights, self.bounds[:-1])

    @property
    def block_count(self) -> int:
        """Blocks of the run."""
        return len(self.bounds) - 1

    @property
    def job_count(self) -> int:
        """Jobs of the run."""
        return len(self.jobs) - 1


def is_for_driver(weight: float, cores: int | None) -> bool:
    """Whether the driver plays a run of this weight, without a Spark job.

    `cores`: as of session.local_cores; None: Spark's tasks run on other machines.
    """
    return weight <= (SMALL_WEIGHT if cores is None else LOCAL_WEIGHT)


def plan_blocks(
    weights: np.ndarray,
    cores: int,
    job_weight: float | None,
    most: int | None = None,
    whole: Sequence[tuple[int, int]] = (),
    apart: Sequence[tuple[int, int]] = (),
) -> Plan:
    """Cut partitions into blocks of about equal weight, at least BLOCKS_PER_CORE a core in every job, and blocks into jobs.

    `weights`: by place, how much there is to do; `job_weight`: about what one core does in a job; None: threads of the driver
    play them, as one job, and what is not worth a thread is one block. `most`: partitions of a block, None: MOST_PARTITIONS;
    `whole`: stretches of places (first, end) that are a block each, `apart`: that share none with others.
    """
    weights = np.maximum(np.asarray(weights, np.float64), 1e-9)
    jobs, count = 1, cores * BLOCKS_PER_CORE
    if job_weight is None:
        count = max(1, min(count, int(weights.sum() / LEAST_WEIGHT)))
    else:
        jobs = max(1, round(weights.sum() / (job_weight * cores)))
    bounds = cut(weights, jobs * count, MOST_PARTITIONS if most is None else most)
    for first, end in whole:
        bounds = [first, end, *(bound for bound in bounds if not first < bound < end)]
    bounds = sorted({*bounds, *(bound for stretch in apart for bound in stretch)})
    blocks = len(bounds) - 1
    job_bounds = np.unique(np.linspace(0, blocks, min(jobs, blocks) + 1).round().astype(int))
    return Plan(tuple(bounds), tuple(job_bounds.tolist()))


def cut(weights: np.ndarray, count: int, most: int) -> list[int]:
    """Bounds of consecutive stretches: about `count` of equal weight, none of more than `most` partitions.

    >>> cut(np.array([1.0, 1.0, 8.0, 1.0, 1.0]), 3, 10)
    [0, 2, 3, 5]
    """
    middles = np.cumsum(weights) - weights / 2
    stretch = np.floor(middles * (count / weights.sum()))
    edges = [0, *(np.flatnonzero(np.diff(stretch)) + 1).tolist(), len(weights)]
    bounds = [0]
    for begin, end in zip(edges, edges[1:], strict=False):
        pieces = -(-(end - begin) // most)
        bounds += [begin + (end - begin) * piece // pieces for piece in range(1, pieces + 1)]
    return bounds
