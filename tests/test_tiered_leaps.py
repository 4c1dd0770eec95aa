"""Leaps go over checks of retention and tasks of remote storage that find nothing, and meet all others."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from emulator.scenario import load_run
from tests.engine_helpers import emulate
from tests.test_leaps import differing, tables

ROUNDS = 400
LONG = f"""
rounds = {ROUNDS}
[cluster]
brokers = 5
[cluster.config]
"replica.fetch.backoff.ms" = 500
"log.retention.check.interval.ms" = 20000
"remote.log.manager.task.interval.ms" = 30000
"remote.log.storage.system.enable" = true
"auto.leader.rebalance.enable" = false
[remote_storage]
copy_bytes_per_second = 20000
metadata_lag_rounds = 3
[[topics]]
name = "by_size"
assignment = [[1, 2, 3]]
config = {{ "segment.bytes" = 200000, "retention.bytes" = 900000 }}
[[topics]]
name = "by_age"
assignment = [[3, 1]]
config = {{ "segment.bytes" = 300000, "segment.ms" = 50000, "retention.ms" = 100000 }}
[[topics]]
name = "kept"
assignment = [[1, 3]]
[[topics]]
name = "tiered"
assignment = [[1, 2, 3], [2, 4]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 100000
"local.retention.bytes" = 250000
"retention.bytes" = 900000
[[topics]]
name = "waited_for"
assignment = [[1, 5]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 100000
"local.retention.bytes" = 250000
[[topics]]
name = "tiered_by_age"
assignment = [[3, 2]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 300000
"local.retention.ms" = 40000
"retention.ms" = 120000
[[workload]]
topic = "*"
records_per_round = 10
record_bytes = 500
[[workload]]
topic = "by_age"
from_round = 300
to_round = 320
records_per_round = 3
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 130
to_round = 200
[[faults]]
kind = "remote_storage_outage"
from_round = 310
to_round = 360
[[faults]]
kind = "disk_loss"
broker = 5
from_round = 315
to_round = 325
[[faults]]
kind = "open_transaction"
topic = "tiered_by_age"
from_round = 210
to_round = 260
[[commands]]
kind = "delete_records"
topic = "kept"
partition = 0
offset = -1
round = 290
[[commands]]
kind = "reassign"
topic = "tiered"
partition = 1
replicas = [2, 3]
round = 270
"""


def test_leaps_equal_plain_rounds(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    run = load_run(str(tmp_path / "long.toml"))
    leapt = tables(spark, run, tmp_path / "leap", mode="leap")
    assert not differing(tables(spark, run, tmp_path / "plain", mode="plain"), leapt)
    for kind in ("local_delete", "copy_finished", "copy_failed", "remote_delete", "aux_state_built"):
        assert sum(f"'{kind}'" in row for row in leapt["events"]) > 0, kind
    assert leapt["violations"] == []


WAITING = """
rounds = 1500
[cluster]
brokers = 2
[cluster.config]
"remote.log.storage.system.enable" = true
"replica.fetch.backoff.ms" = 500
"log.retention.check.interval.ms" = 50000
[[topics]]
name = "orders"
assignment = [[1, 2]]
[topics.config]
"remote.storage.enable" = true
"segment.bytes" = 2000000
"local.retention.bytes" = 4000000
[[workload]]
topic = "orders"
records_per_round = 60
record_bytes = 500
[[faults]]
kind = "disk_loss"
broker = 2
from_round = 300
to_round = 310
[[faults]]
kind = "remote_storage_outage"
from_round = 290
to_round = 1200
"""


def test_leaps_go_over_the_questions_of_a_follower_while_the_store_is_away(spark: SparkSession, tmp_path: Path) -> None:
    found = emulate(spark, WAITING, tmp_path / "waiting", trace="none")
    (outcome,) = found["outcomes"]
    (built,) = (e["round"] for e in found["events"] if e["kind"] == "aux_state_built")
    assert 1200 <= built < 1300
    assert outcome["aux_state_errors"] > 850
