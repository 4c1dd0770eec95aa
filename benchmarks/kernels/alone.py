"""Runs one kernel in a process of its own, so that its peak memory is its own, that of Python and its libraries included."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.kernels import KernelRun
from benchmarks.measuring.memory import peak_resident_mib

_ROOT = Path(__file__).resolve().parents[2]


class AloneRun(NamedTuple):
    """A kernel's run, its arrays for the sampled partitions only, and its process' peak resident memory."""

    run: KernelRun
    peak_mib: int | None


def run_alone(kernel: str, sample: list[int], *arguments: Any) -> AloneRun:
    """Runs `run_rounds` of a module of this package; the rounds are timed by the kernel itself."""
    command = [sys.executable, "-m", "benchmarks.kernels.alone"]
    request = pickle.dumps((kernel, sample, arguments))
    done = subprocess.run(command, input=request, stdout=subprocess.PIPE, cwd=_ROOT, check=True)
    run, peak_mib = pickle.loads(done.stdout)
    return AloneRun(run, peak_mib)


def _main() -> None:
    kernel, sample, arguments = pickle.load(sys.stdin.buffer)
    run: KernelRun = import_module(f"benchmarks.kernels.{kernel}").run_rounds(*arguments)
    isr = None if run.isr is None else run.isr[sample]
    sampled = KernelRun(run.seconds, run.leo[sample], run.hw[sample], isr)
    sys.stdout.buffer.write(pickle.dumps((sampled, peak_resident_mib())))


if __name__ == "__main__":
    _main()
