"""Output tables are complete or absent, wherever a run is cut off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from emulator.arrow.files import ArrowFiles
from emulator.errors import InputError
from emulator.outcomes.views import register
from emulator.storage.hadoop_files import HadoopFiles
from emulator.storage.output_directory import COMMIT_FILE, OWNER_FILE, OutputDirectory
from emulator.storage.processes import started
from emulator.table_columns.spark_columns import OUTPUT_TABLES

BEFORE = {"runs": "before", "events": "before", "trace": "before"}
AFTER = {"runs": "after", "events": "after", "outcomes": "after"}
DERIVED = ("vertices", "edges")
CHANGES = ("rename", "delete", "make_folders", "write_text")


@pytest.fixture(params=["hadoop", "arrow"], autouse=True)
def files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of this by Hadoop's Java API, and by pyarrow as on this machine and over Spark Connect."""
    made = (lambda _, uri: ArrowFiles(uri)) if request.param == "arrow" else HadoopFiles
    monkeypatch.setattr("emulator.storage.output_directory.files_of", made)


def put(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / f"part-{text}.parquet").write_text(text)
    (folder / "_SUCCESS").write_text("")


def stage_after(directory: OutputDirectory) -> None:
    directory.stage()
    for name, text in AFTER.items():
        put(Path(directory.path(name).removeprefix("file:")), text)


