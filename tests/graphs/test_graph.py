"""`emulator graph` as a user runs it: tables, questions, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.graphs.backends.in_graphframes import missing_part
from emulator.graphs.schema import GRAPH_TABLES
from tests.asked import ask

SIX = """
protocol = "kafka"
rounds = 100

[cluster]
brokers = 6
racks = 3

[[topics]]
name = "t"
assignment = [[1, 2, 3], [4, 5, 6], [5, 1, 3], [3, 2, 1]]
config = { "min.insync.replicas" = 2 }

[[faults]]
kind = "link_cut"
broker = 1
peer = 2
direction = "out"
from_round = 20
to_round = 80
"""

CUT = """
protocol = "kafka"
rounds = 100

[cluster]
brokers = 4
racks = 2
session_timeout_rounds = 6

[[topics]]
name = "t"
assignment = [[1, 2, 3], [2, 3, 4]]

[[workload]]
topic = "t"
from_round = 0
to_round = 100
records_per_round = 10
record_bytes = 100
acks = "1"

[[faults]]
kind = "isolation"
broker = 1
from_round = 20
to_round = 80
"""
"""Broker 1 is cut off from the others for 60 rounds, not from clients."""


@pytest.fixture(scope="module")
def six(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("six")
    (folder / "six.toml").write_text(SIX, "utf-8")
    assert main(["graph", str(folder / "six.toml"), "--out", str(folder / "graph"), "--failures", "4", "--seed", "7"]) == 0
    return folder / "graph"


@pytest.fixture(scope="module")
def cut(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cut")
    (folder / "cut.toml").write_text(CUT, "utf-8")
    assert main(["run", str(folder / "cut.toml"), "--out", str(folder / "result"), "--trace", "all"]) == 0
    assert main(["graph", str(folder / "result"), "--out", str(folder / "result")]) == 0
    return folder / "result"


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / table).to_pylist()
    return found


def edges_of(folder: Path, kind: str) -> set[tuple[Any, ...]]:
    dropped = ("scenario_id", "kind")
    edges = [row for row in rows_of(folder, "edges") if row["kind"] == kind]
    return {tuple(v for k, v in row.items() if k not in dropped and v is not None) for row in edges}


def test_the_graph_of_six_brokers(six: Path) -> None:
    vertices = rows_of(six, "vertices")
    assert [(v["id"], v["broker"], v["rack"]) for v in vertices if v["kind"] == "broker"][0] == ("0/broker/1", 1, "0")
    assert {v["id"] for v in vertices if v["kind"] == "rack"} == {"0/rack/0", "0/rack/1", "0/rack/2"}
    assert {(v["id"], v["topic"], v["partition"]) for v in vertices if v["kind"] == "partition"} == {
        (f"0/partition/t-{n}", "t", n) for n in range(4)
    }
    ids = {v["id"] for v in vertices}
    assert len(ids) == len(vertices) == 13
    assert all({row["src"], row["dst"]} <= ids for row in rows_of(six, "edges"))
    assert len(edges_of(six, "replicates")) == 12
    assert edges_of(six, "leads") == {(f"0/broker/{b}", f"0/partition/t-{n}", "t", n) for n, b in enumerate((1, 4, 5, 3))}
    assert ("0/broker/6", "0/rack/2") in edges_of(six, "stands_in")
    assert ("0/broker/1", "0/broker/3", 3) in edges_of(six, "shares")
    assert edges_of(six, "link_cut") == {("0/broker/1", "0/broker/2", 20, 80)}


COLUMNS = {
    "vertices": "scenario_id id kind broker rack topic partition",
    "edges": "scenario_id src dst kind topic partition leader_epoch partitions from_round to_round",
    "copysets": "scenario_id loses brokers racks partitions",
    "copyset_chances": "scenario_id loses struck failures copysets probability low high draws",
    "blast_radius": "scenario_id struck broker peer rack leaderless unavailable unwritable under_replicated lost_with_next",
    "islands": "scenario_id from_round to_round island brokers",
    "belief_chains": "scenario_id topic partition from_round to_round chain epochs leader",
    "hot_spots": "scenario_id broker rack replicas leads followers bytes_out bytes_in",
    "communities": "scenario_id community brokers racks partitions",
}


def test_tables_have_their_columns(six: Path) -> None:
    for name, columns in COLUMNS.items():
        assert pq.read_schema(next((six / name).glob("*.parquet"))).names == columns.split()
    assert COLUMNS.keys() == GRAPH_TABLES.keys()


def test_questions_about_six_brokers(six: Path) -> None:
    columns, rows = ask(six, "@which_brokers_must_not_fail_together")
    assert columns == ["scenario_id", "loses", "brokers", "racks", "partitions", "of"]
    assert rows[0] == (0, "data", [1, 2, 3], 3, 2, 3)
    answer = ask(six, "@how_likely_do_failures_lose_data")[1]
    assert (0, "data", "brokers", 3, 3, 15.0, 15.0, 15.0) in answer
    assert max(row[3] for row in answer) == 4
    assert ask(six, "@how_far_does_each_loss_reach")[1][0][1:] == (
        "rack", None, None, "0", 2, 0, 0, 4, 0
    )  # fmt: skip


def test_a_network_that_was_cut_in_two(cut: Path) -> None:
    """The leader of partition 0 is a zombie once the session is over; what it took in between is lost, in one query."""
    answer = ask(cut, "@which_islands_had_which_leaders")[1]
    assert answer == [
        (0, 20, 80, [1], "t", 0, [1], [1], 60),
        (0, 20, 80, [2, 3, 4], "t", 0, [2], [], 60),
        (0, 20, 80, [2, 3, 4], "t", 1, [2], [], 0),
    ]
    assert edges_of(cut, "leads") == {
        ("0/broker/1", "0/partition/t-0", "t", 0, 26),
        ("0/broker/2", "0/partition/t-0", "t", 0, 26),
        ("0/broker/2", "0/partition/t-1", "t", 1),
    }
    assert ("0/broker/1", "0/broker/1", "t", 0, 0, 0, 80) in edges_of(cut, "believes_in")
    assert ("0/broker/3", "0/broker/1", "t", 0, 0, 0, 20) in edges_of(cut, "fetches_from")
    assert ("0/broker/3", "0/broker/2", "t", 0, 1, 27, 100) in edges_of(cut, "fetches_from")
    hot = ask(cut, "@where_are_the_hot_spots")[1]
    assert hot[0][1] == 2
    assert sum(row[8] for row in hot) == pytest.approx(100, abs=0.1)


def test_a_graph_leaves_the_tables_of_the_run_alone(cut: Path) -> None:
    assert next(iter(ask(cut, "SELECT count(*) FROM outcomes")[1])) == (2,)


def graph_in(folder: Path) -> None:
    for name in GRAPH_TABLES:
        (folder / name).mkdir(parents=True)
        (folder / name / "part-00000.parquet").write_text("of the run before", "utf-8")


@pytest.mark.parametrize("engine", ["kafka", "relational"])
def test_a_later_run_removes_the_graph_and_says_so(
    engine: str, tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = 'protocol = "kafka"\nrounds = 2\n[cluster]\nbrokers = 1\n[[topics]]\nname = "t"\nassignment = [[1]]\n'
    (tmp_path / "x.toml").write_text(topic, "utf-8")
    graph_in(tmp_path / "out")
    line = ["run", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out")]
    assert main([*line, "--engine", "relational"] if engine == "relational" else line) == 0
    assert not GRAPH_TABLES.keys() & {path.name for path in (tmp_path / "out").iterdir()}
    assert f"it is removed; write it anew with: emulator graph {tmp_path / 'out'} --out" in capsys.readouterr().err
    assert main(line) == 0
    assert "graph" not in capsys.readouterr().err


def test_an_import_is_a_cluster(tmp_path: Path, spark: SparkSession) -> None:
    describe = tmp_path / "describe.txt"
    line = "\tTopic: t\tPartition: {}\tLeader: {}\tReplicas: {}\tIsr: {}"
    head = "Topic: t\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=2"
    describe.write_text("\n".join([head, line.format(0, 1, "1,2", "1,2"), line.format(1, 3, "2,3", "2,3")]), "utf-8")
    assert main(["import", "kafka", "--describe", str(describe), "--out", str(tmp_path / "cluster")]) == 0
    assert main(["graph", str(tmp_path / "cluster"), "--out", str(tmp_path / "graph")]) == 0
    assert [row["brokers"] for row in rows_of(tmp_path / "graph", "copysets")] == [[1, 2], [2, 3], [1], [2], [3]]
    assert [row["leads"] for row in rows_of(tmp_path / "graph", "hot_spots")] == [1, 0, 1]


def test_a_question_about_a_graph_that_is_not_there(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scenarios").mkdir()
    assert main(["sql", str(tmp_path), "@where_are_the_hot_spots"]) == 2
    assert "no graph is there, which this question is about; write it with: emulator graph" in capsys.readouterr().err


def test_a_backend_that_is_not_there(tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is there: the tables that the driver's library gives."""
    (tmp_path / "x.toml").write_text(SIX, "utf-8")
    line = ["graph", str(tmp_path / "x.toml"), "--backend", "graphframes", "--out", str(tmp_path / "out")]
    if missing_part(spark) is None:
        assert main(line) == 0
        assert [row["brokers"] for row in rows_of(tmp_path / "out", "communities")] == [[1, 3], [2], [4], [5], [6]]
        return
    assert main(line) == 3
    error = capsys.readouterr().err
    assert "--backend graphframes: " in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "no tables of a run are there; allowed: a scenario file, the DIR of emulator import kafka"),
        (
            'protocol = "bookkeeper"\nrounds = 1\n[cluster]\nbrokers = 3\n[[topics]]\nname = "l"\npartitions = 1\n',
            "are of ledgers",
        ),
        ("rounds = 0", "x.toml: rounds: 0 is out of range"),
    ],
)
def test_refusals_write_nothing(
    text: str | None, expected: str, tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / ("empty" if text is None else "x.toml")
    if text is None:
        source.mkdir()
    else:
        source.write_text(text, "utf-8")
    assert main(["graph", str(source), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else(tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.toml").write_text(SIX, "utf-8")
    (tmp_path / "out" / "edges").mkdir(parents=True)
    (tmp_path / "out" / "edges" / "mine.txt").write_text("kept", "utf-8")
    assert main(["graph", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out")]) == 2
    assert "'edges' there is not a table of a run" in capsys.readouterr().err
    assert (tmp_path / "out" / "edges" / "mine.txt").read_text("utf-8") == "kept"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["edges"]


def test_the_graph_command_hands_everything_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    @contextmanager
    def session(*settings: Any) -> Iterator[Any]:
        told.append(settings)
        yield MagicMock()

    monkeypatch.setattr("emulator.cli.sessions.session", session)
    monkeypatch.setattr("emulator.graphs.build.write_graph", lambda *given: told.append(given))
    (tmp_path / "x.toml").write_text(SIX, "utf-8")
    line = ["graph", str(tmp_path / "x.toml"), "--out", "o", "--failures", "3", "--seed", "9", "--conf", "spark.a=b", "--verbose"]
    assert main([*line, "--master", "local[3]"]) == 0
    assert main([*line, "--remote", "sc://here"]) == 0
    assert told[0] == ("local[3]", {"spark.a": "b"}, "emulator graph")
    assert told[2] == (None, {"spark.a": "b", "spark.remote": "sc://here"}, "emulator graph")
    assert (told[1][1], told[1][4:6]) == ("o", (3, 9))


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("dear")
    assert main(["graph", "datasets/examples/tutorial.toml", "--out", str(mine)]) == 2
    assert "mine: holds something else than tables of a run: letter.txt; allowed: " in capsys.readouterr().err
    assert [path.name for path in mine.iterdir()] == ["letter.txt"]
