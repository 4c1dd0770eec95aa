"""`emulator report`: the page needs nothing else, its figures are those of the tables, and it reads in light and in dark."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pyspark.sql import SparkSession

import emulator
from datasets.placement_trials import placement_trials_toml
from emulator.cli import main
from emulator.outcomes.ask import Asker
from emulator.outcomes.placement_report import COLUMNS, placement_report
from emulator.report.chart import PLACEHOLDERS
from emulator.report.charts import levels
from emulator.report.style import DARK, LIGHT
from emulator.run import run_emulation
from emulator.scenario import load_run
from tests import output_tables
from tests.reference.bookkeeper.test_cases import DATA as LEDGERS

from .pages import Page
from .runs import LARGE, SMALL, SMALL_BROKERS

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars"),
]
SECTIONS = {"asked", "lost", "time", "brokers", "worst", "limits"}


@pytest.fixture(scope="module")
def small(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    (folder / "brokers.csv").write_text(SMALL_BROKERS)
    return played(SMALL, spark, folder / "small")


@pytest.fixture(scope="module")
def large(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return played(LARGE, spark, tmp_path_factory.mktemp("report") / "large")


def played(scenario: str, spark: SparkSession, folder: Path) -> Path:
    file = folder.with_suffix(".toml")
    file.write_text(scenario)
    run_emulation(load_run(str(file)), str(folder), spark)
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Page]:
    """The page of a run, made once; DuckDB alone answers."""

    @cache
    def run(folder: Path, *arguments: str) -> Page:
        page = tmp_path_factory.mktemp("page") / "report.html"
        assert main(["report", str(folder), "--html", str(page), "--engine", "duckdb", "--verbose", *arguments]) == 0
        return Page(page.read_text("utf-8"))

    return run


def test_figures_are_those_of_the_tables(small: Path, report: Callable[..., Page]) -> None:
    page = report(small, "--scenario", "base")
    assert page.ids >= {*SECTIONS, "scenarios", "tiering", "placement", "stories"}
    asked = emulator.read(small).duckdb.sql
    topics = asked(
        "SELECT topic, count(*), sum(acked), sum(acked_lost), sum(unacknowledged_lost), count(*) FILTER (acked_lost > 0),"
        " sum(refused), sum(given_up),"
        " sum(leaderless_rounds) / 2, sum(unwritable_rounds) / 2, sum(under_min_isr_rounds) / 2, sum(under_replicated_rounds) / 2"
        " FROM outcomes WHERE scenario_id = 0 GROUP BY topic"
    ).fetchall()
    assert sorted(tuple(row.values()) for row in page.rows("by-topic")) == sorted(topics)
    assert sum(row["lost"] for row in page.rows("by-topic")) > 0

    lost = dict(
        asked(
            "SELECT cause, sum(to_offset - from_offset) FROM events WHERE scenario_id = 0 AND kind = 'acked_lost' GROUP BY 1"
        ).fetchall()
    )
    told = {row["fault"]: row["lost at elections"] for row in page.rows("by-fault") if row["lost at elections"]}
    assert told == lost
    assert {row["struck"]: row["lost at elections"] for row in page.rows("by-broker")} == {
        f"broker {fault[1]}": lost.get(fault[0], 0)
        for fault in asked("SELECT fault_id, broker FROM faults WHERE scenario_id = 0").fetchall()
    }

    worst, *_ = asked(
        "SELECT topic, partition, acked_lost FROM outcomes WHERE scenario_id = 0"
        " ORDER BY acked_lost DESC, leaderless_rounds DESC, unwritable_rounds DESC, under_min_isr_rounds DESC, refused DESC,"
        " topic, partition"
    ).fetchall()
    rows = page.rows("worst-table")
    assert (rows[0]["partition"], rows[0]["lost"]) == (f"{worst[0]}:{worst[1]}", worst[2])
    assert sum(row["lost"] * row["alike"] for row in rows) == sum(row["lost"] for row in page.rows("by-topic"))
    sums = "sum(bytes_in), sum(bytes_out), sum(bytes_produced)"
    traffic = asked(f"SELECT broker, {sums} FROM broker_rounds WHERE scenario_id = 0 GROUP BY 1").fetchall()
    brokers = page.rows("broker-table")
    shown = [(int(row["broker"]), row["fetched"], row["served"], row["from producers"]) for row in brokers]
    assert sorted(shown) == sorted(traffic)
    sides = asked("SELECT s.name, sum(acked_lost) FROM outcomes JOIN scenarios s USING (scenario_id) GROUP BY ALL").fetchall()
    assert {(row["scenario"], row["lost"]) for row in page.rows("scenario-table")} == set(sides)


def test_the_worst_have_their_stories(small: Path, report: Callable[..., Page]) -> None:
    page = report(small, "--stories", "3")
    stories = {name for name in page.ids if name.startswith("story-")}
    assert len(stories) == 3
    assert stories <= page.links
    words = " ".join(page.words)
    assert "Not traced" not in words  # they are played again, round by round
    assert "appends" in words
    assert not {name for name in report(small, "--stories", "0").ids if "stor" in name}


def test_a_variant_and_its_names(small: Path, report: Callable[..., Page]) -> None:
    page = report(small, "--scenario", "unclean", "--stories", "1")
    words = "".join(page.words)
    assert "a small <cluster>: unclean" in words
    assert "unclean.leader.election.enable = true" in words
    assert "a 'plug' \"pulled\"" in words
    assert "rack b & c" in words


def test_its_chart_over_time_is_a_file_of_its_own(small: Path, report: Callable[..., Page], tmp_path: Path) -> None:
    picture = tmp_path / "over_time.svg"
    report(small, "--stories", "0", "--picture", str(picture))
    drawn = picture.read_text("utf-8")
    assert drawn.startswith("<?xml")
    assert all(text in drawn for text in ("Partitions without a leader", "Faults in force", LIGHT["gone"]))
    assert not [colour for colour in PLACEHOLDERS.values() if colour in drawn]


def test_spark_gives_the_same_page(
    small: Path, report: Callable[..., Page], spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulator.session.get_session", lambda *_: spark)
    """But for the stories, which are no tables: those by Spark are DuckDB's, too (outcomes/test_duckdb.py)."""
    page, without = tmp_path / "by_spark.html", ["--stories", "0"]
    assert main(["report", str(small), "--html", str(page), "--engine", "spark", *without]) == 0
    assert Page(page.read_text("utf-8")).tables == report(small, *without).tables


