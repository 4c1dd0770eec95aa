"""Writes a run's tables as Parquet files of their schemas: what Spark has, what is packed, what the driver holds."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from emulator.arrow.encodings import encodings
from emulator.arrow.frames import frame_of
from emulator.arrow.packs import WRITTEN, PackedRows, write_packs
from emulator.arrow.schemas import from_arrow_schema, to_arrow_schema
from emulator.session import local_cores
from emulator.storage.files import Files
from emulator.table_columns import OPEN_TABLES

DRIVER_WRITES_UP_TO_ROWS = 100_000
# Where Spark looks for its own types and the columns' comments in a Parquet file: a name in the file, no class. Without it
# comments would be in tables only that Spark itself has written, by a job each.
SPARK_SCHEMA_KEY = "org.apache.spark.sql.parquet.row.metadata"


class TableWriter:
    """Writes tables into one folder, a folder each.

    `files`: the output folder's; `folder`: the one in it that is written to. `run_id` is in the names of files that the
    driver writes. `schemas`: the tables that there are.
    """

    def __init__(self, spark: SparkSession, files: Files, folder: str, run_id: str, schemas: Mapping[str, StructType]) -> None:
        self._spark = spark
        self._files = files
        self._folder = folder
        self._run_id = run_id
        self._schemas = schemas

    def path(self, table: str) -> str:
        """Returns the address to write a table to, which must be one of the schemas'."""
        if table not in self._schemas:
            raise ValueError(f"{table!r} is no output table; they are {', '.join(self._schemas)}")
        return self._files.uri(f"{self._folder}/{table}")

    def write(self, table: str, rows: DataFrame | PackedRows | pa.Table) -> None:
        """Writes a table as Parquet, with the columns and types of its schema in their order.

        What the driver holds already (a `pyarrow.Table`) needs no Spark job, each of which costs a third of a second, but where
        many rows go to another machine. Where tasks run on this one and the folder is there, too, they write what is packed as
        it is: Java's rows take ten times as long.
        Raises `ValueError` when `rows` lacks a column, or has one more than the schema (`scenarios` may).
        """
        if isinstance(rows, PackedRows):
            self._write_packs(table, rows)
        elif isinstance(rows, DataFrame):
            self._checked(table, rows).write.mode("overwrite").parquet(self.path(table))
        elif rows.num_rows > DRIVER_WRITES_UP_TO_ROWS and self._own_folder(table) is None:
            self.write(table, frame_of(self._spark, rows))
        else:
            self._write_arrow(table, rows.select(self._schemas[table].names), self._schemas[table])

    def write_rows(self, table: str, rows: Iterable[Sequence[Any]], schema: StructType | None = None) -> None:
        """Writes a small table from tuples in the order of its schema, or of `schema` where that has more columns."""
        schema = schema or self._schemas[table]
        self._write_arrow(table, table_of_rows(rows, schema), schema)

    def _write_packs(self, table: str, rows: PackedRows) -> None:
        folder, schema = self._own_folder(table), self._schemas[table]
        if folder is None:
            self.write(table, rows.rows())
            return
        self._refuse_columns(table, rows.schema.names)
        self._files.delete(f"{self._folder}/{table}")
        writing = partial(write_packs, folder, self._run_id, _parquet_schema(schema))
        written = rows.packs.mapInArrow(writing, from_arrow_schema(WRITTEN)).agg(F.sum("rows")).collect()
        if not written[0][0]:
            self._write_arrow(table, to_arrow_schema(schema).empty_table(), schema)

    def _own_folder(self, table: str) -> str | None:
        """The path of a table's folder where tasks run on this machine and so does the folder, else None."""
        uri = self.path(table)
        if not uri.startswith("file:") or local_cores(self._spark) is None:
            return None
        return "/" + uri.removeprefix("file:").lstrip("/")

    def _write_arrow(self, table: str, rows: pa.Table, schema: StructType) -> None:
        arrow = _parquet_schema(schema)
        content = io.BytesIO()
        pq.write_table(rows.cast(arrow.remove_metadata()).cast(arrow), content, **encodings(arrow))
        self._files.delete(f"{self._folder}/{table}")
        # No other run's file has this name: what is of the same size would be taken for published already.
        self._files.write_bytes(f"{self._folder}/{table}/part-00000-{self._run_id}.parquet", content.getvalue())

    def _checked(self, table: str, rows: DataFrame) -> DataFrame:
        extra = [F.col(f"`{name}`") for name in self._refuse_columns(table, rows.columns)]
        return rows.select(*map(_typed, self._schemas[table].fields), *extra)

    def _refuse_columns(self, table: str, columns: Sequence[str]) -> list[str]:
        """The columns that a table's schema does not have, where it may have such; raises ValueError for wrong ones."""
        names = self._schemas[table].names
        missing = [name for name in names if name not in columns]
        further = [name for name in columns if name not in names]
        if missing or (further and table not in OPEN_TABLES):
            raise ValueError(f"table {table}: missing columns {missing}, columns not in its schema {further}")
        return further


def _parquet_schema(schema: StructType) -> pa.Schema:
    """The columns of a Parquet file, with what Spark looks for in it."""
    return to_arrow_schema(schema).with_metadata({SPARK_SCHEMA_KEY: schema.json()})


def table_of_rows(rows: Iterable[Sequence[Any]], schema: StructType) -> pa.Table:
    """Tuples in the order of a schema as an Arrow table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrow = to_arrow_schema(schema)
    arrays = [pa.array(map(_arrow_value, column), kind) for column, kind in zip(columns, arrow.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=arrow)


def _typed(field: StructField) -> Any:
    return F.col(field.name).cast(field.dataType).alias(field.name, metadata=field.metadata)


def _arrow_value(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value
