"""`emulator explain` of a ledger: what happened to it, in order, and what its clients were told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.reference.bookkeeper.test_cases import DATA


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of a real run in which the holder of the last entry is down."""
    out = tmp_path_factory.mktemp("explained") / "out"
    run_emulation(load_run(str(DATA / "d6_on_Qa_one_holder_down.toml")), str(out), spark, trace="all")
    return out


def test_the_story_of_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder), "--topic", "ledger", "--partition", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ledger ledger:0, scenario base (bookkeeper), rounds 0 to 35 (0 to 18 s)"
    assert "  entries from 0 on: bookies [1, 2, 3]" in lines
    rounds = [line for line in lines if line.startswith("round ")]
    assert rounds == sorted(rounds, key=lambda line: int(line.split()[1].rstrip(":")))
    assert "round 8 (4 s): fault 1, broker_crash on bookie 1, begins" in rounds
    assert "round 10 (5 s): a recovery marked the ledger IN_RECOVERY" in rounds
    assert "round 10 (5 s): bookie 2 was fenced" in rounds
    assert any(line.startswith("recovery 0: ") for line in lines)
    assert any(line.startswith("  2: last entry 5, LAC 4, fenced") for line in lines)


def test_rounds_may_be_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder), "--topic", "ledger", "--partition", "0", "--rounds", "8-9"]) == 0
    rounds = [line for line in capsys.readouterr().out.splitlines() if line.startswith("round ")]
    assert rounds == ["round 8 (4 s): fault 1, broker_crash on bookie 1, begins"]


def test_a_ledger_has_no_page(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "page.html")
    assert main(["explain", str(folder), "--topic", "ledger", "--partition", "0", "--html", page]) == 2
    assert "the story of a ledger has no page" in capsys.readouterr().err
