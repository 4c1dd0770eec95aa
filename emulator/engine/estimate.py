"""About how long a run takes, how much memory and disk, and what makes it long, before anything is played.

Every constant is a figure that was measured (benchmarks/RESULTS.md, "Compiled rounds, whole runs": 2 cores, alone). Held against
those runs, the time is right within a factor of two, but for what it is without (`Work.causes_of_unknown_length`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from emulator.errors import EnvironmentProblem
from emulator.progress import counted, duration, scaled

START_SECONDS = 4.5
"""Of a run of three partitions, from the shell: Python, Spark, tables."""

SECONDS_OF_JOBS = 4.0
"""More where Spark jobs play: workers load the rounds. Without it five such runs took 1.3 to 2.2 times what was said."""

WEIGHT_PER_SECOND = 1.5e7
"""What a core plays of blocks' weights: 1,000,000 x 3 x 200 plain rounds in 29 s, x 40 in 24 s, on two cores."""

SECONDS_OF_REPLICA = 7e-6
"""Inputs before the rounds, accounting and tables after them: 20.5 s of 3,000,000 replicas."""

SECONDS_OF_TRACED_ROUND = 3e-6
"""Of a replica, as a row of the trace, beside its rounds: 35 s of 12,000,000."""

CORE_SECONDS_OF_SEGMENT = 34e-6
"""That begins in a log: 1,600,000 of 20,000 partitions of up to 2 MB a round, a day, in 33 s."""

CORE_SECONDS_OF_COPY = 48e-6
"""Of a segment to remote storage, until it is deleted, rows included: 8,400,000 in a run of 237 s, 1,050,000 in one of 37."""

SECONDS_OF_WINDOW, SECONDS_OF_PARTITION_IN_WINDOW = 3e-3, 6.6e-6
"""Of a window in which budgets bind, in the one task of its scenario: 1,200 partitions through a day's 8,640 windows in 99 s."""

START_BYTES, WORKER_BYTES = 1.1e9, 0.4e9
"""Java and Python of a small run; and what each core's Python adds where there are jobs."""

MEMORY_OF_REPLICA, MEMORY_OF_TRACED_ROUND = 870.0, 150.0
"""Of Java and the driver's Python: 3.7 GiB of 3,000,000 replicas; rows of a trace in the driver."""

DISK_OF_REPLICA, DISK_OF_TRACED_ROUND, DISK_OF_SEGMENT = 60.0, 7.0, 15.0
"""Bytes of tables: 166 to 208 MB of 3,000,000 replicas, 78 MB of 12,000,000 traced rounds, 15 MB of 1,040,000 segments."""

LEAST_OF_REPLICA, LEAST_OF_TRACED_ROUND = 10.0, 1.5
"""What they take at the least, however much alike they are: half of what was ever seen."""

SHOWN_SHARE = 0.1
"""Of the time, from which on a part of it is told."""


@dataclass(frozen=True)
class Work:
    """What a run, or a part of it, has to do.

    `weight`: of its blocks (engine/blocks.py), without that of segments. `traced_rounds`: of replicas. `segments`: that begin,
    `copies`: of these those that go to remote storage. `by_jobs`: whether Spark jobs play it. `causes`: in words, what keeps
    rounds from being leapt over; `causes_of_unknown_length`: likewise, and the time is without what they take. `sharing`: by
    scenario whose partitions share budgets, the seconds of all of its windows.
    """

    weight: float = 0.0
    replicas: int = 0
    traced_rounds: int = 0
    segments: float = 0.0
    copies: float = 0.0
    by_jobs: bool = False
    causes: tuple[str, ...] = ()
    sharing: tuple[float, ...] = ()
    causes_of_unknown_length: tuple[str, ...] = ()

    def __add__(self, other: Work) -> Work:
        return Work(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


def estimate_lines(work: Work, cores: int) -> Iterator[str]:
    """Yields how long the run takes, memory, disk, and what makes it long, in lines."""
    parts = _seconds(work, cores)
    total = sum(parts.values())
    more = f", up to {duration(total + bound)} while budgets bind," if (bound := _sharing_seconds(work, cores)) else ""
    if work.causes_of_unknown_length:
        more = f"{more or ','} without what may take long (below),"
    yield f"time: about {duration(total)}{more} on {counted(cores, 'core')}, compiling (once for a version) not counted"
    memory = START_BYTES + work.replicas * MEMORY_OF_REPLICA
    memory += cores * WORKER_BYTES if work.by_jobs else work.traced_rounds * MEMORY_OF_TRACED_ROUND
    yield f"memory: about {memory / 2**30:.1f} GiB"
    disk = (work.replicas * DISK_OF_REPLICA + work.traced_rounds * DISK_OF_TRACED_ROUND + work.segments * DISK_OF_SEGMENT) / 1e6
    kept = ", and as much again under _checkpoint until they are published" if work.by_jobs else ""
    yield f"disk: about {max(disk, 1):,.0f} MB of tables{kept}"
    for what, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        if seconds > START_SECONDS and seconds >= SHOWN_SHARE * total:
            yield f"what takes long: {what}: {duration(seconds)}"
    for cause in (*work.causes, *work.causes_of_unknown_length):
        yield f"what may take long: {cause}"


def refuse_full_disk(out: str, replicas: int, traced_rounds: int) -> None:
    """Raises EnvironmentProblem where tables of so many replicas and traced rounds of them surely don't fit a local folder."""
    path = out.removeprefix("file://").removeprefix("file:")
    if "://" in path:
        return
    while path and not os.path.exists(path):
        path = os.path.dirname(path)
    least = replicas * LEAST_OF_REPLICA + traced_rounds * LEAST_OF_TRACED_ROUND
    free = shutil.disk_usage(path or ".").free
    if least > free:
        raise EnvironmentProblem(f"{out}: the tables take at least {scaled(least)}B, and {scaled(free)}B are free there")


def seconds_of_windows(windows: int, partitions: int) -> float:
    """What so many windows take at the most, of a scenario with so many partitions."""
    return windows * (SECONDS_OF_WINDOW + partitions * SECONDS_OF_PARTITION_IN_WINDOW)


def _sharing_seconds(work: Work, cores: int) -> float:
    """Where jobs play it, a scenario is a task; else one comes after the other."""
    if not work.by_jobs:
        return sum(work.sharing)
    return max(sum(work.sharing) / cores, *work.sharing, 0.0)


def _seconds(work: Work, cores: int) -> dict[str, float]:
    """By part of the work, in words."""
    grown = work.segments - work.copies
    return {
        "start": START_SECONDS,
        "Spark's workers": SECONDS_OF_JOBS if work.by_jobs else 0.0,
        "rounds that are played": work.weight / WEIGHT_PER_SECOND / cores,
        f"inputs and tables of {work.replicas:,} replicas": work.replicas * SECONDS_OF_REPLICA,
        f"{work.traced_rounds:,} rows of the trace": work.traced_rounds * SECONDS_OF_TRACED_ROUND,
        f"{grown:,.0f} segments": grown * CORE_SECONDS_OF_SEGMENT / cores,
        f"{work.copies:,.0f} segments that are copied to remote storage": work.copies * CORE_SECONDS_OF_COPY / cores,
    }


def joined(works: Sequence[Work]) -> Work:
    """The work of all."""
    return sum(works, Work())
