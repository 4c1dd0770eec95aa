"""The options of `compare`, `sql` and `explain`, on the tables of tiered_run.py: each does what its help says."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.errors import EnvironmentProblem
from emulator.outcomes.tiering_report import COST_ITEMS
from tests.outcomes.tiered_run import PRICES, tables
from tests.output_tables import write_tables

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asking")
    write_tables(tables(), folder / "run")
    (folder / "prices.toml").write_text(PRICES, "utf-8")
    return folder / "run"


def said(capture: Capture, *arguments: object) -> str:
    """What a command prints."""
    assert main([str(argument) for argument in arguments]) == 0
    return capture.readouterr().out


def rows_of(printed: str) -> list[dict[str, Any]]:
    """JSON's rows, a line each or a list."""
    if printed.startswith("["):
        return list(json.loads(printed))
    return [json.loads(line) for line in printed.splitlines()]


def test_compare_in_every_format(run_folder: Path, capsys: Capture) -> None:
    found = rows_of(said(capsys, "compare", run_folder, "--format", "json"))
    assert [(row["scenario"], row["partitions"]) for row in found] == [("base", 3), ("tiered", 3), ("short", 3)]
    by_csv = list(csv.DictReader(io.StringIO(said(capsys, "compare", run_folder, "--format", "csv"))))
    assert [row["scenario"] for row in by_csv] == ["base", "tiered", "short"]
    table = said(capsys, "compare", run_folder, "--format", "table")
    assert all(name in table for name in ("base", "tiered", "short"))


def test_compare_by_topic(run_folder: Path, capsys: Capture) -> None:
    found = rows_of(said(capsys, "compare", run_folder, "--by", "topic", "--format", "json"))
    assert sorted((row["topic"], row["partitions"]) for row in found if row["scenario"] == "base") == [("t", 2), ("u", 1)]


def test_compare_of_two_runs(run_folder: Path, capsys: Capture, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    shutil.copytree(run_folder, copied)
    found = rows_of(said(capsys, "compare", run_folder, copied, "--format", "json"))
    assert [row["scenario"] for row in found] == [
        f"{folder.name}: {name}" for folder in (run_folder, copied) for name in ("base", "tiered", "short")
    ]
    assert [row["lost"] for row in found[:3]] == [row["lost"] for row in found[3:]]


def test_compare_in_money(run_folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """The tiering report with prices of one's own, and its picture."""
    picture, prices = tmp_path / "bill.svg", run_folder.parent / "prices.toml"
    report = ("compare", run_folder, "--report", "tiering", "--format", "json", "--prices", prices, "--picture", picture)
    own = rows_of(said(capsys, *report))
    assert {row["currency"] for row in own} == {"EUR"}
    published = rows_of(said(capsys, "compare", run_folder, "--report", "tiering", "--format", "json"))
    cost = next(iter(COST_ITEMS.values()))
    assert {row["currency"] for row in published} == {"USD"}
    assert own[0][cost] != published[0][cost]
    assert "EUR" in picture.read_text("utf-8")


def test_compare_draws_losses(run_folder: Path, capsys: Capture, tmp_path: Path) -> None:
    """The same rows with and without the picture, which names every scenario."""
    pytest.importorskip("matplotlib")
    drawn = said(capsys, "compare", run_folder, "--format", "csv", "--picture", tmp_path / "losses.svg")
    assert drawn == said(capsys, "compare", run_folder, "--format", "csv")
    picture = (tmp_path / "losses.svg").read_text("utf-8")
    assert all(text in picture for text in ("base", "tiered", "short", "Acknowledged records lost", "without a leader"))


@pytest.mark.parametrize("command", [("compare",), ("sql", "SELECT name FROM scenarios")])
def test_asked_of_spark(run_folder: Path, capsys: Capture, spark: SparkSession, command: tuple[str, ...]) -> None:
    """With --master and --conf it is Spark that answers, as DuckDB does; with --verbose too."""
    name, *query = command
    given = (name, run_folder, *query, "--format", "csv")
    of_spark = said(capsys, *given, "--engine", "spark", "--master", "local[2]", "--conf", "spark.ui.enabled=false", "--verbose")
    assert of_spark == said(capsys, *given)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT 0.5 * rounds AS s FROM scenarios", "a decimal number, 0.5 (write 0.5D for a double)"),
        ("SELECT name FROM scenarios", None),
        ("SELECT 0.5D * rounds AS s FROM scenarios", None),
    ],
)
def test_sql_says_why_it_asks_spark(
    run_folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, query: str, why: str | None
) -> None:
    def no_session(*_: object) -> Any:
        raise EnvironmentProblem("no Spark here")

    monkeypatch.setattr("emulator.cli.sessions.session", no_session)
    assert main(["sql", str(run_folder), query]) == (0 if why is None else 3)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    start = "note: Spark is asked, which takes longer than DuckDB: "
    assert told == ([] if why is None else [start + why])


def test_sql_prices_views_by_a_file(run_folder: Path, capsys: Capture) -> None:
    """--prices are what the views of costs reckon with; --format is as for compare."""
    given = ("sql", run_folder, "SELECT DISTINCT currency FROM tiering_cost_items", "--format", "json")
    assert rows_of(said(capsys, *given, "--prices", run_folder.parent / "prices.toml")) == [{"currency": "EUR"}]
    assert rows_of(said(capsys, *given)) == [{"currency": "USD"}]


def test_consumer_reads_without_consumers(run_folder: Path, capsys: Capture) -> None:
    assert said(capsys, "sql", run_folder, "SELECT count(*) AS n FROM consumer_reads", "--format", "csv").split() == ["n", "0"]
