"""Topics that are lists of ledgers: leaps give what plain rounds give; a topic's story."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.bookkeeper.test_ledgers_leaps import tables_of
from tests.engine_helpers import Row

LONG = """
protocol = "bookkeeper"
rounds = 300
round_ms = 5000
[cluster]
brokers = 6
racks = 3
session_timeout_rounds = 6
config = { autoRecoveryDaemonEnabled = true, journalSyncData = false, flushInterval = 200000 }
[[topics]]
name = "aged"
partitions = 2
config = { managedLedger = true, maxLedgers = 9, managedLedgerMinLedgerRolloverTimeMinutes = 1, \
managedLedgerMaxLedgerRolloverTimeMinutes = 4, defaultRetentionTimeInMinutes = 6, defaultRetentionSizeInMB = -1, \
ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2 }
[[topics]]
name = "sized"
partitions = 1
placement = "rack_aware"
config = { managedLedger = true, maxLedgers = 9, managedLedgerMaxSizePerLedgerMbytes = 2, \
managedLedgerMinLedgerRolloverTimeMinutes = 0, defaultRetentionTimeInMinutes = -1, defaultRetentionSizeInMB = 3, \
retentionCheckIntervalInSeconds = 60 }
[[topics]]
name = "ledger"
partitions = 1
[[workload]]
topic = "*"
records_per_round = 2
record_bytes = 20000
max_in_flight = 3
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 60
to_round = 80
[[faults]]
kind = "metadata_store_outage"
from_round = 96
to_round = 106
[[faults]]
kind = "client_crash"
topic = "aged"
partition = 1
from_round = 125
[[commands]]
kind = "take_over"
topic = "aged"
partition = 1
round = 140
[[commands]]
kind = "take_over"
topic = "sized"
partition = 0
round = 200
"""


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Row]]]:
    """The tables of leaps, and those of plain rounds."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "long.toml").write_text(LONG)
    run = load_run(str(folder / "long.toml"))
    run_emulation(run, str(folder / "leap"), spark, mode="leap")
    run_emulation(run, str(folder / "plain"), spark, mode="plain")
    return folder / "leap", tables_of(folder / "plain")


def test_leaps_of_topics_give_what_plain_rounds_give(both: tuple[Path, dict[str, list[Row]]]) -> None:
    folder, expected = both
    seen = tables_of(folder)
    assert {name: rows for name, rows in seen.items() if rows != expected[name]} == {}
    assert {row["rolled_over"] for row in seen["ledgers"]} == {None, "size", "age"}
    assert {row["kind"] for row in seen["events"]} >= {"ledger_created", "ledger_rolled_over", "ledger_deleted", "take_over"}
    assert [row["acked_lost"] for row in seen["topics"]] == [0] * 3
    assert {(row["topic"], row["partition"]): row["unwritable_rounds"] > 14 for row in seen["topics"]}[("aged", 1)]


SHORT = """
protocol = "bookkeeper"
rounds = {rounds}
[cluster]
brokers = 5
[[topics]]
name = "orders"
partitions = 1
config = {{ managedLedger = true, managedLedgerMaxEntriesPerLedger = 1000, defaultRetentionTimeInMinutes = 60{more} }}
[[workload]]
topic = "orders"
records_per_round = 2
max_in_flight = 4
"""


def test_the_story_of_a_topic(
    both: tuple[Path, dict[str, list[Row]]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    folder, _ = both
    here = ["explain", str(folder), "--topic", "aged", "--partition", "1"]
    assert main(here) == 0
    told = capsys.readouterr().out
    assert told.startswith("topic aged:1 in scenario base (bookkeeper), 7 ledgers; rounds 0-299 of 300, 5000 ms each")
    (taken,) = (line for line in told.splitlines() if line.startswith("  140  "))
    assert taken.endswith("another broker takes")
    assert main([*here, "--ledger", "2"]) == 0
    assert capsys.readouterr().out.startswith("ledger 2 of aged:1 in scenario base (bookkeeper)")
    assert main([*here, "--ledger", "99"]) == 2
    assert "--ledger: aged:1 has no ledger 99; allowed: 0 to " in capsys.readouterr().err
