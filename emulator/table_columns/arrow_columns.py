"""Columns of `emulator.table_columns` as Arrow has them, without Spark: importing its types takes as long as a short answer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pyarrow as pa

from emulator.table_columns import TABLE_COLUMNS, Column

_SIMPLE = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@cache
def arrow_schema(table: str) -> pa.Schema:
    """The Arrow schema of an output table."""
    return schema_of(TABLE_COLUMNS[table])


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of columns, nullability included; raises ValueError for a type that no table here has."""
    return pa.schema([pa.field(column.name, _type(column.kind), column.nullable) for column in columns])


def _type(kind: str) -> pa.DataType:
    """Of a type as Spark's DDL writes it, as in array<struct<epoch:int,start_offset:bigint>>."""
    outer, _, inner = kind.removesuffix(">").partition("<")
    if outer == "array":
        return pa.list_(pa.field("element", _type(inner), False))
    if outer == "map":
        key, value = inner.split(",", 1)
        return pa.map_(pa.field("key", _type(key), False), pa.field("value", _type(value), False))
    if outer == "struct":
        fields = (part.split(":", 1) for part in _parts(inner))
        return pa.struct([pa.field(name, _type(each), False) for name, each in fields])
    if kind not in _SIMPLE:
        raise ValueError(f"no Arrow type for {kind}")
    return _SIMPLE[kind]


def _parts(text: str) -> list[str]:
    """What commas part that stand in no <>."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
