"""Answers as text."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from emulator.outcomes.formats import ROWS_MEASURED, write_answer, write_turned


def written(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: str) -> str:
    out = io.StringIO()
    write_answer(columns, iter(rows), form, out)
    return out.getvalue()


def test_table_aligns_numbers_right_and_the_rest_left() -> None:
    rows = [("orders", 5, None, [1, 2]), ("logs", 1234, 0.5, [])]
    assert written(["topic", "n", "share", "isr"], rows, "table").splitlines() == [
        "topic      n  share  isr",
        "------  ----  -----  ------",
        "orders     5         [1, 2]",
        "logs    1234    0.5  []",
    ]


def test_table_without_rows_says_so() -> None:
    assert written(["a", "bc"], [], "table") == "a  bc\n-  --\n(no rows)\n"


def test_table_keeps_a_row_on_one_line_and_cuts_long_cells() -> None:
    lines = written(["text"], [("a\nb\t" + "x" * 500,)], "table").splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("a\\nb\\tx")
    assert len(lines[2]) == 100


def test_names_that_differ_at_their_end_stay_apart() -> None:
    name = "acks = all, min.insync.replicas = 3, eligible.leader.replicas.version = 1, unclean.leader.election.enable = {}"
    lines = written(["scenario"], [(name.format(value),) for value in ("false", "true")], "table").splitlines()[2:]
    assert lines[0].startswith("acks = all, min.insync.replicas = 3,") and lines[1].startswith(lines[0][:40])
    assert lines[0].endswith(".enable = false") and lines[1].endswith(".enable = true")
    assert [len(line) for line in lines] == [100, 100]
    assert written(["c"], [("x" * 99 + "\n",)], "table").splitlines()[2].endswith("x\\n")
    assert written(["c"], [("x" * 100,)], "table").splitlines()[2] == "x" * 100


def test_table_streams_what_comes_after_the_measured_rows() -> None:
    rows = [(i,) for i in range(ROWS_MEASURED + 5)]
    assert written(["n"], rows, "table").splitlines()[-1] == str(ROWS_MEASURED + 4)


def test_csv_quotes_and_leaves_null_empty() -> None:
    rows = [('a,"b"\n', None, True, [1], {"k": 1}), ("", 1.5, False, [], {})]
    assert written(["a", "b", "c", "d", "e"], rows, "csv") == (
        'a,b,c,d,e\n"a,""b""\n",,true,[1],"{""k"": 1}"\n,1.5,false,[],{}\n'
    )


def test_json_lines_hold_every_kind_of_value() -> None:
    moment = datetime(2026, 1, 2, tzinfo=timezone.utc)
    columns = ["a", "a", "day", "time", "sum", "ratio", "nan", "raw", "nested"]
    row = ("é", None, date(2026, 1, 2), moment, Decimal(5), Decimal("0.5"), float("nan"), b"\x01", {"x": [moment]})
    (line,) = written(columns, [row], "json").splitlines()
    assert json.loads(line) == {
        "a": "é",
        "a_2": None,
        "day": "2026-01-02",
        "time": "2026-01-02T00:00:00+00:00",
        "sum": 5,
        "ratio": 0.5,
        "nan": "nan",
        "raw": "01",
        "nested": {"x": ["2026-01-02T00:00:00+00:00"]},
    }


def test_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed: table, csv, json"):
        written(["a"], [], "xml")


def test_a_table_turned_over_has_a_column_for_each_row() -> None:
    out = io.StringIO()
    write_turned(["scenario", "bytes", "limited_by"], [("base", 1.5, "storage"), ("tiered", None, "a\nb")], out)
    assert out.getvalue().splitlines() == [
        "scenario       base  tiered",
        "----------  -------  ------",
        "bytes           1.5",
        "limited_by  storage    a\\nb",
    ]
    out = io.StringIO()
    write_turned(["scenario", "bytes"], [], out)
    assert out.getvalue() == "scenario\n--------\nbytes\n(no rows)\n"
