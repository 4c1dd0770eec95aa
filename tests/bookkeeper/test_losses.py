"""Both disks of a ledger are lost: who is told of it, by fault: outcomes, events, questions, reports, the story."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.report.questions import FAULTS
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.engine_helpers import read_table

SCENARIO = """
protocol = "bookkeeper"
rounds = 40
[cluster]
brokers = 6
config = { ensembleSize = 2, writeQuorumSize = 2, ackQuorumSize = 2 }
[[topics]]
name = "orders"
assignment = [[1, 2], [1, 3], [3, 4]]
[[topics]]
name = "gone"
assignment = [[5, 6]]
[[topics]]
name = "striped"
assignment = [[1, 2, 3]]
config = { ensembleSize = 3 }
[[topics]]
name = "list"
partitions = 1
config.managedLedger = true
config.managedLedgerMaxEntriesPerLedger = 4
config.managedLedgerMinLedgerRolloverTimeMinutes = 0
config.defaultRetentionTimeInMinutes = -1
config.defaultRetentionSizeInMB = -1
[[workload]]
topic = "*"
from_round = 0
to_round = 10
records_per_round = 1
[[faults]]
kind = "disk_loss"
broker = 1
from_round = 12
to_round = 15
name = "first disk"
[[faults]]
kind = "disk_loss"
broker = 2
from_round = 13
to_round = 18
[[faults]]
kind = "broker_pause"
broker = 3
from_round = 30
[[faults]]
kind = "broker_crash"
broker = 5
from_round = 20
[[faults]]
kind = "broker_crash"
broker = 6
from_round = 20
[[commands]]
kind = "recover_ledger"
topic = "gone"
partition = 0
round = 30
retry = false
"""


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the run."""
    path = tmp_path_factory.mktemp("losses") / "losses.toml"
    path.write_text(SCENARIO)
    run_emulation(load_run(str(path)), str(path.with_name("out")), spark)
    return path.with_name("out")


def answer(folder: Path, question: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    """What `emulator sql` answers."""
    assert main(["sql", str(folder), question, "--format", "csv"]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def of_partitions(folder: Path, table: str) -> dict[tuple[str, int], dict[str, Any]]:
    """By topic and partition its row."""
    return {(row["topic"], row["partition"]): row for row in read_table(folder / table)}


def test_outcomes(folder: Path) -> None:
    """Orders 0 has lost all; 1 has its only copies on a paused bookie; 2 is read from one bookie of two."""
    outcomes = of_partitions(folder, "outcomes")
    columns = ("acked", "acked_lost", "acked_unreadable", "acked_under_replicated")
    told = {name: tuple(row[column] for column in columns) for name, row in outcomes.items()}
    assert told["orders", 0] == (10, 10, 0, 0)
    assert told["orders", 1] == (10, 0, 10, 0)
    assert told["orders", 2] == (10, 0, 0, 10)
    assert told["gone", 0] == (10, 0, 10, 0)
    assert told["striped", 0] == (10, 4, 6, 0)
    ledgers = [row for row in read_table(folder / "ledgers") if row["topic"] == "list"]
    assert len(ledgers) > 2
    (topic,) = read_table(folder / "topics")
    for column in columns[1:]:
        assert sum(row[column] for row in ledgers) == outcomes["list", 0][column] == topic[column]
    assert 0 < topic["acked_lost"] < topic["acked"] == 10


def test_events(folder: Path) -> None:
    columns = ("round", "broker", "from_offset", "to_offset", "records", "cause")
    lost = {
        (row["topic"], row["partition"]): tuple(row[column] for column in columns)
        for row in read_table(folder / "events")
        if row["kind"] == "acked_lost" and row["topic"] != "list"
    }
    assert lost == {("orders", 0): (13, 2, 0, 10, None, 1), ("striped", 0): (13, 2, 0, 10, 4, 1)}
    assert {row["cause"] for row in read_table(folder / "events") if row["kind"] == "entries_lost"} == {0, 1}


def test_which_partitions_lost_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = answer(folder, "@which_partitions_lost_records", capsys)
    told = [(row["topic"], row["acked_lost"], row["lost_at_event"], row["fault_kind"], row["fault_on"]) for row in rows]
    assert told[0] == ("orders", "10", "10", "disk_loss", "broker 2")
    assert ("striped", "4", "4", "disk_loss", "broker 2") in told
    hurts = {row["broker"]: row["acked_lost"] for row in answer(folder, "@which_broker_hurts_most", capsys)}
    assert int(hurts["2"]) == sum(int(row["lost_at_event"]) for row in rows)


def test_disks_lost_in_one_round_are_all_named(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "together.toml"
    path.write_text(SCENARIO.replace("from_round = 13\nto_round = 18", "from_round = 12\nto_round = 18"))
    run_emulation(load_run(str(path)), str(tmp_path / "out"), spark)
    rows = answer(tmp_path / "out", "@which_partitions_lost_records", capsys)
    told = [(row["topic"], row["acked_lost"], row["round"], row["fault_on"]) for row in rows if row["topic"] != "list"]
    assert told == [("orders", "10", "12", "brokers 1, 2"), ("striped", "4", "12", "brokers 1, 2")]


def test_the_report_has_them_by_fault(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Striped entries count as they are, not as all between the first and the last."""
    by_fault = {row["fault_id"]: int(row["lost_at_elections"]) for row in answer(folder, FAULTS.format(s=0), capsys)}
    told = [row for row in read_table(folder / "events") if row["kind"] == "acked_lost"]
    lost = sum(row["to_offset"] - row["from_offset"] if row["records"] is None else row["records"] for row in told)
    assert by_fault["1"] == lost == sum(row["acked_lost"] for row in read_table(folder / "outcomes"))
    page = folder.with_name("page.html")
    assert main(["report", str(folder), "--html", str(page)]) == 0
    assert "disk_loss" in page.read_text("utf-8")


def test_what_is_still_unhealthy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No ledger is leaderless: it says what is wrong with it."""
    rows = answer(folder, "@what_is_still_unhealthy", capsys)
    told = {(row["topic"], row["partition"]): (row["state"], row["missing_offline"]) for row in rows}
    assert told["orders", "0"] == ("lost", "[]")
    assert told["orders", "1"] == ("unreadable", "[3]")
    assert told["orders", "2"] == ("under_replicated", "[3]")
    assert "leaderless" not in {state for state, _ in told.values()}
    assert answer(folder, "@how_uneven_is_leadership", capsys) == []


def test_reports_and_the_story(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["explain", str(folder), "--topic", "orders", "--partition", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith("; acknowledged entries: 10 lost") for line in lines)
    told = "10 acknowledged entries, 0..9: bookie 2 had the last copies; fault 1, disk_loss of 2"
    assert f"  round 13 (6.5 s): {told}" in lines
    assert main(["compare", str(folder), "--report", "quorums", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    lost = sum(row["acked_lost"] for row in read_table(folder / "outcomes"))
    assert sum(int(row["acked_lost"]) for row in rows) == lost


def test_a_failed_recovery_is_named_as_its_client_sees_it(folder: Path) -> None:
    """LedgerOpenOp tells its client LedgerRecoveryException, whatever made the recovery fail."""
    (client,) = (row for row in read_table(folder / "ledger_clients") if row["topic"] == "gone")
    assert (client["phase"], client["error"], client["attempt_error"]) == ("failed", "LedgerRecoveryException", "ReadException")
    assert {row["error"] for row in read_table(folder / "ledgers") if row["topic"] == "gone"} == {"LedgerRecoveryException"}
