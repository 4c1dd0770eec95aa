"""One StructType per output table, of the columns of `emulator.table_columns`."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from emulator.table_columns import CONSUMER_COUNTERS, LIST_OFFSETS, TABLE_COLUMNS, Column

__all__ = ["CONSUMER_COUNTERS", "EPOCHS_TYPE", "LIST_OFFSETS", "NO_LEADER", "OUTPUT_TABLES", "schema_of"]

NO_LEADER = -1

_INT = IntegerType()
_LONG = LongType()
_TEXT = StringType()
EPOCHS_TYPE = ArrayType(
    StructType([StructField("epoch", _INT, False), StructField("start_offset", _LONG, False)]), containsNull=False
)

_TYPES: dict[str, DataType] = {
    "int": _INT,
    "bigint": _LONG,
    "string": _TEXT,
    "boolean": BooleanType(),
    "double": DoubleType(),
    "timestamp": TimestampType(),
    "array<int>": ArrayType(_INT, containsNull=False),
    "array<string>": ArrayType(_TEXT, containsNull=False),
    "array<bigint>": ArrayType(_LONG, containsNull=False),
    "array<struct<epoch:int,start_offset:bigint>>": EPOCHS_TYPE,
    "map<string,string>": MapType(_TEXT, _TEXT, valueContainsNull=False),
    "map<string,bigint>": MapType(_TEXT, _LONG, valueContainsNull=False),
}


def _field(column: Column) -> StructField:
    return StructField(column.name, _TYPES[column.kind], column.nullable, {"comment": column.comment})


def schema_of(columns: Iterable[Column]) -> StructType:
    """Returns these columns as Spark has them, with their comments."""
    return StructType([_field(column) for column in columns])


OUTPUT_TABLES: dict[str, StructType] = {table: schema_of(columns) for table, columns in TABLE_COLUMNS.items()}
