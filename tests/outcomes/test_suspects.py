"""Rows of kind suspect: told beside violations, and counted as none of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.arrow.schemas import to_arrow_schema
from emulator.explain.layout import kind_words
from emulator.explain.summary import violation_line
from emulator.outcomes.ask import Asker
from emulator.report.questions import VIOLATIONS
from emulator.run import _tables
from emulator.table_columns.spark_columns import OUTPUT_TABLES

WriteTables = Callable[[dict[str, list[dict[str, Any]]], Path], None]

SCENARIO = {"scenario_id": 0, "name": "base", "protocol": "kafka", "rounds": 9, "round_ms": 500, "mode": "plain"}
SUSPECT = {"scenario_id": 0, "topic": "t", "round": 3, "invariant": "StrongIsr", "witness": "w", "kind": "suspect"}
ROWS = [
    {**SUSPECT, "partition": 0},
    {**SUSPECT, "partition": 1},
    {**SUSPECT, "partition": 1, "round": 5, "kind": "violation", "witness": "v"},
    {**SUSPECT, "partition": 2, "invariant": "NoGapBetweenTiers"},
]


@pytest.fixture
def run(tmp_path: Path, write_tables: WriteTables) -> Path:
    outcomes = [{"scenario_id": 0, "topic": "t", "partition": at, "leader": 1, "isr": [1]} for at in range(4)]
    write_tables({"scenarios": [SCENARIO], "outcomes": outcomes, "violations": ROWS}, tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("engine", [None, "spark"])
def test_suspects_are_told_beside_violations(spark: SparkSession, run: Path, engine: str | None) -> None:
    ask = Asker(str(run), engine, lambda: spark).ask
    told = {}
    for question in ("@which_invariants_were_violated", "@which_protocols_broke_invariants", VIOLATIONS.format(s=0)):
        columns, rows = ask(question)
        told[question[:9]] = [dict(zip(columns, row, strict=True)) for row in rows]
    by_scenario, of_report = told["@which_in"], told["\nSELECT i"]
    assert [(r["invariant"], r["partitions"], r["suspects"], r["witness"]) for r in by_scenario] == [
        ("NoGapBetweenTiers", 0, 1, "w"), ("StrongIsr", 1, 2, "v"),
    ]  # fmt: skip
    assert [(r["invariant"], r["partitions"], r["suspects"]) for r in told["@which_pr"]] == [
        ("NoGapBetweenTiers", 0, 1), ("StrongIsr", 1, 2),
    ]  # fmt: skip
    assert [(r["kind"], r["invariant"], r["partitions"]) for r in of_report] == [
        ("violation", "StrongIsr", 1), ("suspect", "StrongIsr", 2), ("suspect", "NoGapBetweenTiers", 1),
    ]  # fmt: skip


def test_a_run_counts_violations_only(spark: SparkSession) -> None:
    """What --fail-on-violation goes by."""
    schema = to_arrow_schema(OUTPUT_TABLES["violations"])
    table = pa.Table.from_pylist([{"cause": None, **row} for row in ROWS], schema)
    part = {name: to_arrow_schema(OUTPUT_TABLES[name]).empty_table() for name in OUTPUT_TABLES} | {"violations": table}
    assert _tables(spark, [part])[1] == (1, 3)


def test_words() -> None:
    violation, suspect = ROWS[2], ROWS[0]
    assert [kind_words(violation), kind_words(suspect)] == ["VIOLATION of", "SUSPECT:"]
    assert violation_line(violation) == "round 5: StrongIsr: v"
    assert violation_line(suspect) == "round 3: suspect: StrongIsr: w"
