"""SQL of users: answers, and errors in one line."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.outcomes.sql import run_sql
from emulator.spark.spark_errors import condensed


def test_rows_come_with_their_column_names(spark: SparkSession, small_run: Path) -> None:
    columns, rows = run_sql(str(small_run), "SELECT topic, sum(acked) AS n FROM outcomes GROUP BY 1 ORDER BY 1;", spark)
    assert columns == ["topic", "n"]
    assert list(rows) == [("logs", 1806), ("orders", 3400)]


def test_timestamps_are_utc_and_structs_are_dicts(spark: SparkSession, small_run: Path) -> None:
    sql = "SELECT started_at, struct(1 AS a, array(struct(2 AS b)) AS c) FROM runs"
    _, rows = run_sql(str(small_run), sql, spark)
    assert list(rows) == [(datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), {"a": 1, "c": [{"b": 2}]})]


def test_the_callers_session_keeps_its_views_and_settings(spark: SparkSession, small_run: Path) -> None:
    views = _views(spark)
    zone = spark.conf.get("spark.sql.session.timeZone")
    list(run_sql(str(small_run), "SET spark.sql.session.timeZone = Asia/Tokyo", spark)[1])
    list(run_sql(str(small_run), "SELECT 1", spark)[1])
    assert _views(spark) == views
    assert spark.conf.get("spark.sql.session.timeZone") == zone


def _views(spark: SparkSession) -> list[str]:
    """Names of the session's views, without those that relational rounds of other tests drop when nobody asks any more."""
    return [row.viewName for row in spark.sql("SHOW VIEWS").collect() if not row.viewName.startswith("relational_")]


def test_a_name_that_is_put_together_is_found(spark: SparkSession, small_run: Path) -> None:
    _, rows = run_sql(str(small_run), "SELECT count(*) FROM IDENTIFIER('out' || 'comes')", spark)
    _, outcomes = run_sql(str(small_run), "SELECT count(*) FROM outcomes", spark)
    assert list(rows) == list(outcomes)


def test_show_views_lists_them_all(spark: SparkSession, small_run: Path) -> None:
    _, rows = run_sql(str(small_run), "SHOW VIEWS", spark)
    assert {"outcomes", "remote_segments", "lost"} <= {row[1] for row in rows}


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT * FORM outcomes", "Syntax error"),
        ("SELECT topic FROM outcome", "`outcome` cannot be found"),
        ("SELECT topics FROM outcomes", "Did you mean one of the following? [`topic`"),
        ("SELECT sum(acked), topic FROM outcomes", "GROUP BY"),
        ("SELECT 1/(acked - acked) FROM outcomes", "Division by zero"),
        ("SELECT assert_true(acked < 0) FROM outcomes", "is not true"),
        ("  ", "the query is empty"),
        ("@which_partition_lost_records", '(did you mean "which_partitions_lost_records"'),
        ("@nothing", "allowed: do_high_watermarks_and_epoch_ends_add_up, "),
    ],
)
def test_wrong_sql_is_one_line(
    sql: str, says: str, spark: SparkSession, small_run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError) as raised:
        list(run_sql(str(small_run), sql, spark)[1])
    message = str(raised.value)
    assert message.startswith("SQL: ")
    assert says in message
    assert "\n" not in message
    assert not any(word in message for word in ("SQLSTATE", "org.apache", "'Project", "== SQL"))
    assert "\tat " not in capfd.readouterr().err


def test_place_of_an_error_is_kept() -> None:
    text = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601 (line 1, pos 14)\n\n== SQL ==\nselect\n"
    assert condensed(ValueError(text)) == "[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. (line 1, position 14)"


@pytest.mark.parametrize("kind", ["empty", "absent", "other files", "file"])
def test_a_folder_without_tables_is_an_input_error(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    if kind == "file":
        folder.write_text("x")
    elif kind != "absent":
        folder.mkdir()
    if kind == "other files":
        (folder / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="no tables of a run are there"):
        run_sql(str(folder), "SELECT 1", spark)


def test_damaged_tables_are_one_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "part-0.parquet").write_text("not parquet")
    with pytest.raises(InputError) as raised:
        list(run_sql(str(tmp_path), "SELECT * FROM events", spark)[1])
    assert "\n" not in str(raised.value)
    assert "Parquet" in str(raised.value) or "parquet" in str(raised.value)
