"""Consumers of small fleets: what they read from memory, disk and remote storage, by hand, in plain rounds and in leaps."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import emulator
from emulator.outcomes.sql import run_sql
from emulator.outcomes.tiering_report import tiering_report_sql
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.asked import rows_of
from tests.engine_helpers import Row, read_table
from tests.test_leaps import differing, tables

AWAY = """
rounds = 95
[cluster]
brokers = 2
page_cache_bytes = {page_cache_bytes}
[cluster.config]
"remote.log.storage.system.enable" = true
"log.retention.check.interval.ms" = 500
"remote.log.manager.task.interval.ms" = 500
[[topics]]
name = "t"
partitions = 4
replication_factor = 2
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 5000
"local.retention.bytes" = 10000
"retention.ms" = -1
[[workload]]
topic = "t"
records_per_round = 10
record_bytes = 100
[[consumers]]
group = "g"
topic = "t"
start = 0
to_round = 20
[[consumers]]
group = "g"
topic = "t"
from_round = 60
records_per_round = 30
[[consumers]]
group = "tail"
topic = "t"
partitions = "1,3"
start = "earliest"
"""
"""Segments of 50 records, 100 of which stay local; a broker's memory has the last 30 of each of its four partitions."""


@pytest.fixture(scope="module")
def away(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("away")
    (folder / "away.toml").write_text(AWAY.format(page_cache_bytes=4 * 30 * 100))
    run_emulation(load_run(str(folder / "away.toml")), str(folder / "out"), spark)
    return folder / "out"


def by_group(out: Path) -> dict[tuple[str, int], Row]:
    return {(row["group"], row["partition"]): row for row in read_table(out / "consumer_groups")}


def test_the_row_of_runs(away: Path) -> None:
    """Which run, of which file, when, for how long, with what: what the views and resuming go by."""
    (row,) = read_table(away / "runs")
    assert re.fullmatch(r"[0-9a-f]{32}", row["run_id"])
    assert Path(row["scenario_path"]) == away.parent / "away.toml"
    assert 0 < row["seconds"] < 600
    assert datetime.now(timezone.utc) - row["started_at"] < timedelta(hours=1)
    assert json.loads(row["versions"])["emulator"] == emulator.__version__


def test_what_is_read_by_partition(away: Path) -> None:
    """The view consumer_reads has the sums of both groups, of which the second reads odd partitions only."""
    found = rows_of(away, "SELECT * FROM consumer_reads ORDER BY partition")
    assert [row["partition"] for row in found] == [0, 1, 2, 3]
    for row in found:
        assert (row["remote_requests"], row["remote_bytes"]) == (10, 46_000)
        assert row["page_cache_bytes"] == 33_000 + (94_000 if row["partition"] % 2 else 0)


def test_catch_up(away: Path) -> None:
    """The worked example of docs/consumer_rounds.md, in each of four partitions: 460 records remote, 150 from disk."""
    rows = by_group(away)
    assert set(rows) == {*(("g", partition) for partition in range(4)), ("tail", 1), ("tail", 3)}
    for partition in range(4):
        row = rows["g", partition]
        assert (row["remote_requests"], row["remote_bytes"], row["index_misses"], row["index_hits"]) == (10, 46_000, 10, 0)
        assert (row["disk_requests"], row["disk_bytes"], row["page_cache_bytes"]) == (5, 15_000, 33_000)
        assert (row["position"], row["lag"], row["max_lag"], row["skipped"], row["stopped"]) == (940, 0, 380, 0, None)
    for partition in (1, 3):
        row = rows["tail", partition]
        assert (row["page_cache_bytes"], row["disk_bytes"], row["remote_bytes"], row["records"]) == (94_000, 0, 0, 940)
        assert row["waited_rounds"] == []
    assert read_table(away / "unread") == []


def test_reads_are_in_the_tiering_report(spark: SparkSession, away: Path) -> None:
    # By itself the view was refused, with incompatible types (DeduplicateRelations of Spark 4.1 and a union).
    _, partitions = run_sql(str(away), "SELECT count(*) FROM tiering_partitions", spark.newSession())
    assert next(partitions) == (4,)
    (report,) = rows_of(away, tiering_report_sql())
    assert (report["remote_read_gb"], report["remote_read_requests"]) == (4 * 46_000 / 1e9, 4 * 10)
    assert report["get_requests"] >= 4 * (10 + 10)


LONG = """
rounds = 420
[cluster]
brokers_file = "brokers.csv"
page_cache_bytes = 300000
[cluster.config]
"remote.log.storage.system.enable" = true
"log.retention.check.interval.ms" = 25000
"remote.log.manager.task.interval.ms" = 25000
"auto.leader.rebalance.enable" = false
"replica.selector.class" = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"remote.log.manager.fetch.max.bytes.per.second" = 12000
[[topics]]
name = "tiered"
assignment = [[1, 2, 3]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 50000
"local.retention.bytes" = 100000
"retention.bytes" = 3000000
[[topics]]
name = "local"
assignment = [[2, 3]]
config = { "segment.bytes" = 100000 }
[[workload]]
topic = "*"
records_per_round = 10
record_bytes = 100
[[consumers]]
group = "back"
topic = "*"
start = "earliest"
to_round = 50
[[consumers]]
group = "back"
topic = "*"
from_round = 250
records_per_round = 25
config = { "auto.offset.reset" = "earliest" }
[[consumers]]
group = "near"
topic = "*"
start = "earliest"
rack = "b"
config = { "metadata.max.age.ms" = 100000 }
[[faults]]
kind = "remote_storage_outage"
from_round = 270
to_round = 370
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 385
to_round = 395
[[faults]]
kind = "power_loss"
broker = 3
from_round = 120
to_round = 140
"""


def test_leaps_equal_plain_rounds(spark: SparkSession, tmp_path: Path) -> None:
    """Groups that are behind, wait for the store, and read at the end of the log: leaps go over all that is alike."""
    (tmp_path / "brokers.csv").write_text("broker,rack\n1,a\n2,b\n3,b\n")
    (tmp_path / "long.toml").write_text(LONG)
    run = load_run(str(tmp_path / "long.toml"))
    leapt = tables(spark, run, tmp_path / "leap", mode="leap")
    assert not differing(tables(spark, run, tmp_path / "plain", mode="plain"), leapt)
    rows = {(row["group"], row["topic"]): row for row in read_table(tmp_path / "leap" / "consumer_groups")}
    back: dict[str, Any] = rows["back", "tiered"]
    # 25 a round, 490 to 989 before the store is away, 990 to 1364 till the leader dies, and 1365 to 1789 from round 403 on; a
    # request is for what is left of a segment of 500, and another leader is asked again: at 490, 500, 1000, 1365 and 1500
    assert (back["remote_requests"], back["remote_bytes"]) == (5, 130_000), back
    assert dict(back["waited_rounds"])["store_away"] == 100, back
    assert rows["near", "tiered"]["follower_bytes"] > 0
