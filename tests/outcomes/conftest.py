"""A tiny run of two scenarios, written by hand as JSON and turned into the Parquet tables of the contract."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from emulator.schema import OUTPUT_TABLES

DATA = Path(__file__).parent / "data"


def _write_tables(tables: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    """Writes tables of the contract; a column a row leaves out is null where it may be, else 0."""
    for name, rows in tables.items():
        schema = OUTPUT_TABLES[name]
        further = sorted({key for row in rows for key in row} - set(schema.names))
        wide = StructType([*schema.fields, *(StructField(key, StringType(), True) for key in further)])
        columns = {field.name: [_value(row, field) for row in rows] for field in wide.fields}
        (folder / name).mkdir(parents=True)
        arrow = to_arrow_schema(wide)
        table = pa.table({f.name: pa.array(columns[f.name], f.type) for f in arrow}, schema=arrow)
        pq.write_table(table, folder / name / "part-0.parquet")


def _value(row: dict[str, Any], field: StructField) -> Any:
    value = row.get(field.name, None if field.nullable else 0)
    if isinstance(field.dataType, TimestampType):
        return datetime.fromisoformat(str(value))
    return list(value.items()) if isinstance(value, dict) else value


@pytest.fixture
def write_tables() -> Callable[[dict[str, list[dict[str, Any]]], Path], None]:
    """Writes tables of the contract, given as rows of named values, into a folder."""
    return _write_tables


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the hand-made run."""
    folder = tmp_path_factory.mktemp("runs") / "small run [1] {a,b}*"
    _write_tables(json.loads((DATA / "small_run.json").read_text("utf-8")), folder)
    return folder
