"""A run that is told to end leaves the tables of the run before, and none of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulator.cli.exits import INTERRUPTED, TERMINATED
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import QUICK_JAVA, read_table
from tests.output_tables import write_tables

SCENARIO = """
name = "endless"
mode = "plain"
rounds = 1000000
[cluster]
brokers = 3
[[topics]]
name = "orders"
partitions = 3
replication_factor = 3
[[workload]]
topic = "orders"
records_per_round = 1
record_bytes = 100
acks = "all"
"""
START_SECONDS_MAX = 120


def kill_amid_run(folder: Path, out: Path, told: signal.Signals) -> int:
    """Start a run that traces everything, and send it a signal once its first job begins.

    Its exit code; what it said is in `folder`/log.
    """
    scenario = folder / "endless.toml"
    scenario.write_text(SCENARIO)
    command = [sys.executable, "-m", "emulator.cli", "run", str(scenario), "--out", str(out), "--trace", "all"]
    options = ["--master", "local[1]", "--conf", "spark.driver.memory=1g"]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, *options], stdout=log, stderr=log, env=os.environ | QUICK_JAVA, start_new_session=True
        )
        try:
            give_up_at = time.monotonic() + START_SECONDS_MAX
            while not (out / "_checkpoint/compiled/PLAN.json").exists():
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < give_up_at, (folder / "log").read_text()
                time.sleep(0.2)
            process.send_signal(told)
            process.wait(30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode


@pytest.mark.parametrize(
    ("told", "code", "said"), [(signal.SIGINT, INTERRUPTED, "interrupted"), (signal.SIGTERM, TERMINATED, "told to end")]
)
def test_an_interrupted_run_says_that_it_starts_anew(told: signal.Signals, code: int, said: str, tmp_path: Path) -> None:
    """What it had begun stands beside the one table that was there, and no table of its own does: the process is gone at once."""
    out = tmp_path / "out"
    write_tables({"brokers": [{"scenario_id": 0, "broker": 1, "rack": "a"}]}, out)
    content = read_table(out / "brokers")
    assert kill_amid_run(tmp_path, out, told) == code
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log
    assert "incubator" not in log
    *_, last = log.splitlines()
    assert last == f"error: {said}; nothing was finished yet: the same command starts anew"
    assert [name for name in OUTPUT_TABLES if (out / name).exists()] == ["brokers"]
    assert read_table(out / "brokers") == content