def test_hundreds_of_brokers(large: Path, report: Callable[..., Page]) -> None:
    page = report(large, "--stories", "1")
    assert len(page.rows("broker-table")) == 20
    assert "The first 20 of 300" in " ".join(page.words)
    assert "saturation-figure_1" in page.ids


def test_failure_domains_are_drawn(small: Path, large: Path, report: Callable[..., Page]) -> None:
    """With the worst sets of brokers, in the picture's legend and where they are pointed at."""
    for folder, stories, told in (
        (small, "0", "6 brokers, 2 racks, 42 partitions"),
        (large, "1", "300 brokers, 3 racks, 600 partitions"),
    ):
        words = report(folder, "--stories", stories).words
        assert told in words
        worst = [word for word in words if re.fullmatch(r"\d+, \d+(, \d+)?: lose \d+ partitions?", word)]
        assert len(worst) == 2 * len(set(worst)) == 6


def test_trials_of_placements_stand_beside_their_chances(
    spark: SparkSession, tmp_path: Path, report: Callable[..., Page], small: Path
) -> None:
    folder = played(placement_trials_toml(40, 9, 3, [3, 4], 6, ("random", "copyset:4")), spark, tmp_path / "trials")
    _, rows = placement_report(Asker(str(folder), "duckdb", lambda: spark))
    wanted = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    told = report(folder, "--stories", "0").rows("trials-table")
    assert [(row["brokers that fail"], row["trials"], row["that lost records"]) for row in told] == [
        (row["failures"], row["trials"], row["lost_trials"]) for row in wanted
    ]
    assert [row["chance, from the replica sets"] for row in told] == [row["loss_probability"] for row in wanted]
    assert any(row["that lost records"] for row in told)
    assert {row["agrees"] for row in told} == {"yes"}
    assert "trials-table" not in report(small, "--stories", "0").ids


def test_ledgers(spark: SparkSession, tmp_path: Path, report: Callable[..., Page]) -> None:
    run_emulation(load_run(str(LEDGERS / "b1_kill_before_Qa.toml")), str(tmp_path / "ledgers"), spark)
    page = report(tmp_path / "ledgers")
    assert page.ids >= {*SECTIONS, "quorums", "story-ledger-0"}
    words = "".join(page.words)
    assert "ledger ledger:0 in scenario base (bookkeeper), E 3, Qw 3, Qa 2" in words
    assert "replaced from" in words or "leaves the ensemble" in words  # drawn, round by round
    assert "longest unwritable" in words
    assert "Ensemble changes" in words
    assert not [word for word in ("Partitions without a leader", "ISR smaller", "min.insync") if word in words]
    assert page.rows("topics")[0]["ensemble / write quorum / ack quorum"] == "3/3/2"
    added = {int(row["bookie"]): row["taken from clients"] for row in page.rows("broker-table")}
    assert not {"without a leader", "under min ISR", "cut from logs"} & page.rows("worst-table")[0].keys()
    assert sorted(added) == [1, 2, 3, 4, 5, 6, 7]
    assert added[1] > added[2] > 0 == added[7]


