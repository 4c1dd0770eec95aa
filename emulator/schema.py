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


def _structs(*fields: tuple[str, DataType]) -> ArrayType:
    """A list of structs, nothing in it null."""
    return ArrayType(StructType([StructField(name, kind, False) for name, kind in fields]), containsNull=False)


_BROKERS = ArrayType(_INT, containsNull=False)
EPOCHS_TYPE = _structs(("epoch", _INT), ("start_offset", _LONG))

_TYPES: dict[str, DataType] = {
    "int": _INT,
    "bigint": _LONG,
    "string": _TEXT,
    "boolean": BooleanType(),
    "double": DoubleType(),
    "timestamp": TimestampType(),
    "array<int>": _BROKERS,
    "array<string>": ArrayType(_TEXT, containsNull=False),
    "array<bigint>": ArrayType(_LONG, containsNull=False),
    "array<struct<epoch:int,start_offset:bigint>>": EPOCHS_TYPE,
    "array<struct<first_entry:bigint,ensemble:array<int>>>": _structs(("first_entry", _LONG), ("ensemble", _BROKERS)),
    "array<struct<entry:bigint,acked_by:array<int>,awaited_from:array<int>>>": _structs(
        ("entry", _LONG), ("acked_by", _BROKERS), ("awaited_from", _BROKERS)
    ),
    "array<struct<number:int,phase:string,lac:bigint,awaited_from:array<int>>>": _structs(
        ("number", _INT), ("phase", _TEXT), ("lac", _LONG), ("awaited_from", _BROKERS)
    ),
    "array<struct<number:int,entries_read:bigint,entries_missing:bigint,awaited_from:array<int>>>": _structs(
        ("number", _INT), ("entries_read", _LONG), ("entries_missing", _LONG), ("awaited_from", _BROKERS)
    ),
    "array<struct<ensemble_index:int,from_entry:bigint,to_entry:bigint>>": _structs(
        ("ensemble_index", _INT), ("from_entry", _LONG), ("to_entry", _LONG)
    ),
    "array<struct<rounds:int,records:bigint>>": _structs(("rounds", _INT), ("records", _LONG)),
    "map<string,string>": MapType(_TEXT, _TEXT, valueContainsNull=False),
    "map<string,bigint>": MapType(_TEXT, _LONG, valueContainsNull=False),
}


def _field(column: Column) -> StructField:
    return StructField(column.name, _TYPES[column.kind], column.nullable, {"comment": column.comment})


def schema_of(columns: Iterable[Column]) -> StructType:
    """Returns these columns as Spark has them, with their comments."""
    return StructType([_field(column) for column in columns])


OUTPUT_TABLES: dict[str, StructType] = {table: schema_of(columns) for table, columns in TABLE_COLUMNS.items()}
