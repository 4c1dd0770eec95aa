"""`emulator explain` of a ledger and of a topic: what happened in which round, as text and as a page, traced or played again."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator import read
from emulator.cli import main
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.reference.bookkeeper.test_cases import DATA

REAL_RUN = str(DATA / "d6_on_Qa_one_holder_down.toml")
"""A real run in which the holder of the last entry is down."""

TWO_DISKS = """
protocol = "bookkeeper"
rounds = 40
events = ["fence", "acked_lost"]
[cluster]
brokers = 4
[[topics]]
name = "ledger"
partitions = 1
config = { ensembleSize = 3, writeQuorumSize = 2, ackQuorumSize = 2 }
[[topics]]
name = "pulsar"
partitions = 1
config.managedLedger = true
config.managedLedgerMaxEntriesPerLedger = 30
config.managedLedgerMinLedgerRolloverTimeMinutes = 0
config.defaultRetentionTimeInMinutes = -1
config.defaultRetentionSizeInMB = -1
[[workload]]
topic = "*"
records_per_round = 3
max_in_flight = 10
[[faults]]
kind = "broker_pause"
broker = 4
from_round = 3
to_round = 5
[[faults]]
kind = "disk_loss"
broker = 1
from_round = 24
to_round = 26
[[faults]]
kind = "disk_loss"
broker = 3
from_round = 25
to_round = 27
[[faults]]
kind = "client_crash"
topic = "pulsar"
from_round = 30
[[faults]]
kind = "slow_bookie"
broker = 2
lag_rounds = 2
from_round = 34
[[commands]]
kind = "take_over"
topic = "pulsar"
round = 32
[[commands]]
kind = "read_ledger"
topic = "ledger"
round = 35
[[commands]]
kind = "read_topic"
topic = "pulsar"
round = 38
"""
"""Entries of a ledger lose both copies; a topic is taken over; both are read. Not traced, and most events are not written."""


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stories are as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the real run, traced."""
    out = tmp_path_factory.mktemp("explained") / "out"
    run_emulation(load_run(REAL_RUN), str(out), spark, trace="all")
    return out


@pytest.fixture(scope="module")
def untraced(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of TWO_DISKS."""
    folder = tmp_path_factory.mktemp("untraced")
    (folder / "two_disks.toml").write_text(TWO_DISKS)
    run_emulation(load_run(str(folder / "two_disks.toml")), str(folder / "out"), spark)
    return folder / "out"


def told(capsys: pytest.CaptureFixture[str], folder: Path, *more: str, topic: str = "ledger") -> list[str]:
    """The lines of a story."""
    assert main(["explain", str(folder), "--topic", topic, "--partition", "0", *more]) == 0
    return [line.replace("\xa0", " ") for line in capsys.readouterr().out.splitlines()]


def test_the_story_of_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, folder)
    heading = "ledger ledger:0 in scenario base (bookkeeper), E 3, Qw 3, Qa 2; rounds 0-35 of 36, 500 ms each (0 to 18 s)"
    assert lines[0] == heading
    titles = next(line for line in lines if line.startswith("round"))
    assert titles.split() == ["round", "bookie", "1", "bookie", "2", "bookie", "3", "bookie", "4", "writer,", "metadata"]
    text = "\n".join(lines)
    assert "sends 0" in text and "acknowledges 0" in text and ": stored" in text
    assert any(line.startswith("    8") and "fault 1 begins" in line for line in lines)
    assert "is fenced" in text and "IN_RECOVERY" in text
    assert "  entries from 0 on: bookies 1 2 3" in lines
    assert any(line.startswith("  bookie 2: last entry 5, LAC 4, 6 entries, fenced") for line in lines)
    assert any(line.startswith("  recovery 0: ") for line in lines)
    assert "Lost: nothing that was acknowledged" in lines and "Violations: none" in lines


def test_rounds_may_be_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, folder, "--rounds", "8-9")
    assert lines[0].endswith("rounds 8-9 of 36, 500 ms each (4 to 5 s)")
    begins = lines.index(next(line for line in lines if line.startswith("round")))
    drawn = lines[begins + 1 : lines.index("", begins)]
    assert [line[:5].strip() for line in drawn if line[:5].strip()] in (["8"], ["8", "9"])


def test_a_story_played_again_is_that_of_the_trace(
    spark: SparkSession, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_emulation(load_run(REAL_RUN), str(tmp_path / "out"), spark)
    assert told(capsys, tmp_path / "out") == told(capsys, folder)


def test_what_was_lost_and_why(untraced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, untraced)
    (loss,) = (line for line in lines[lines.index("Lost") :] if line.startswith("  round 25 (12.5 s): "))
    assert loss.endswith(": bookie 3 had the last copies; fault 2, disk_loss of 3")
    assert "LOSES ENTRIES" in "\n".join(lines), "an event that the run did not write"
    assert any("2: disk_loss of 3, round 25 to round 26 (12.5 to 13.5 s)" in line for line in lines)


def test_readers(untraced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What bookies 1 and 3 had is gone, bookie 2 answers after two rounds."""
    lines = told(capsys, untraced, "--html", str(tmp_path / "page.html"))
    text = " ".join(" ".join(lines).split())
    assert "reader 0 asks for" in text and "reader 0 waits for bookie 2" in text and "reader 0 has 78 of" in text
    (closing,) = (line for line in lines[lines.index("Readers") :] if line.startswith("  reader 0: from round 35 to round 37, "))
    assert closing.endswith(" missing, the first 2: NoSuchEntryException")
    assert "reader 0 waits for bookie 2" in (tmp_path / "page.html").read_text("utf-8")
    lines = told(capsys, untraced, topic="pulsar")
    assert any(line.startswith("  of ledger 0, reader 0: from round 38 ") for line in lines[lines.index("Readers") :])


def test_the_page_of_a_ledger(untraced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, untraced, "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<svg") > 5 and "ACKED LOST" in page and "bookie 3" in page
    assert "<h2>At the end of round 39</h2>" in page and "<h2>Lost</h2>" in page
    assert "in the writer&#x27;s ensemble" in page and "fetch" not in page


def test_the_story_of_a_topic(untraced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, untraced, "--html", str(tmp_path / "page.html"), topic="pulsar")
    assert lines[0].startswith("topic pulsar:0 in scenario base (bookkeeper), ")
    titles = next(line for line in lines if line.startswith("round"))
    assert titles.split()[:5] == ["round", "ledger", "0", "ledger", "1"] and titles.endswith("owner, list")
    text = " ".join(" ".join(lines).split())
    assert "rolled over by entries" in text and "messages, " in text
    assert "another" in text and "owner 1: wait" in text and "client_crash" in text
    assert "<h2>At the end of round 39</h2>" in (tmp_path / "page.html").read_text("utf-8")
    one = told(capsys, untraced, "--ledger", "1", topic="pulsar")
    assert one[0].startswith("ledger 1 of pulsar:0 in scenario base (bookkeeper), E 3, Qw 2, Qa 2; ")
    assert main(["explain", str(untraced), "--topic", "pulsar", "--partition", "0", "--ledger", "99"]) == 2
    assert "pulsar:0 has no ledger 99" in capsys.readouterr().err


def test_entries_of_a_round(folder: Path) -> None:
    """At the end of the last round they are those of table `entries`, at the end of an earlier one fewer."""
    result = read(str(folder))
    rows = result.entry_rounds.filter("round = 35").order("entry").project("entry, bookies").fetchall()
    assert rows == result.entries.order("entry").project("entry, bookies").fetchall() != []
    assert 0 < len(result.entry_rounds.filter("round = 2").fetchall()) < len(rows)
