"""One emulation in a process of its own, timed by phase; `measure` starts it and says what it took.

The engine is as it is: the phases are functions of it, wrapped from outside (`_PHASES`), each without those within it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from benchmarks.measuring.stopwatch import Stopwatch

_ROOT = Path(__file__).resolve().parents[2]

_PHASES = {
    "emulator.run.fingerprint": "inputs",
    "emulator.run.engines_of": "inputs",
    "emulator.engine.compiled_engine.prepare": "inputs",
    "emulator.inputs.arrays.prepare.Prepared.block": "inputs",
    "emulator.engine.compiled_engine.warm_up": "warm-up",
    "emulator.engine.compiled_engine.JobFiles.write": "jobs",
    "emulator.engine.compiled_engine.play_in_driver": "jobs",
    "emulator.engine.compiled_engine.CompiledEngine.play": "accounting",
}
"""What is timed, and its phase."""

PHASES = {
    "process": "Python's start and imports, Java's end; with --again the first of the two runs",
    "session": "Spark's start",
    "inputs": "the scenario, its inputs as arrays, and payloads of blocks",
    "warm-up": "compiled code read from its cache",
    "jobs": "blocks to tasks by Arrow, rounds, rows back by Arrow and written once; or all by threads of the driver",
    "accounting": "sums of broker_rounds over blocks, planning of blocks and jobs",
    "tables": "the tables computed and written",
    "measuring": "what this benchmark itself reads",
}
"""Phases that add up to a run's seconds."""


@dataclass(frozen=True)
class RunFigures:
    """What one run took. `seconds`: of the whole process, by phase; `round_seconds`: of compiled rounds alone, of all cores."""

    partitions: int
    distinct: int
    replica_rounds: int
    jobs: int
    seconds: dict[str, float]
    round_seconds: float
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
    parser.add_argument("--again", action="store_true", help="measure the second of two runs: Java and its workers have started")
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # also for Java's compiler and garbage collector
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
    print(json.dumps(_run(given)))


def _run(given: argparse.Namespace) -> dict[str, object]:
    from benchmarks.measuring.machine import jvm_pid
    from benchmarks.measuring.memory import peak_resident_mib
    from emulator import run as running
    from emulator.engine.early_rounds import read_early
    from emulator.engine.interface import Size
    from emulator.scenario import load_run
    from emulator.session import get_session, stop_if_ours

    watch = Stopwatch()
    conf = {"spark.driver.memory": given.heap} if given.heap else {}
    loaded = watch.wrapped("inputs", load_run)(given.scenario)
    spark = watch.wrapped("session", get_session)(f"local[{given.cores}]", conf, meanwhile=partial(read_early, loaded.scenarios))
    if given.again:
        running.run_emulation(loaded, f"{given.out}-before", spark, mode=given.mode)
    seen: dict[str, Any] = {"round seconds": 0.0}
    with ExitStack() as stack:
        for target, phase in _PHASES.items():
            stack.enter_context(patch(target, watch.wrapped(phase, resolve_name(target))))
        stack.enter_context(_noting("emulator.run.engines_of", lambda engines: seen.update(engines=engines)))
        stack.enter_context(_noting("emulator.engine.compiled_engine.play_in_driver", partial(_add_seconds, seen)))
        stack.enter_context(_reading_blocks(watch, seen))
        emulating = watch.wrapped("tables", running.run_emulation)
        emulating(loaded, given.out, spark, mode=given.mode)
    peaks = {"jvm_peak_mib": peak_resident_mib(jvm_pid()), "python_peak_mib": peak_resident_mib()}
    watch.wrapped("session", stop_if_ours)(spark)
    size = sum((engine.size for engine in seen["engines"]), Size())
    return {
        "partitions": size.partitions,
        "distinct": size.distinct,
        "replica_rounds": size.replica_rounds,
        "jobs": watch.calls["jobs"],
        "round_seconds": seen["round seconds"],
        "seconds": {phase: watch.seconds.get(phase, 0.0) for phase in PHASES},
        **peaks,
    }


def _noting(target: str, note: Callable[[Any], None]) -> Any:
    """Patches a function so that what it gives is noted."""
    function = resolve_name(target)

    def noted(*arguments: Any, **named: Any) -> Any:
        given = function(*arguments, **named)
        note(given)
        return given

    return patch(target, noted)


def _add_seconds(seen: dict[str, Any], told: dict[str, Any]) -> None:
    """What the driver played by itself took."""
    seen["round seconds"] += sum(told["blocks"].column("seconds").to_pylist())


def _reading_blocks(watch: Stopwatch, seen: dict[str, Any]) -> Any:
    """Patches Resuming.forget to add up the seconds of blocks, which it is about to remove."""
    from emulator.engine.job_files import JobFiles
    from emulator.engine.resuming import Resuming
    from emulator.engine.rows import rows_of, rows_schema

    forget = Resuming.forget

    def read(kept: Any) -> None:
        if isinstance(kept, JobFiles) and kept.is_there():
            blocks = rows_of(kept.rows(range(kept.plan().job_count), rows_schema(["blocks"])), "blocks")
            seen["round seconds"] += sum(row.seconds for row in blocks.collect())

    def read_and_forget(resuming: Any, note: Callable[[str], None]) -> None:
        for kept in resuming._own:
            watch.wrapped("measuring", read)(kept)
        forget(resuming, note)

    return patch("emulator.engine.resuming.Resuming.forget", read_and_forget)


if __name__ == "__main__":
    _main()
