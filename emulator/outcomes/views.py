"""Temporary views over the tables of a run, and a few on top of them that most questions start from."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from emulator.graphs.schema import GRAPH_TABLES
from emulator.outcomes.prices import PricesShape
from emulator.outcomes.view_texts import HELPER_VIEWS, WORKED_OUT_ONCE, helper_view_sql, with_sources
from emulator.storage.output_directory import OutputDirectory
from emulator.table_columns import OPEN_TABLES
from emulator.table_columns.spark_columns import OUTPUT_TABLES

ALL_TABLES = OUTPUT_TABLES | GRAPH_TABLES
SMALL_BYTES = 256 << 10
"""Of a table that is read in one part: joins and sums need no shuffle then, which takes longer than they do."""


def register(
    spark: SparkSession,
    uri: str,
    names: Collection[str] | None = None,
    prices: PricesShape | None = None,
    made: Collection[str] = (),
) -> list[str]:
    """Makes a temporary view of every table of a run and of a graph under `uri`, and the helper views; returns their names.

    `names`: only these, and what they build on, but those that are `made`. `prices`: the price table, None for the bundled one.
    A table that is not there is an empty view with the columns of its schema. A publishing that a kill cut short is finished
    first. Raises `InputError` for an address that cannot be opened, `OSError` when its files cannot be read.
    """
    directory = OutputDirectory(spark, uri, tables=ALL_TABLES)
    directory.recover()
    present = set(directory.tables())
    wanted = ({*ALL_TABLES, *HELPER_VIEWS} if names is None else with_sources(names)) - {*made}
    tables = [name for name in ALL_TABLES if name in wanted]
    helpers = [name for name in HELPER_VIEWS if name in wanted]
    for name in tables:
        frame = _read(spark, directory, name) if name in present else _empty(spark, ALL_TABLES[name])
        frame.createOrReplaceTempView(name)
    for name in helpers:
        view = spark.sql(helper_view_sql(name, prices))
        if names is not None and name in WORKED_OUT_ONCE:
            view = view.localCheckpoint()
        view.createOrReplaceTempView(name)
    return [*tables, *helpers]


def _read(spark: SparkSession, directory: OutputDirectory, name: str) -> DataFrame:
    address = directory.table_uri(name)
    schema, files = ALL_TABLES[name], directory.sizes(name)
    # Files are only looked into where they may have more columns: each look is a Spark job.
    if name in OPEN_TABLES and any(file.endswith(".parquet") for file in files):
        found = spark.read.parquet(address).schema
        schema = StructType([*schema.fields, *(field for field in found.fields if field.name not in schema.names)])
    rows = spark.read.schema(schema).parquet(address)
    return rows.coalesce(1) if sum(files.values()) <= SMALL_BYTES else rows


def _empty(spark: SparkSession, schema: StructType) -> DataFrame:
    columns = [F.lit(None).cast(f.dataType).alias(f.name, metadata=f.metadata) for f in schema.fields]
    return spark.range(0, 0, 1, 1).select(*columns)
