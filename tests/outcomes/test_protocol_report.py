"""`emulator compare --report protocols`: docs/protocols_compared.md and its figures, worked out again from its examples.

DuckDB answers; that its answer is Spark's test_queries.py shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.outcomes.protocol_picture import protocol_figure, write_protocol_picture
from emulator.outcomes.protocol_report import protocol_report_sql
from emulator.rounds.compiled import is_compiling
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests.asked import ask, rows_of
from tests.outcomes.leaderless import leaderless_rounds

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "protocols_compared.md"
Row = dict[str, Any]
NOT_SHOWN = ("protocol", "partitions")
pytestmark = pytest.mark.skipif(not is_compiling(), reason="thousands of rounds of eleven scenarios as ordinary Python")


def report_of(spark: SparkSession, example: str, folder: Path) -> dict[str, Row]:
    """The report of an example's run, by scenario."""
    run = load_run(str(ROOT / "datasets" / "examples" / f"{example}.toml"))
    run_emulation(run, str(folder / example), spark, trace="all")
    return {row["scenario"]: row for row in rows_of(folder / example, protocol_report_sql())}


def line_of(row: Row) -> str:
    """A scenario's line of the page's tables: null is a dash."""
    shown = [value for name, value in row.items() if name not in NOT_SHOWN]
    return "| " + " | ".join("-" if value is None or value == "" else str(value) for value in shown) + " |"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run of the example with all protocols is."""
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def compared(spark: SparkSession, folder: Path) -> dict[str, Row]:
    """Its report."""
    return report_of(spark, "protocols_compared", folder)


def test_figures_of_the_page(compared: dict[str, Row]) -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    missing = [line_of(row) for row in compared.values() if line_of(row) not in page]
    assert missing == []


@pytest.mark.usefixtures("compared")
def test_when_there_was_no_leader(folder: Path) -> None:
    rounds, differing = leaderless_rounds(folder / "protocols_compared")
    assert rounds > 100 and not differing


def test_what_the_document_says(compared: dict[str, Row]) -> None:
    """Three copies against two for one failure, five against three for two; the fastest follower against the slowest."""
    raft, five = compared["base"], compared["raft of five"]
    two, three = compared["pacifica of two"], compared["pacifica of three"]
    assert (raft["copies_for_1"], two["copies_for_1"], compared["kafka of two"]["copies_for_1"]) == (3, 2, 2)
    assert (five["copies_for_2"], three["copies_for_2"]) == (5, 3)
    assert raft["acks_awaited"] == two["acks_awaited"] == compared["kafka of two"]["acks_awaited"] == 1
    assert five["written_per_record"] == pytest.approx(5000, rel=0.01)
    assert five["throughput_share"] == pytest.approx(1 / 5, rel=0.01)
    assert three["written_per_record"] == pytest.approx(3000, rel=0.01)
    assert (raft["latency_p50"], three["latency_p50"]) == (1, 3)
    assert compared["kafka of three"]["latency_p50"] == 4  # a fetch more than the slowest follower's trip
    assert compared["primary-backup-async of two"]["acked_lost"] > 0
    assert {name for name, row in compared.items() if row["acked_lost"]} == {"primary-backup-async of two"}


def test_every_acknowledged_record_waited_once(folder: Path, compared: dict[str, Row]) -> None:
    """Of groups; of a partition some more, which a leader had that was elected later."""
    sums = "SELECT name, sum(records) FROM commit_latencies JOIN scenarios USING (scenario_id) GROUP BY name"
    waited = dict(ask(folder / "protocols_compared", sums)[1])
    for name, row in compared.items():
        if row["protocol"] == "kafka":
            assert waited[name] >= 0.9 * row["acked"]
        else:
            assert waited[name] == row["acked"]


def test_a_shrunk_isr(spark: SparkSession, tmp_path: Path) -> None:
    """f + 1 copies tolerate f failures as long as the ISR has f + 1 members; one failure loses what one replica had alone."""
    report = report_of(spark, "shrunk_isr", tmp_path)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line_of(row) for row in report.values() if line_of(row) not in page] == []
    assert report["base"]["copies_for_2"] == 3
    assert report["base"]["acked_lost"] > 0
    assert report["pacifica"]["acked_lost"] > 0
    assert report["raft"]["acked_lost"] == 0


def test_who_needs_stable_storage(spark: SparkSession, tmp_path: Path) -> None:
    """A majority loses what it committed with a server that comes back without it; not if it flushes, or re-syncs first."""
    report = report_of(spark, "stable_storage", tmp_path)
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line_of(row) for row in report.values() if line_of(row) not in page] == []
    loses = {name: row["acked_lost"] > 0 for name, row in report.items()}
    assert {name for name, lost in loses.items() if lost} == {"raft, no flush", "raft, a flush every 10 s"}
    every_write, fsynced = report["raft, every write"]["acked"], report["raft, an fsync of 10 ms a record"]["acked"]
    assert every_write == pytest.approx(100 * fsynced, rel=0.01)
    assert report["raft, an fsync of 10 ms for 1000"]["acked"] == every_write


def test_a_picture(compared: dict[str, Row], tmp_path: Path) -> None:
    """Bars for each scenario: two a scenario, of losses one."""
    pytest.importorskip("matplotlib")
    rows = list(compared.values())
    figure = protocol_figure(rows)
    assert [len(axes.patches) for axes in figure.axes] == [2 * len(rows)] * 3 + [len(rows)]
    write_protocol_picture(rows, str(tmp_path / "p.svg"))
    drawn = (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert all(name in drawn for name in compared)


def test_columns_to_group_by_are_known() -> None:
    assert "topic" in protocol_report_sql(["topic"])
    with pytest.raises(InputError):
        protocol_report_sql(["nothing"])
