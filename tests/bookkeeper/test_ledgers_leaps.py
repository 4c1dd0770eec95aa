"""Leaps give what plain rounds give for ledgers, in every table."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

LONG = """
name = "long"
protocol = "bookkeeper"
rounds = 350
[cluster]
brokers = 8
racks = 4
session_timeout_rounds = 6
config = { journalSyncData = false, flushInterval = 4000 }
[[topics]]
name = "steady"
partitions = 8
config = { ensembleSize = 4, writeQuorumSize = 3, ackQuorumSize = 2, explicitLacInterval = 2500 }
[[topics]]
name = "racks"
partitions = 8
placement = "rack_aware"
config = { ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2, delayEnsembleChange = true }
[[workload]]
topic = "*"
records_per_round = 3
max_in_flight = 2
to_round = 150
[[workload]]
topic = "*"
from_round = 210
records_per_round = 2
max_in_flight = 2
to_round = 300
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 25
to_round = 60
[[faults]]
kind = "power_loss"
broker = 3
from_round = 166
to_round = 170
[[faults]]
kind = "broker_pause"
broker = 4
from_round = 75
to_round = 95
[[faults]]
kind = "metadata_store_outage"
from_round = 220
to_round = 235
[[faults]]
kind = "isolation"
clients = true
broker = 5
from_round = 222
to_round = 240
[[faults]]
kind = "disk_loss"
broker = 6
from_round = 250
to_round = 260
[[faults]]
kind = "client_crash"
topic = "racks"
partition = 1
from_round = 111
[[commands]]
kind = "recover_ledger"
topic = "racks"
round = 275
[[commands]]
kind = "close_ledger"
topic = "steady"
partition = 3
round = 290
[[commands]]
kind = "open_no_recovery"
topic = "*"
round = 280
"""
SAID_OF_THE_RUN = ("runs", "scenarios")


def tables_of(folder: Path) -> dict[str, list[Row]]:
    """Every table but what is said of the run itself, rows in an order of their own."""
    present = [name for name in OUTPUT_TABLES if (folder / name).is_dir() and name not in SAID_OF_THE_RUN]
    return {name: sorted(read_table(folder / name), key=repr) for name in present}


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Row]]]:
    """The scenario, and what plain rounds give."""
    folder = tmp_path_factory.mktemp("long")
    (folder / "long.toml").write_text(LONG)
    run_emulation(load_run(str(folder / "long.toml")), str(folder / "plain"), spark, mode="plain", trace="all")
    return folder, tables_of(folder / "plain")


def test_leaps_give_what_plain_rounds_give(spark: SparkSession, plain: tuple[Path, dict[str, list[Row]]]) -> None:
    folder, expected = plain[0], dict(plain[1])
    run_emulation(load_run(str(folder / "long.toml")), str(folder / "leap"), spark, mode="leap", trace="steady:3,racks:1")
    seen = tables_of(folder / "leap")
    traced = {("steady", 3), ("racks", 1)}
    of_traces = ("entries", "ledger_rounds", "bookie_rounds")
    expected |= {name: [row for row in expected[name] if (row["topic"], row["partition"]) in traced] for name in of_traces}
    assert {name: rows for name, rows in seen.items() if rows != expected[name]} == {}
    assert {row["state"] for row in seen["ledgers"]} == {"OPEN", "CLOSED"}
    assert {row["kind"] for row in seen["events"]} >= {"ensemble_change", "fence", "ledger_closed", "entries_lost"}
