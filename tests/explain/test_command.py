"""The command, on tables written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.explain.story import tell
from emulator.explain.text import text_lines
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.output_tables import write_tables

from .stories import ZOMBIE, fault

TOPIC = "a.topic-of_ours"


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two scenarios, whose tables hold more partitions than the one of the story, and more faults."""
    folder = tmp_path_factory.mktemp("explain") / "run"
    names = {
        "outcomes": [ZOMBIE.outcome],
        "replicas": ZOMBIE.ends,
        "leader_epochs": ZOMBIE.leader_epochs,
        "events": ZOMBIE.events,
        "trace": [{**row, "in_isr": True, "epochs": [{"epoch": row["log_epoch"], "start_offset": 0}]} for row in ZOMBIE.trace],
        "trace_partitions": ZOMBIE.controllers,
        "partitions": [{"scenario_id": 0, "replicas": [1, 2, 3]}],
        "violations": [{k: v for k, v in row.items() if k in OUTPUT_TABLES["violations"].names} for row in ZOMBIE.violations],
    }
    untold = ("log_epoch",)
    tables = {
        name: [
            {**{k: v for k, v in row.items() if k not in untold}, "scenario_id": scenario, "topic": TOPIC, "partition": number}
            for row in rows
            for scenario in (0, 1)
            for number in (0, 1)
            if number == 0 or "trace" not in name
        ]
        for name, rows in names.items()
    }
    scenario = {"protocol": "kafka", "rounds": 18, "round_ms": 500, "mode": "plain", "overrides": {}}
    brokers = [(broker, rack) for broker, rack in ((1, "a"), (2, "b"), (3, None), (4, "it's \\"))]
    faults = [
        *ZOMBIE.faults,
        fault(1, "broker_crash", 0, 5, broker=4),
        fault(2, "link_cut", 0, 5, broker=1, peer=4),
        fault(3, "stale_metadata", 0, 5, topic="another"),
        fault(4, "rack_loss", 0, 5, rack="it's \\"),
    ]
    several: dict[str, list[dict[str, Any]]] = {
        "scenarios": [{**scenario, "scenario_id": 0, "name": "base"}, {**scenario, "scenario_id": 1, "name": "other"}],
        "brokers": [{"scenario_id": s, "broker": broker, "rack": rack} for s in (0, 1) for broker, rack in brokers],
        "faults": [{**row, "scenario_id": s} for s in (0, 1) for row in faults],
    }
    write_tables({**tables, **several}, folder)
    return folder


@pytest.fixture
def explain(spark: SparkSession, run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs the command in the session of the tests."""
    monkeypatch.setattr("emulator.session.get_session", lambda *_: spark)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: str) -> int:
        return main(["explain", str(run_folder), *arguments])

    return run


def expected(first: int, last: int) -> list[str]:
    """The story of the rows that the tables were written from."""
    known = OUTPUT_TABLES["violations"].names
    violations = [{k: v for k, v in row.items() if k in known} for row in ZOMBIE.violations]
    lines = list(text_lines(tell(replace(ZOMBIE, violations=violations), first, last)))
    return [line.replace("orders:0", f"{TOPIC}:0") for line in lines]


def test_a_story_and_its_page(explain: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--topic", TOPIC, "--partition", "0", "--html", str(tmp_path / "story.html")) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == expected(0, 17)
    assert printed.err == f"page written to {tmp_path / 'story.html'}\n"
    assert f"What happened to {TOPIC}:0" in (tmp_path / "story.html").read_text("utf-8")


def test_explain_asks_spark_where_it_is_told_to(
    spark: SparkSession, run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --engine spark, and --master and --conf of its own; --verbose shows no more where all is well."""
    asked: list[Any] = []
    monkeypatch.setattr("emulator.session.get_session", lambda *given: asked.append(given) or spark)
    monkeypatch.setenv("COLUMNS", "120")
    of_spark = ("--engine", "spark", "--master", "local[3]", "--conf", "spark.ui.enabled=false", "--verbose")
    assert main(["explain", str(run_folder), "--topic", TOPIC, "--partition", "0", *of_spark]) == 0
    assert capsys.readouterr().out.splitlines() == expected(0, 17)
    assert asked[0][:2] == ("local[3]", {"spark.ui.enabled": "false"})


def test_some_rounds_of_a_variant(explain: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--topic", TOPIC, "--partition", "0", "--rounds", "5-11", "--scenario", "other") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [line.replace("scenario base", "scenario other") for line in expected(5, 11)]
    assert printed.err == ""


def test_a_partition_without_a_trace(explain: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--topic", TOPIC, "--partition", "1", "--scenario", "1") == 0
    printed = capsys.readouterr()
    assert "rounds 0-3 (0 to 2 s): no events" in printed.out
    assert printed.err == f"not traced: emulator run SCENARIO.toml --trace {TOPIC}:1 gives every round\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--topic a.topic-of_our --partition 0", f'(did you mean "{TOPIC}"?); allowed: {TOPIC}'),
        (f"--topic {TOPIC} --partition 2", f"--partition: 2 is not a partition of {TOPIC}; allowed: 0 to 1"),
        (f"--topic {TOPIC} --partition 0 --scenario 2", 'no scenario is called "2"; allowed: base (0), other (1)'),
        (f"--topic {TOPIC} --partition 0 --rounds 3-18", "round 18 was not emulated in scenario base; allowed: 0 to 17"),
    ],
)
def test_what_the_run_does_not_have(
    arguments: str, says: str, explain: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(*arguments.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: --")
    assert printed.err.endswith(f"{says}\n")


def test_a_folder_without_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("emulator.session.get_session", lambda *_: spark)
    assert main(["explain", str(tmp_path), "--topic", "t", "--partition", "0"]) == 2
    assert "no tables of a run are there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("nowhere --topic t --partition 0", "nowhere: is not a folder; allowed: the DIR of emulator run"),
        (". --partition 0", "Missing option '--topic'"),
        (". --topic t", "Missing option '--partition'"),
        (". --topic t --partition x", "'x' is not a valid integer"),
        (". --topic t --partition 0 --rounds 5-2", '--rounds: "5-2" ends before it begins'),
        (". --topic t --partition 0 --html nowhere/x.html", "--html: nowhere is not a folder"),
    ],
)
def test_wrong_command_lines_start_no_spark(
    arguments: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("emulator.session.get_session", lambda *_: pytest.fail("Spark is started"))
    monkeypatch.chdir(tmp_path)
    assert main(["explain", *arguments.split()]) == 2
    assert says in capsys.readouterr().err
