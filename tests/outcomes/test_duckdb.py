"""Questions answered by DuckDB: nothing is read but the run. That the rows are Spark's, to the byte, test_queries.py shows."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from emulator.errors import InputError
from emulator.outcomes import duckdb_tables, queries
from emulator.outcomes.ask import Asker
from emulator.outcomes.duckdb_sql import OnlySpark, run_duckdb
from emulator.outcomes.formats import write_answer
from emulator.outcomes.only_reads import parse_reading
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS, names_in, with_sources
from emulator.table_columns import TABLE_COLUMNS
from tests.golden.answers import rounded
from tests.golden.cases import CASES
from tests.golden.differ import is_asked_otherwise, of_views
from tests.golden.shown import TABLES
from tests.golden.tables import LATER, LATER_ANSWERS
from tests.outcomes.asked_of_both import DOES_MORE, ONLY_SPARK
from tests.output_tables import write_tables

ANSWERS = Path(__file__).parent / "data" / "answers"
MADE_UP = ("run_id", "versions", "scenario_path")


def no_spark() -> SparkSession:
    raise AssertionError("Spark was asked for")


def by_duckdb(folder: Path, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    columns, rows = Asker(str(folder), "duckdb", no_spark).ask(sql)
    return columns, list(rows)


def text(columns: list[str], rows: Any, form: str) -> str:
    out = io.StringIO()
    write_answer(columns, rows, form, out)
    return out.getvalue()


@pytest.mark.parametrize("name", sorted(queries()))
def test_bundled_questions_have_their_worked_answers(name: str, small_run: Path) -> None:
    assert text(*by_duckdb(small_run, f"@{name}"), "csv") == (ANSWERS / f"{name}.csv").read_text("utf-8")


def test_golden_answers_of_spark_are_duckdbs(tmp_path: Path) -> None:
    """Views and questions over every golden run, as far as the tables that they need are stored whole."""
    compared = set()
    for case in CASES:
        stored = {path.stem: path.read_text("utf-8").splitlines() for path in (TABLES / case.name).glob("*.jsonl")}
        whole = {name: rows for name, lines in stored.items() if (rows := _rows(lines)) is not None}
        write_tables({name: whole[name] for name in TABLE_COLUMNS if name in whole}, tmp_path / case.name)
        tables = Asker(str(tmp_path / case.name), "duckdb", no_spark)
        asked = {name: f"SELECT * FROM {name}" for name in HELPER_VIEWS} | {f"ask_{n}": q.sql for n, q in queries().items()}
        for name in asked.keys() & whole.keys():
            if with_sources(names_in(asked[name])) & (TABLE_COLUMNS.keys() & stored.keys() - whole.keys()):
                continue
            columns, rows = tables.ask(asked[name])
            later = LATER.get(name, ())
            found = [{c: rounded(v) for c, v in zip(columns, row, strict=True) if c not in later} for row in rows]
            columns = [column for column in columns if column not in later]
            if is_asked_otherwise(case.name, name):
                continue
            golden = of_views(case.name, name, columns, whole[name])
            assert _canonical(found) == _canonical(golden), (case.name, name)
            compared.add(name)
    assert len(compared) > 30
    assert compared >= {*HELPER_VIEWS} - {
        *LATER_ANSWERS,
        "event_causes",
        "fault_rounds",
    }  # of which some table is stored as digests


def _rows(lines: list[str]) -> list[dict[str, Any]] | None:
    """The rows of a golden; None of one that has digests. What differs from run to run is made up."""
    head, *rows = map(json.loads, lines)
    if rows and not isinstance(rows[0], list):
        return None
    named = [dict(zip(head["columns"], row, strict=True)) for row in rows]
    if "started_at" in head["columns"]:
        return [
            {**row, "started_at": "2026-01-02T03:04:05+00:00", "seconds": 1.0, **dict.fromkeys(MADE_UP, "x")} for row in named
        ]
    return named


def _canonical(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.parametrize("sql", ONLY_SPARK)
def test_what_duckdb_would_answer_otherwise_is_left_to_spark(sql: str, small_run: Path) -> None:
    with pytest.raises(OnlySpark):
        run_duckdb({str(small_run): str(small_run)}, sql, parse_reading(sql), None)


def test_spark_is_asked_where_duckdb_is_not_enough(spark: SparkSession, small_run: Path) -> None:
    columns, rows = Asker(str(small_run), None, lambda: spark).ask("SELECT 1.5 * max(acked) AS d FROM outcomes")
    assert columns == ["d"]
    assert len(list(rows)) == 1
    with pytest.raises(InputError, match="DuckDB does not answer this as Spark does: .*; allowed: --engine spark"):
        by_duckdb(small_run, "SHOW VIEWS")


@pytest.mark.parametrize(("sql", "says"), DOES_MORE)
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_query_only_reads(
    sql: str, says: str, engine: str, small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("secret\n")
    before = sorted(small_run.rglob("*"))
    sql = sql.replace("{secret}", str(secret)).replace("{out}", str(out))
    assert main(["sql", str(small_run), sql, "--engine", engine]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: SQL: ")
    assert says in said.err
    assert said.err.count("\n") == 1
    assert not out.exists()
    assert sorted(small_run.rglob("*")) == before


@pytest.mark.parametrize("said", ["SELECT 'DROP TABLE x; INSERT INTO y' AS a", "-- INSERT INTO x\nSELECT 1 AS a /* ; */;"])
def test_words_within_texts_and_comments_do_nothing(said: str, small_run: Path) -> None:
    assert len(by_duckdb(small_run, said)[1]) == 1


def test_the_connection_opens_nothing_but_the_run(small_run: Path, tmp_path: Path) -> None:
    """What refuses a query first is the parser; this holds if it is ever deceived."""
    secret, out = tmp_path / "secret.csv", tmp_path / "out.csv"
    secret.write_text("secret\n")
    with duckdb_tables.connect(str(small_run), {"outcomes"}, None) as connection:
        for sql in (
            f"SELECT * FROM read_csv('{secret}')",
            f"SELECT * FROM '{secret}'",
            f"COPY outcomes TO '{out}'",
            f"ATTACH '{out}' AS o",
            "SELECT * FROM glob('/*')",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET allowed_paths = ['/']",
            "SELECT * FROM read_csv('http://127.0.0.1:9/x')",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(sql).fetchall()
    assert not out.exists()


def test_names_that_the_run_lacks_are_told_at_once(small_run: Path) -> None:
    with pytest.raises(InputError, match=r'^SQL: no table or view of the run is named "outcome" \(did you mean "outcomes"\?\)'):
        by_duckdb(small_run, "SELECT * FROM outcome")
    with pytest.raises(InputError, match=r'^SQL: Referenced column "topics" not found in FROM clause! .*topic'):
        by_duckdb(small_run, "SELECT topics FROM outcomes")


def test_tables_may_be_absent_or_empty(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    with pytest.raises(InputError, match="no graph is there"):
        by_duckdb(tmp_path, "@which_brokers_share_most")
    (tmp_path / "copysets").mkdir()
    tables = Asker(str(tmp_path), "duckdb", no_spark)
    for name in [*ALL_COLUMNS, *HELPER_VIEWS]:
        columns, rows = tables.ask(f"SELECT * FROM {name}")
        assert name in ("prices", "sizing") or not list(rows)
        assert columns[: len(ALL_COLUMNS.get(name, ()))] == [column.name for column in ALL_COLUMNS.get(name, ())]
    for name in queries():
        assert not list(tables.ask(f"@{name}")[1]), name


def test_a_folder_without_tables_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tables of a run are there"):
        by_duckdb(tmp_path, "SELECT 1")


def test_what_is_unfinished_damaged_or_too_large_is_sparks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "events").mkdir()
    damaged = tmp_path / "events" / "part-0.parquet"
    damaged.write_text("not parquet")
    with pytest.raises(InputError, match="allowed: --engine spark"):
        by_duckdb(tmp_path, "SELECT * FROM events")
    assert by_duckdb(tmp_path, "SELECT count(*) AS n FROM outcomes")[1] == [(0,)]
    monkeypatch.setattr(duckdb_tables, "_memory_bytes", lambda: damaged.stat().st_size)
    with pytest.raises(InputError, match="larger than what fits this machine"):
        by_duckdb(tmp_path, "SELECT * FROM events")
    (tmp_path / "_staging-1").mkdir()
    (tmp_path / "_staging-1" / "_COMMIT").write_text("{}")
    with pytest.raises(InputError, match="has not finished publishing"):
        by_duckdb(tmp_path, "SELECT 1 AS n")


def test_a_sum_beyond_64_bits_is_an_error_as_in_spark(small_run: Path) -> None:
    with pytest.raises(InputError, match="a sum is beyond 64 bits"):
        by_duckdb(small_run, "SELECT sum(x) AS s FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 9223372036854775807)")


def test_hadoops_addresses_are_sparks(small_run: Path) -> None:
    with pytest.raises(InputError, match="the tables are in no local folder"):
        Asker("s3a://bucket/run", "duckdb", no_spark).ask("SELECT 1")
    assert list(Asker(f"file:{small_run}", None, no_spark).ask("SELECT 1 AS n")[1]) == [(1,)]


def test_sparks_options_ask_spark(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(small_run), "SELECT 1", "--engine", "duckdb", "--conf", "spark.x=1"]) == 2
    assert "--engine: duckdb stands beside Spark's" in capsys.readouterr().err


def test_spark_is_not_even_imported(small_run: Path) -> None:
    code = (
        "import sys; from emulator.cli import main;"
        " codes = [main(['sql', sys.argv[1], '@which_partitions_lost_records']), main(['compare', sys.argv[1]]),"
        " main(['compare', sys.argv[1], '--report', 'tiering'])];"
        " assert codes == [0, 0, 0] and 'pyspark' not in sys.modules, codes"
    )
    environment = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    ended = subprocess.run([sys.executable, "-c", code, str(small_run)], check=True, capture_output=True, env=environment)
    assert b"leaked" not in ended.stderr  # DuckDB counts what is left of its own as Python ends


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "DIR", "--report", "quorums", "--format", "json"],
        ["explain", "DIR", "--topic", "orders", "--partition", "0", "--scenario", "base"],
    ],
    ids=" ".join,
)
def test_compare_and_explain_are_the_same_on_both(
    command: list[str], spark: SparkSession, small_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What commands print; that answers to reports and questions are the same test_queries.py shows."""
    arguments = [str(small_run) if part == "DIR" else part for part in command]
    assert main([*arguments, "--engine", "spark"]) == 0
    by_spark = capsys.readouterr()
    monkeypatch.setattr("emulator.session.get_session", no_spark)
    assert main(arguments) == 0
    assert capsys.readouterr() == by_spark
