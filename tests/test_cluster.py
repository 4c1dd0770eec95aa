"""On a cluster: spark-submit on Spark's standalone master with two workers, one of which dies in mid-run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.schema import OUTPUT_TABLES
from tests.engine_helpers import Row, emulate, read_table
from tests.standalone_cluster import loopback_problem, rounds_done, standalone_cluster, wait_for

ROOT = Path(__file__).parents[1]

# 104 partitions that all differ: enough rows for a task on each executor.
TOPICS = 4
SCENARIO = """
name = "cluster"
rounds = 60000
mode = "plain"
[cluster]
brokers = 6
session_timeout_rounds = 4
config = { "unclean.leader.election.enable" = true }
[[fault_generators]]
kind = "independent_crashes"
mtbf_rounds = 20000
mean_duration_rounds = 60
""" + "".join(
    f"""
[[topics]]
name = "topic{number}"
partitions = 26
replication_factor = 3
[[workload]]
topic = "topic{number}"
records_per_round = {number + 1}
acks = "{"all" if number % 2 else "1"}"
"""
    for number in range(TOPICS)
)
TRACED = "topic0:3,topic3:17"

RUN_SECONDS_MAX = 600


@pytest.mark.skipif(bool(loopback_problem()), reason=loopback_problem() or "loopback works")
def test_a_lost_executor_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    scenario, out, folder = tmp_path / "cluster.toml", tmp_path / "out", tmp_path / "cluster"
    scenario.write_text(SCENARIO)
    folder.mkdir()
    with standalone_cluster(folder) as cluster:
        flags = ["--mode", "plain", "--trace", TRACED]
        run = cluster.submit("run", str(ROOT / "jobs" / "emulate.py"), str(scenario), "--out", str(out), *flags)
        log = cluster.log("run")
        wait_for(lambda: run.poll() is not None or rounds_done(log) > 0, RUN_SECONDS_MAX)
        assert run.poll() is None, log.read_text()
        cluster.kill_worker(cluster.workers[0])
        assert run.wait(RUN_SECONDS_MAX) == 0, log.read_text()
        assert "Lost executor" in log.read_text()
    there = emulate(spark, scenario, tmp_path / "local", TRACED)
    for table in OUTPUT_TABLES.keys() - {"runs"}:
        assert in_order(read_table(out / table)) == in_order(there[table]), table
    assert there["trace"] and there["events"]


def in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=repr)
