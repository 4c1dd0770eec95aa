"""Topics that are lists of ledgers: leaps give what plain rounds give, in few iterations; too many ledgers; a topic's story."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator import engine
from emulator.cli import main
from emulator.errors import InputError
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.bookkeeper.test_ledgers_leaps import tables_of
from tests.engine_helpers import Iterations, Row, read_table

LONG = """
protocol = "bookkeeper"
rounds = 1500
[cluster]
brokers = 7
racks = 4
session_timeout_rounds = 6
config = { autoRecoveryDaemonEnabled = true, journalSyncData = false, flushInterval = 20000 }
[[topics]]
name = "aged"
partitions = 9
config = { managedLedger = true, managedLedgerMinLedgerRolloverTimeMinutes = 1, managedLedgerMaxLedgerRolloverTimeMinutes = 2, \
defaultRetentionTimeInMinutes = 4, defaultRetentionSizeInMB = -1, ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2 }
[[topics]]
name = "sized"
partitions = 2
placement = "rack_aware"
config = { managedLedger = true, managedLedgerMaxSizePerLedgerMbytes = 3, managedLedgerMinLedgerRolloverTimeMinutes = 0, \
defaultRetentionTimeInMinutes = -1, defaultRetentionSizeInMB = 7, retentionCheckIntervalInSeconds = 20 }
[[topics]]
name = "ledger"
partitions = 2
[[workload]]
topic = "*"
records_per_round = 3
record_bytes = 8000
max_in_flight = 4
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 300
to_round = 420
[[faults]]
kind = "power_loss"
broker = 3
from_round = 700
to_round = 705
[[faults]]
kind = "metadata_store_outage"
from_round = 480
to_round = 530
[[faults]]
kind = "client_crash"
topic = "aged"
partition = 1
from_round = 600
[[commands]]
kind = "take_over"
topic = "aged"
partition = 1
round = 660
[[commands]]
kind = "take_over"
topic = "sized"
partition = 0
round = 1000
"""


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Row]], int]:
    """The tables of leaps, those of plain rounds, and how many iterations the leaps took."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "long.toml").write_text(LONG)
    run, progress = load_run(str(folder / "long.toml")), Iterations()
    run_emulation(run, str(folder / "leap"), spark, mode="leap", progress=progress)
    run_emulation(run, str(folder / "plain"), spark, mode="plain")
    return folder / "leap", tables_of(folder / "plain"), progress.iterations


def test_leaps_of_topics_give_what_plain_rounds_give(both: tuple[Path, dict[str, list[Row]], int]) -> None:
    folder, expected, _ = both
    seen = tables_of(folder)
    assert {name: rows for name, rows in seen.items() if rows != expected[name]} == {}
    assert {row["rolled_over"] for row in seen["ledgers"]} == {None, "size", "age"}
    assert {row["kind"] for row in seen["events"]} >= {"ledger_created", "ledger_rolled_over", "ledger_deleted", "take_over"}
    assert [row["acked_lost"] for row in seen["topics"]] == [0] * 11
    assert {(row["topic"], row["partition"]): row["unwritable_rounds"] > 50 for row in seen["topics"]}[("aged", 1)]


def test_topics_take_few_iterations(both: tuple[Path, dict[str, list[Row]], int]) -> None:
    """A rollover and its deletion take a handful, not the rounds between them."""
    _, expected, iterations = both
    assert iterations < 15 * max(row["ledgers_created"] for row in expected["topics"])


def test_a_list_of_too_many_ledgers(spark: SparkSession, tmp_path: Path) -> None:
    short = LONG.replace(
        "managedLedger = true, managedLedgerMaxSize", "managedLedger = true, maxLedgers = 3, managedLedgerMaxSize"
    )
    (tmp_path / "short.toml").write_text(short)
    with pytest.raises(InputError, match=r"scenario base: sized:[01] needs more than 3 ledgers; allowed: maxLedgers = 6"):
        run_emulation(load_run(str(tmp_path / "short.toml")), str(tmp_path / "out"), spark, mode="leap")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_day_of_rollovers(spark: SparkSession, tmp_path: Path) -> None:
    """A ledger every ten minutes: 144 of a day, some iterations each."""
    (tmp_path / "day.toml").write_text(
        'protocol = "bookkeeper"\nrounds = 172800\n[cluster]\nbrokers = 5\n[[topics]]\nname = "orders"\npartitions = 1\n'
        "config = { managedLedger = true, managedLedgerMaxEntriesPerLedger = 1000, defaultRetentionTimeInMinutes = 60 }\n"
        '[[workload]]\ntopic = "orders"\nrecords_per_round = 2\nmax_in_flight = 2\n'
    )
    progress = Iterations()
    run_emulation(load_run(str(tmp_path / "day.toml")), str(tmp_path / "out"), spark, mode="leap", progress=progress)
    (topic,) = read_table(tmp_path / "out" / "topics")
    assert topic["messages"] == 2 * 172800
    assert topic["messages"] - topic["acked"] == topic["unacked"] <= 8
    assert topic["ledgers_created"] in (143, 144)
    assert topic["acked"] == topic["readable"] + topic["messages_deleted"]
    assert progress.iterations < 12 * topic["ledgers_created"]
    assert progress.iterations > engine.ITERATIONS


def test_the_story_of_a_topic(both: tuple[Path, dict[str, list[Row]], int], capsys: pytest.CaptureFixture[str]) -> None:
    folder, _, _ = both
    here = ["explain", str(folder), "--topic", "aged", "--partition", "1"]
    assert main(here) == 0
    told = capsys.readouterr().out
    assert told.startswith("topic aged:1, scenario base (bookkeeper), rounds 0 to 1499")
    assert "  ledger 0: from round 0 on, messages from 0 on, " in told
    assert "\nround 660: another broker takes the topic over\n" in told
    assert main([*here, "--ledger", "4"]) == 0
    assert capsys.readouterr().out.startswith("ledger 4 of aged:1, scenario base (bookkeeper)")
    assert main([*here, "--ledger", "99"]) == 2
    assert "--ledger: aged:1 has no ledger 99; allowed: 0 to " in capsys.readouterr().err
