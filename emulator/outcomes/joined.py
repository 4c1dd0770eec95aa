"""The tables of several systems as one set of tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from emulator.arrow.frames import frame_of
from emulator.arrow.packs import PackedRows
from emulator.arrow.schemas import to_arrow_schema
from emulator.table_columns.spark_columns import OUTPUT_TABLES

Rows: TypeAlias = DataFrame | PackedRows | pa.Table


@dataclass(frozen=True)
class Deferred:
    """A table that takes Spark jobs of its own: they run while others are written."""

    rows: Callable[[], Rows]


Tables = dict[str, Rows | Deferred]

OF_SYSTEMS = ("invariants",)
"""Tables whose rows several engines of one system have, and that are there once."""


def empty_table(name: str) -> pa.Table:
    """An output table without rows."""
    return to_arrow_schema(OUTPUT_TABLES[name]).empty_table()


def joined_tables(spark: SparkSession, of_systems: Sequence[Tables], names: Collection[str]) -> Tables:
    """The rows of every system's tables under each of these names; a table that no system has is empty."""
    return {name: _joined(spark, name, [tables[name] for tables in of_systems if name in tables]) for name in names}


def rows_of_table(table: Rows | Deferred) -> Rows:
    """The rows of a table, worked out where that was deferred."""
    return table.rows() if isinstance(table, Deferred) else table


def _joined(spark: SparkSession, name: str, parts: list[Rows | Deferred]) -> Rows | Deferred:
    def rows() -> Rows:
        return _joined_rows(spark, name, [rows_of_table(part) for part in parts])

    return Deferred(rows) if any(isinstance(part, Deferred) for part in parts) else rows()


def _joined_rows(spark: SparkSession, name: str, parts: list[Rows]) -> Rows:
    filled = [part for part in parts if not isinstance(part, pa.Table) or part.num_rows > 0]
    if not filled:
        return empty_table(name)
    arrow = [part for part in filled if isinstance(part, pa.Table)]
    if name in OF_SYSTEMS:
        filled = list(arrow := [_distinct(arrow)])
    if len(arrow) == len(filled):
        columns = arrow[0].schema.names
        return pa.concat_tables([part.select(columns).cast(arrow[0].schema) for part in arrow])
    packed = [part for part in filled if isinstance(part, PackedRows)]
    if len(packed) == len(filled):
        return reduce(PackedRows.and_those_of, packed)
    return reduce(DataFrame.unionByName, (_frame(spark, part) for part in filled))


def _frame(spark: SparkSession, part: Rows) -> DataFrame:
    if isinstance(part, PackedRows):
        return part.rows()
    return part if isinstance(part, DataFrame) else frame_of(spark, part)


def _distinct(parts: list[pa.Table]) -> pa.Table:
    """The rows of all parts, each once, in the order in which they come."""
    rows = dict.fromkeys(tuple(row.values()) for part in parts for row in part.select(parts[0].schema.names).to_pylist())
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), parts[0].schema, strict=True)]
    return pa.table(columns, schema=parts[0].schema)
