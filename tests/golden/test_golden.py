"""Every golden scenario gives its golden tables, cell by cell; what is meant to differ stands in changed_cells.toml.

One scenario: pytest tests/golden/test_golden.py -k core_commands. What the whole tables have, take.py writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.golden.cases import CASES, SCENARIOS, Case, run_case
from tests.golden.changes import read_changes, read_reasons, undo
from tests.golden.differ import CHANGED, undo_rows
from tests.golden.differences import differing_lines
from tests.golden.tables import Table, golden_lines
from tests.golden.take import TABLES

LARGEST = 3_000_000
"""Bytes of goldens in git."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tables_are_golden(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    tables, changes = run_case(case, spark, tmp_path), read_changes()
    goldens = {path.stem: path.read_text().splitlines() for path in sorted((TABLES / case.name).glob("*.jsonl"))}
    problems = [f"{name}: is no table of the run" for name in goldens if name not in tables]
    for name, table in tables.items():
        problems += undo(changes, case.name, name, table) + undo_rows(case.name, name, table)
        problems += [f"{case.name}, {name}: {line}" for line in differing_lines(goldens.get(name), golden_lines(name, table))]
    assert not problems, "\n" + "\n".join(problems)


def test_every_scenario_has_goldens() -> None:
    names = {case.name for case in CASES}
    assert {path.stem for path in SCENARIOS.glob("*.toml")} == names
    assert {path.name for path in TABLES.iterdir()} == names


def test_changes_name_scenarios_and_tables() -> None:
    names = {case.name for case in CASES}
    for change in read_changes():
        assert change["scenario"] in (*names, "*"), change
        assert list(TABLES.glob(f"{change['scenario']}/{change['table']}.jsonl")), change


def test_every_changed_row_has_a_reason() -> None:
    reasons = read_reasons()
    for path in CHANGED.glob("*.jsonl"):
        assert {json.loads(line)["why"] for line in path.read_text().splitlines()} <= reasons.keys(), path.name


def test_goldens_stay_small() -> None:
    assert sum(path.stat().st_size for path in TABLES.rglob("*.jsonl")) < LARGEST


def _lines(rows: list[list[int]]) -> list[str]:
    return golden_lines("t", Table({"scenario_id": "int32", "round": "int32", "leo": "int64"}, rows))


def test_a_cell_that_differs_is_told_with_its_row() -> None:
    golden, now = [[0, 1, 5], [0, 2, 6]], [[0, 1, 5], [0, 2, 7]]
    assert differing_lines(_lines(golden), _lines(now)) == ["leo is 7, was 6, of the row scenario_id=0 round=2"]
    assert differing_lines(_lines(golden), _lines(golden)) == []
    assert differing_lines(None, _lines(golden)) == ["has no golden"]
    assert differing_lines(_lines(golden), _lines(golden[:1])) == [
        "has 1 rows, was 2",
        "is gone: scenario_id=0 round=2 leo=6",
    ]


def test_of_a_large_table_columns_and_scenarios_are_told() -> None:
    golden = [[at % 2, at, at] for at in range(1000)]
    now = [[one, two, 7 if two == 501 else three] for one, two, three in golden]
    told = differing_lines(_lines(golden), _lines(now))
    assert told == ["column leo differs", "rows of scenario 1 differ (500, were 500)"]


def test_a_change_is_taken_back() -> None:
    change = {"scenario": "*", "table": "t", "key": {"scenario_id": 0, "round": 2}, "column": "leo", "old": 6, "new": 7}
    table = Table({"scenario_id": "int32", "round": "int32", "leo": "int64"}, [[0, 1, 5], [0, 2, 7]])
    assert undo([change], "any", "t", table) == []
    assert table.rows == [[0, 1, 5], [0, 2, 6]]
    assert "it is 6" in undo([change], "any", "t", table)[0]
    elsewhere = {**change, "key": {"round": 3}}
    assert undo([elsewhere], "any", "t", table) == [], "of all scenarios those have it that have its row"
    assert "0 rows" in undo([{**elsewhere, "scenario": "any"}], "any", "t", table)[0]


def test_rows_come_and_go() -> None:
    row = {"scenario_id": 0, "round": 2, "leo": 6}
    more = {"scenario": "*", "table": "t", "column": "*", "new": row}
    gone = {"scenario": "*", "table": "t", "column": "*", "old": row}
    table = Table({"scenario_id": "int32", "round": "int32", "leo": "int64"}, [[0, 1, 5], [0, 2, 6]])
    assert undo([more], "any", "t", table) == []
    assert table.rows == [[0, 1, 5]]
    assert undo([gone], "any", "t", table) == []
    assert table.rows == [[0, 1, 5], [0, 2, 6]]
    assert json.loads(golden_lines("t", table)[0])["rows"] == 2
