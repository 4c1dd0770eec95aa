"""One emulation in a process of its own, timed by phase; `measure` starts it and says what it took.

The engine is as it is: the phases are functions of it, wrapped from outside (`_PHASES`).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

_ROOT = Path(__file__).resolve().parents[2]
LOOP = "loop"

_PHASES = [
    # (what, phase, only within)
    ("emulator.run._inputs", "inputs", None),
    ("emulator.run.emulate", "start", None),
    ("emulator.engine.plan_rounds", "planning", None),
    ("emulator.engine.plan_leaps", "planning", None),
    ("emulator.engine._rounds", LOOP, None),
    ("emulator.engine._leaps", LOOP, None),
    ("emulator.attach.Changes.__init__", "driver", LOOP),
    ("emulator.attach.Changes.attach", "driver", LOOP),
    ("emulator.attach.Changes.attach_ahead", "driver", LOOP),
    ("emulator.planned.PlannedRound.run", "driver", LOOP),
    ("emulator.engine.held", "execution", LOOP),
    ("emulator.engine.broker_bucket", "traffic", LOOP),
    ("emulator.engine.bucket_sums", "traffic", LOOP),
    ("emulator.checkpoints.Checkpoints.save", "checkpoints", LOOP),
]

PHASES = {
    "process": "Python's start and imports, Java's end",
    "session": "Spark's start",
    "inputs": "the scenario and its partitions, which are alike",
    "start": "the state before round 0, and what planning takes longer than that",
    "driver": "the inputs of each job, its lineage of rounds",
    "execution": "the rounds themselves",
    "traffic": "sums for the table broker_rounds",
    LOOP: "counting how far all are, and what else a job needs",
    "checkpoints": "the state written to the output folder",
    "tables": "the tables computed and written",
}
"""Phases that add up to a run's seconds."""


@dataclass(frozen=True)
class RunFigures:
    """What one run took. `seconds`: of the whole process, by phase; `planning_seconds`: beside "start"."""

    partitions: int
    distinct: int
    replica_rounds: int
    jobs: int
    checkpoints: int
    seconds: dict[str, float]
    planning_seconds: float
    jvm_peak_mib: int | None
    python_peak_mib: int | None

    @property
    def total_seconds(self) -> float:
        """Of the whole process."""
        return sum(self.seconds.values())


def measure(scenario: Path, out: Path, mode: str, cores: int, *options: str, limit_seconds: float | None = None) -> RunFigures:
    """Runs a scenario file in a new process, with `options` of this module's command line.

    Raises RuntimeError with the end of what it said if it fails or takes longer than `limit_seconds`.
    """
    command = [sys.executable, "-m", "benchmarks.measuring.one_run", str(scenario), str(out), mode, str(cores), *options]
    began = time.perf_counter()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=_ROOT, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            said, complaints = process.communicate(timeout=limit_seconds)
        except BaseException as problem:
            os.killpg(process.pid, signal.SIGKILL)  # Java too
            if isinstance(problem, subprocess.TimeoutExpired):
                raise RuntimeError(f"not done after {limit_seconds:.0f} s") from problem
            raise
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {complaints.strip()[-300:]}")
    figures = RunFigures(**json.loads(said.splitlines()[-1]))
    figures.seconds["process"] = time.perf_counter() - began - figures.total_seconds
    return figures


def _main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("scenario", "out", "mode"):
        parser.add_argument(name)
    parser.add_argument("cores", type=int)
    parser.add_argument("--heap")
    parser.add_argument("--checkpoint-every", type=int, default=20)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # also for Java's compiler and garbage collector
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
    print(json.dumps(_run(given)))


def _run(given: argparse.Namespace) -> dict[str, object]:
    from benchmarks.measuring.machine import jvm_pid
    from benchmarks.measuring.memory import peak_resident_mib
    from benchmarks.measuring.stopwatch import Stopwatch
    from emulator import run as running
    from emulator.run import replica_rounds
    from emulator.scenario import load_run
    from emulator.session import get_session, stop_if_ours

    watch = Stopwatch()
    conf = {"spark.driver.memory": given.heap} if given.heap else {}
    loaded = watch.wrapped("inputs", load_run)(given.scenario)
    spark = watch.wrapped("session", get_session)(f"local[{given.cores}]", conf)
    seen: dict[str, Any] = {}

    def inputs_of(*arguments: Any) -> Any:
        seen["inputs"], traced = find_inputs(*arguments)
        return seen["inputs"], traced

    find_inputs = running._inputs
    with ExitStack() as stack:
        stack.enter_context(patch("emulator.run._inputs", inputs_of))
        for target, phase, within in _PHASES:
            stack.enter_context(patch(target, watch.wrapped(phase, resolve_name(target), within)))
        emulating = watch.wrapped("tables", running.run_emulation)
        emulating(loaded, given.out, spark, mode=given.mode, checkpoint_every=given.checkpoint_every)
    peaks = {"jvm_peak_mib": peak_resident_mib(jvm_pid(spark)), "python_peak_mib": peak_resident_mib()}
    watch.wrapped("session", stop_if_ours)(spark)
    inputs = seen["inputs"]
    return {
        "partitions": sum(i.partition_count for i in inputs),
        "distinct": sum(len(i.states) for i in inputs),
        "replica_rounds": replica_rounds(inputs),
        "jobs": watch.calls["execution"],
        "checkpoints": watch.calls["checkpoints"],
        "planning_seconds": watch.seconds.pop("planning"),
        "seconds": {phase: watch.seconds.get(phase, 0.0) for phase in PHASES},
        **peaks,
    }


if __name__ == "__main__":
    _main()
