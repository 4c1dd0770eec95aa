"""A numba that refuses to be imported: one line says so, and rounds run as ordinary Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAY = """
import sys
import numpy as np
from emulator.rounds import compiled
from emulator.engine.play_blocks import play_payload
from emulator.engine.warm_up import warm_up
from emulator.inputs.arrays import prepare
from emulator.progress import Progress
from emulator.scenario import load_run

assert not compiled.is_compiling()
prepared = prepare(load_run(sys.argv[1]).scenarios, {}, True, 20)
warm_up(prepared, Progress())
print(play_payload(0, prepared.block(np.arange(3)))["outcomes"].column("appended").to_pylist())
"""
SCENARIO = """
rounds = 20
cluster = { brokers = 3 }
topics = [{ name = "t", partitions = 3, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 1 }]
"""


@pytest.mark.parametrize("refusal", ["ImportError('Numba needs NumPy 2.3 or less')", "AttributeError('numpy has no long')"])
def test_small_runs_go_on(tmp_path: Path, refusal: str) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text(f"raise {refusal}")
    (tmp_path / "s.toml").write_text(SCENARIO)
    found = subprocess.run(
        [sys.executable, "-c", PLAY, str(tmp_path / "s.toml")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (found.returncode, found.stdout.strip()) == (0, "[20, 20, 20]"), found.stderr
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"numba cannot be used ({refusal.partition('(')[0]}: ")
    assert line.endswith("): rounds run as ordinary Python; install it with: python -m pip install numba")