def content(folder: Path) -> dict[str, str]:
    """The tables in a folder by what their one part holds; fails on a table that mixes two runs."""
    tables = {}
    for name in (*OUTPUT_TABLES, *DERIVED):
        if (folder / name).exists():
            (part,) = (folder / name).glob("part-*")
            assert (folder / name / "_SUCCESS").exists()
            tables[name] = part.read_text()
    return tables


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An output folder with a run's tables, and files of the user's own."""
    folder = tmp_path / "out dir"
    for name, text in BEFORE.items():
        put(folder / name, text)
    put(folder / "my_table", "mine")
    (folder / "notes.txt").write_text("mine")
    return folder


def assert_users_files_untouched(out: Path) -> None:
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "my_table" / "part-mine.parquet").read_text() == "mine"


def test_commit_replaces_all_tables_and_nothing_else(spark: SparkSession, out: Path) -> None:
    directory = OutputDirectory(spark, str(out))
    stage_after(directory)
    assert content(out) == BEFORE
    directory.commit()
    assert content(out) == AFTER
    assert directory.tables() == ["runs", "outcomes", "events"]
    assert {path.name for path in out.iterdir()} == {*AFTER, "my_table", "notes.txt"}
    assert_users_files_untouched(out)


def test_a_table_of_the_same_size_is_replaced_too(spark: SparkSession, tmp_path: Path) -> None:
    """What the driver writes has as many bytes where only a number differs: two runs in a folder."""
    for broker in (1, 2):
        directory = OutputDirectory(spark, str(tmp_path / "out"))
        directory.stage()
        directory.write_rows("brokers", [(0, broker, "a")])
        directory.commit()
        assert pq.read_table(tmp_path / "out" / "brokers").to_pylist() == [{"scenario_id": 0, "broker": broker, "rack": "a"}]


def test_commit_removes_what_was_derived_from_the_tables_before(spark: SparkSession, out: Path) -> None:
    for name in DERIVED:
        put(out / name, "before")
    directory = OutputDirectory(spark, str(out), derived=DERIVED)
    stage_after(directory)
    assert directory.derived_tables() == [*DERIVED]
    directory.commit()
    assert content(out) == AFTER
    assert {path.name for path in out.iterdir()} == {*AFTER, "my_table", "notes.txt"}
    assert_users_files_untouched(out)


@pytest.mark.parametrize("lacks", ["a folder", "only table files"])
def test_what_is_not_all_of_the_derived_tables_is_the_users(lacks: str, spark: SparkSession, out: Path) -> None:
    put(out / "edges", "before")
    if lacks == "only table files":
        put(out / "vertices", "before")
        (out / "vertices" / "mine.txt").write_text("mine")
    directory = OutputDirectory(spark, str(out), derived=DERIVED)
    stage_after(directory)
    assert directory.derived_tables() == []
    directory.commit()
    assert content(out) == AFTER | dict.fromkeys(DERIVED if lacks == "only table files" else ["edges"], "before")


def interrupt(monkeypatch: pytest.MonkeyPatch, after: int) -> Callable[[], int]:
    """Makes every change of files fail once `after` of them are done; returns how many there were."""
    done = 0

    def limited(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal done
            if done >= after:
                raise OSError("cut off")
            done += 1
            return method(*arguments)

        return call

    for name in CHANGES:
        for kind in (HadoopFiles, ArrowFiles):
            monkeypatch.setattr(kind, name, limited(getattr(kind, name)))
    return lambda: done


GRAPH = dict.fromkeys(DERIVED, "before")


@pytest.mark.parametrize(
    "before", [BEFORE, {}, BEFORE | GRAPH], ids=["over a run", "into an empty folder", "over a run and its graph"]
)
def test_an_interruption_anywhere_leaves_the_tables_before_or_the_new_ones(
    before: dict[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    outcomes = []
    for steps in range(100):
        out = tmp_path / str(steps)
        for name, text in before.items():
            put(out / name, text)
        directory = OutputDirectory(spark, str(out), derived=DERIVED)
        stage_after(directory)
        with pytest.MonkeyPatch.context() as patch:
            done = interrupt(patch, steps)
            try:
                directory.commit()
            except OSError:
                finished = False
            else:
                finished = True
            assert done() <= steps
        seen = content(out)
        assert all(text in ("before", "after") for text in seen.values())
        assert "runs" not in seen or seen in (before, AFTER), "`runs` stands only beside all tables of its run"
        OutputDirectory(spark, str(out)).recover()
        assert content(out) in (before, AFTER)
        outcomes.append(content(out) == AFTER)
        next_run = OutputDirectory(spark, str(out))
        next_run.stage()
        next_run.abort()
        assert [path.name for path in out.iterdir() if path.name.startswith("_")] == []
        if finished:
            break
    assert finished
    assert outcomes == sorted(outcomes), "once decided, the new tables stay"
    assert outcomes[0] is False
    assert len(outcomes) > 6


def test_recovery_cut_off_anywhere_can_be_done_again(spark: SparkSession, tmp_path: Path) -> None:
    for steps in range(100):
        out = tmp_path / str(steps)
        for name, text in BEFORE.items():
            put(out / name, text)
        directory = OutputDirectory(spark, str(out))
        stage_after(directory)
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, 2)
            with pytest.raises(OSError, match="cut off"):
                directory.commit()
        with pytest.MonkeyPatch.context() as patch:
            interrupt(patch, steps)
            try:
                OutputDirectory(spark, str(out)).recover()
                finished = True
            except OSError:
                finished = False
        OutputDirectory(spark, str(out)).recover()
        assert content(out) == AFTER
        if finished:
            return
    pytest.fail("recovery never ended")


def test_half_copied_renames_are_done_over(spark: SparkSession, out: Path) -> None:
    """Object stores copy to rename: a kill leaves part of the target, or part of the source with a whole target."""
    directory = OutputDirectory(spark, str(out))
    stage_after(directory)
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 2)
        with pytest.raises(OSError, match="cut off"):
            directory.commit()
    staging = out / f"_staging-{directory.run_id}"
    assert (staging / COMMIT_FILE).exists()
    put(staging / "_previous" / "events", "before")
    (out / "events" / "part-before.parquet").unlink()
    put(out / "outcomes", "after")
    (staging / "outcomes" / "part-after.parquet").unlink()
    OutputDirectory(spark, str(out)).recover()
    assert content(out) == AFTER


def test_abort_removes_what_was_staged(spark: SparkSession, out: Path) -> None:
    directory = OutputDirectory(spark, str(out))
    stage_after(directory)
    directory.abort()
    assert content(out) == BEFORE
    assert {path.name for path in out.iterdir()} == {*BEFORE, "my_table", "notes.txt"}


def test_abort_removes_folders_the_run_made(spark: SparkSession, tmp_path: Path) -> None:
    directory = OutputDirectory(spark, str(tmp_path / "a" / "b"))
    stage_after(directory)
    assert (tmp_path / "a" / "b").is_dir()
    directory.abort()
    assert list(tmp_path.iterdir()) == []


def test_staging_of_a_dead_run_is_removed(spark: SparkSession, out: Path) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    owner = {"host": os.uname().nodename, "pid": int(dead.stdout), "started": None}
    for name, text in (("_staging-dead", json.dumps(owner)), ("_staging-cut", "{"), ("_staging-unsigned", None)):
        put(out / name / "runs", "dead")
        if text is not None:
            (out / name / OWNER_FILE).write_text(text)
    directory = OutputDirectory(spark, str(out))
    directory.stage()
    assert [path.name for path in out.glob("_staging-*")] == [f"_staging-{directory.run_id}"]
    directory.abort()
    assert content(out) == BEFORE


@pytest.mark.parametrize("owner", ["this process", "another process", "another host"])
def test_a_folder_that_a_live_run_writes_is_refused(owner: str, spark: SparkSession, out: Path) -> None:
    if owner == "this process":
        OutputDirectory(spark, str(out), "live").stage()
    else:
        parent = os.getppid()
        host = os.uname().nodename if owner == "another process" else "elsewhere"
        (out / "_staging-live").mkdir()
        signature = {"host": host, "pid": parent, "started": started(parent)}
        (out / "_staging-live" / OWNER_FILE).write_text(json.dumps(signature))
    with pytest.raises(InputError, match="another run is writing here"):
        OutputDirectory(spark, str(out)).stage()
    assert (out / "_staging-live" / OWNER_FILE).exists()
    assert content(out) == BEFORE


def test_unusable_output_folders_are_input_errors(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "other" / "events").mkdir(parents=True)
    (tmp_path / "other" / "events" / "data.csv").write_text("mine")
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "runs").write_text("mine")
    for uri, says in [
        (str(tmp_path / "file"), "is a file"),
        (str(tmp_path / "file" / "below"), "cannot be written"),
        ("/proc/emulator-test", "cannot be written"),
        (str(tmp_path / "other"), "'events' there is not a table of a run"),
        (str(tmp_path / "flat"), "'runs' there is not a table of a run"),
        ("nosuchscheme://host/dir", "cannot be opened"),
        (" ", "the path is empty"),
    ]:
        with pytest.raises(InputError, match=says) as raised:
            OutputDirectory(spark, uri).stage()
        assert "\n" not in str(raised.value)
    assert {path.name for path in tmp_path.rglob("*")} == {"file", "other", "events", "data.csv", "flat", "runs"}


def test_a_relative_path_is_below_pythons_working_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    directory = OutputDirectory(spark, "a:b/c")
    stage_after(directory)
    directory.commit()
    assert content(tmp_path / "a:b" / "c") == AFTER


def test_written_tables_read_back_with_the_types_of_their_schema(spark: SparkSession, tmp_path: Path) -> None:
    directory = OutputDirectory(spark, str(tmp_path / "out [1]"))
    directory.stage()
    events = spark.sql(
        "SELECT 'election' AS kind, 3L AS round, 0L AS scenario_id, 't' AS topic, 1 AS partition, 2 AS broker,"
        " 5 AS leader_epoch, 7 AS from_offset, NULL AS to_offset, NULL AS cause, NULL AS ledger, NULL AS records"
    )
    directory.write("events", events)
    directory.write_rows("brokers", [(0, 1, "r0"), (0, 2, None)])
    directory.write_rows("violations", [])
    directory.commit()
    session = spark.newSession()
    register(session, directory.uri, {"events", "brokers", "violations"})
    expected = session.createDataFrame(
        [(0, "t", 1, 3, "election", 2, 5, 7, None, None, None, None)],
        OUTPUT_TABLES["events"].simpleString().removeprefix("struct")[1:-1],
    )
    assert_df_equality(session.table("events"), expected, ignore_nullable=True, ignore_metadata=True)
    assert [tuple(row) for row in session.table("brokers").orderBy("broker").collect()] == [(0, 1, "r0"), (0, 2, None)]
    assert session.table("violations").isEmpty()


def test_a_table_with_other_columns_than_its_schema_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    directory = OutputDirectory(spark, str(tmp_path))
    with pytest.raises(ValueError, match=r"missing columns \['broker', 'rack'\], columns not in its schema \['x'\]"):
        directory.write("brokers", spark.sql("SELECT 0 AS scenario_id, 1 AS x"))
    with pytest.raises(ValueError, match="is no output table"):
        directory.path("nothing")
