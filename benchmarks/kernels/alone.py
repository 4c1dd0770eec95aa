"""Runs the kernel in a process of its own, so that its peak memory is its own, that of Python and its libraries included."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.kernels import KernelRun
from benchmarks.kernels.numpy_full import run_rounds
from benchmarks.measuring.memory import peak_resident_mib

_ROOT = Path(__file__).resolve().parents[2]


class AloneRun(NamedTuple):
    """The kernel's run, its arrays for the sampled partitions only, and its process' peak resident memory."""

    run: KernelRun
    peak_mib: int | None


def run_alone(sample: list[int], *arguments: Any) -> AloneRun:
    """Runs it with these arguments; the rounds are timed by the kernel itself."""
    command = [sys.executable, "-m", "benchmarks.kernels.alone"]
    request = pickle.dumps((sample, arguments))
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, cwd=_ROOT, check=True)
    run, peak_mib = pickle.loads(done.stdout)
    return AloneRun(run, peak_mib)


def _main() -> None:
    sample, arguments = pickle.load(sys.stdin.buffer)
    run = run_rounds(*arguments)
    sampled = KernelRun(run.seconds, run.leo[sample], run.hw[sample], run.isr[sample])
    sys.stdout.buffer.write(pickle.dumps((sampled, peak_resident_mib())))


if __name__ == "__main__":
    _main()
