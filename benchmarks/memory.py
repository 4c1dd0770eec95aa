"""Most memory that all processes of a run have together: `python benchmarks/memory.py [--every SECONDS] [COMMAND ...]`.

    python benchmarks/memory.py emulator run scenario.toml --out result

Once a second the memory of the command's process and of all that it started is added up: Spark's JVM, its Python daemon and
workers. Of memory that several processes share each counts its part (PSS of /proc/PID/smaps_rollup, so Linux only). Printed are
the peak, how it was divided then, and the seconds; the exit code is the command's.

Without a command it is a run of 1,000,000 partitions x 3 x 40 plain rounds, all different, with all tables.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

# run as a script, the project's root is not on the path
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.measuring.memory import mib_text, proportional_mib, with_descendants
from benchmarks.scaling import Size, write_scenario

LARGE = Size(partitions=1_000_000, rounds=40, faults=3, brokers=100, cores=0, mode="plain")


def sample(pid: int) -> dict[str, int]:
    """MiB of a process and its descendants by what they run, with how many run it."""
    mib: dict[str, int] = {}
    count: dict[str, int] = {}
    for process in with_descendants(pid):
        own, name = proportional_mib(process), _name(process)
        if own is not None:  # else it has ended meanwhile
            mib[name], count[name] = mib.get(name, 0) + own, count.get(name, 0) + 1
    return {f"{count[name]} x {name}": mib[name] for name in mib}


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "?"


def watch(command: Sequence[str], every: float) -> int:
    """Runs a command and samples it to its end; prints the peak. Its exit code."""
    began, at, samples = time.perf_counter(), 0.0, 0
    peak: dict[str, int] = {}
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            now = sample(process.pid)
            samples += 1
            if sum(now.values()) > sum(peak.values()):
                peak, at = now, time.perf_counter() - began
            time.sleep(every)
    seconds = time.perf_counter() - began
    parts = ", ".join(f"{name} {mib_text(mib)}" for name, mib in sorted(peak.items(), key=lambda part: -part[1]))
    print(f"peak {mib_text(sum(peak.values()))} MiB after {at:.0f} of {seconds:.0f} s, {samples} samples: {parts}")
    return process.returncode


def main() -> int:
    """Watches the command, or the run of LARGE."""
    parser = argparse.ArgumentParser(description="Most memory that all processes of a run have together.")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ...")
    given = parser.parse_args()
    if given.command:
        return watch(given.command, given.every)
    with tempfile.TemporaryDirectory() as folder:
        scenario, out = write_scenario(LARGE, Path(folder)), Path(folder) / "out"
        emulator = [sys.executable, "-c", "import sys; from emulator.cli import main; sys.exit(main(sys.argv[1:]))"]
        return watch([*emulator, "run", str(scenario), "--out", str(out), "--mode", LARGE.mode], given.every)


if __name__ == "__main__":
    sys.exit(main())
