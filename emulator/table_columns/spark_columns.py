"""One StructType per output table, of the columns of `emulator.table_columns`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructField, StructType

from emulator.arrow.schemas import from_arrow_schema
from emulator.table_columns import CONSUMER_COUNTERS, LIST_OFFSETS, TABLE_COLUMNS, Column
from emulator.table_columns.arrow_columns import schema_of as arrow_schema_of

__all__ = ["CONSUMER_COUNTERS", "LIST_OFFSETS", "NO_LEADER", "OUTPUT_TABLES", "schema_of"]

NO_LEADER = -1


def schema_of(columns: Sequence[Column]) -> StructType:
    """Returns these columns as Spark has them, with their comments; raises ValueError for a type that no table here has."""
    fields = zip(columns, from_arrow_schema(arrow_schema_of(columns)), strict=True)
    return StructType([StructField(c.name, field.dataType, c.nullable, {"comment": c.comment}) for c, field in fields])


OUTPUT_TABLES: dict[str, StructType] = {table: schema_of(columns) for table, columns in TABLE_COLUMNS.items()}
