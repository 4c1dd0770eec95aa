"""Output tables written by hand, as the Parquet files of the contract."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import ArrayType, BooleanType, MapType, StringType, StructField, StructType, TimestampType

from emulator.arrow.schemas import to_arrow_schema
from emulator.outcomes.views import ALL_TABLES


def write_tables(tables: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    """Writes tables of the contract; a column a row leaves out is null where it may be, else empty or 0."""
    for name, rows in tables.items():
        schema = ALL_TABLES[name]
        further = sorted({key for row in rows for key in row} - set(schema.names))
        wide = StructType([*schema.fields, *(StructField(key, StringType(), True) for key in further)])
        columns = {field.name: [_value(row, field) for row in rows] for field in wide.fields}
        (folder / name).mkdir(parents=True)
        arrow = to_arrow_schema(wide)
        table = pa.table({f.name: pa.array(columns[f.name], f.type) for f in arrow}, schema=arrow)
        pq.write_table(table, folder / name / "part-0.parquet")


def _value(row: dict[str, Any], field: StructField) -> Any:
    absent: Any = {ArrayType: [], MapType: {}, BooleanType: False, StringType: ""}.get(type(field.dataType), 0)
    value = row.get(field.name, None if field.nullable else absent)
    if isinstance(field.dataType, TimestampType):
        return datetime.fromisoformat(str(value))
    return list(value.items()) if isinstance(value, dict) else value
