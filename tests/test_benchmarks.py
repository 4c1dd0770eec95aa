"""The benchmark of whole runs measures the engine as it is now: every phase that it times is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.measuring import one_run
from benchmarks.measuring.memory import proportional_mib, with_descendants
from benchmarks.scaling import BASE, replace, write_scenario


def test_a_run_is_measured_by_phase(tmp_path: Path) -> None:
    size = replace(BASE, partitions=40, rounds=30, faults=1, brokers=5)
    figures = one_run.measure(write_scenario(size, tmp_path), tmp_path / "out", "plain", 1)
    assert (figures.partitions, figures.replica_rounds) == (40, 40 * 3 * 30)
    assert set(figures.seconds) == set(one_run.PHASES)
    without = {phase for phase, seconds in figures.seconds.items() if seconds == 0}
    assert without <= {"measuring"}, "a small run leaves no files to read"
    assert figures.round_seconds > 0


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory by process is Linux'")
def test_memory_is_of_a_process_and_all_that_it_started() -> None:
    child = "import sys; held = bytearray(64 << 20); print(flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = with_descendants(process.pid)
        own, *others = [proportional_mib(pid) or 0 for pid in found]
        process.communicate()
    assert found[0] == process.pid and os.getpid() not in found
    assert own < 64 <= sum(others)
    assert proportional_mib(process.pid) is None