LEDGERS_OUT_OF_REACH = """
protocol = "bookkeeper"
rounds = 60
[cluster]
brokers = 4
[[topics]]
name = "log"
assignment = [[1, 2], [2, 3], [3, 4]]
config = { ensembleSize = 2, writeQuorumSize = 2, ackQuorumSize = 2 }
[[workload]]
topic = "log"
to_round = 10
records_per_round = 1
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 20
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 20
"""


def test_ledgers_out_of_reach(spark: SparkSession, tmp_path: Path, report: Callable[..., Page]) -> None:
    """Nothing is lost and everything was written, but of one ledger both bookies are away, and of another one of two."""
    page = report(played(LEDGERS_OUT_OF_REACH, spark, tmp_path / "ledgers"))
    (topic,) = page.rows("by-topic")
    assert (topic["lost"], topic["unreadable at the end"], topic["under-replicated at the end"]) == (0, 10, 10)
    assert [(row["partition"], row["unreadable at the end"]) for row in page.rows("worst-table")] == [("log:0", 10), ("log:1", 0)]
    assert "Faults in force" in page.words
    assert {"story-log-0", "story-log-1"} <= page.ids
    words = "".join(page.words)
    assert "ledger log:0 in scenario base" in words  # the worst is drawn
    assert "ledger log:1, scenario base" in words  # the others are told in lines


def test_a_run_of_other_tables(tmp_path: Path, report: Callable[..., Page]) -> None:
    """Of no scenario that can be read again, and with events of one kind only."""
    rows = json.loads((Path(__file__).parents[1] / "outcomes" / "data" / "small_run.json").read_text("utf-8"))
    rows["scenarios"] = [{**row, "event_kinds": ["election"]} for row in rows["scenarios"]]
    output_tables.write_tables(rows, tmp_path / "run")
    words = " ".join(report(tmp_path / "run", "--stories", "0").words)
    assert "did not write events of these kinds, which this lacks: unclean_election, leader_lost, isr_shrink, isr_expand" in words
    assert "the scenario's notes are not known any more" in words


def test_levels_of_a_count() -> None:
    changes = [{"round": -3, "change": 1}, {"round": 0, "change": 2}, {"round": 5, "change": -3}, {"round": 12, "change": 4}]
    at, counts = levels(changes, 10)
    assert at.tolist() == [0, 5, 10]
    assert counts.tolist() == [3, 0, 4]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--html", "."], "--html: . is no file to write"),
        (["--html", "no/folder/report.html"], "--html: no/folder is not a folder"),
        (
            ["--html", "r.html", "--scenario", "uncleann"],
            '--scenario: no scenario is called "uncleann" (did you mean "unclean"?)',
        ),
        (["--html", "r.svg", "--picture", "./r.svg"], "--picture: ./r.svg is the page's file; allowed: another one"),
        (["--html", "r.html", "--stories", "51"], "Invalid value for '--stories'"),
        (["--html", "r.html", "--prices", "none.toml"], "none.toml"),
        (["--html", "r.html", "--engine", "duckdb", "--master", "local[1]"], "--engine: duckdb stands beside Spark's --master"),
        (["--html", "r.html", "--engine", "duckdb", "--conf", "spark.a=1"], "--engine: duckdb stands beside Spark's --master"),
        (["--html", "r.html", "--engine", "duckdb", "--remote", "local"], "--engine: duckdb stands beside Spark's --master"),
        ([], "Missing option '--html'"),
    ],
)
def test_wrong_input(
    small: Path,
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(small), *arguments]) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(BROWSER is None, reason="no browser here: chromium takes the pictures")
@pytest.mark.parametrize("brokers", ["small", "large"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_browser_shows_it(theme: str, brokers: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    assert main(["report", str(request.getfixturevalue(brokers)), "--html", str(page), "--stories", "1"]) == 0
    look = [f"--user-data-dir={tmp_path / 'profile'}", f"--blink-settings=preferredColorScheme={int(theme == 'light')}"]
    shot = [f"--screenshot={picture}", "--window-size=1280,3000", page.as_uri()]
    subprocess.run([str(BROWSER), *QUIET, *look, *shot], check=True, capture_output=True, timeout=120)
    pixels = np.asarray(Image.open(picture).convert("RGB"))
    assert pixels.shape == (3000, 1280, 3)
    colours = LIGHT if theme == "light" else DARK
    assert tuple(pixels[1500, 2]) == _rgb(colours["paper"])
    drawn = {tuple(pixel) for pixel in pixels[::2, ::2].reshape(-1, 3).tolist()}
    assert _rgb(colours["ink"]) in drawn
    assert _rgb(colours["short"]) in drawn
    assert len(drawn) > 100


def _rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
