"""A run that is killed leaves the tables of the run before, and none of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from emulator.exits import INTERRUPTED
from emulator.schema import OUTPUT_TABLES
from emulator.storage import OutputDirectory
from tests.engine_helpers import QUICK_JAVA, read_table

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


def kill_amid_run(folder: Path, out: Path, interrupt: bool = False) -> int:
    """Start a run that traces everything, and kill it with its JVM, or interrupt it, once its first job begins.

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
            if interrupt:
                process.send_signal(signal.SIGINT)
                process.wait(30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode


def test_an_interrupted_run_says_so_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert kill_amid_run(tmp_path, out, interrupt=True) == INTERRUPTED
    *_, last = (tmp_path / "log").read_text().splitlines()
    assert last == "error: interrupted"
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert not [name for name in OUTPUT_TABLES if (out / name).exists()]


def test_a_killed_run_publishes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """What it had begun stands beside the one table that was there, and no table of its own does."""
    out = tmp_path / "out"
    publish_one_table(spark, out)
    content = read_table(out / "brokers")

    kill_amid_run(tmp_path, out)

    assert visible_tables(out) == ["brokers"]
    assert read_table(out / "brokers") == content


def publish_one_table(spark: SparkSession, out: Path) -> None:
    """Publish what stands for an earlier run."""
    output = OutputDirectory(spark, str(out))
    output.stage()
    output.write_rows("brokers", [(0, 1, "a"), (0, 2, None)])
    output.commit()
    assert visible_tables(out) == ["brokers"]


def visible_tables(out: Path) -> list[str]:
    """Tables that a reader of the folder finds."""
    return [name for name in OUTPUT_TABLES if (out / name).exists()]
