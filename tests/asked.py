"""What a run answers to a test: by DuckDB, whose answers are Spark's to the byte (outcomes/test_queries.py)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.outcomes.ask import Asker
from emulator.outcomes.prices import PricesShape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ask(folder: str | Path, sql: str, prices: PricesShape | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows."""
    columns, rows = Asker(str(folder), "duckdb", no_spark).ask(sql, prices)
    return columns, list(rows)


def rows_of(folder: str | Path, sql: str, prices: PricesShape | None = None) -> list[dict[str, Any]]:
    """Rows by the names of their columns."""
    columns, rows = ask(folder, sql, prices)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def no_spark() -> SparkSession:
    raise AssertionError("Spark was asked for")
