"""Temporary views over the tables of a run, and a few on top of them that most questions start from."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib import resources

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from emulator.files import files_of
from emulator.outcomes.prices import PRICE_VIEWS, PricesShape, load_prices, price_view_sql
from emulator.schema import OUTPUT_TABLES
from emulator.storage import OPEN_TABLES, OutputDirectory

# In the order they build on one another.
HELPER_VIEWS = (
    "event_causes",
    "lost",
    "topic_availability",
    "isr_recoveries",
    "leader_gaps",
    "diverged",
    "controller_rounds",
    "replica_rounds",
    "leader_rounds",
    "fault_rounds",
    *PRICE_VIEWS,
    "remote_attempts",
    "unreferenced_segments",
    "held_twice",
    "consumer_reads",
    "follower_catch_ups",
    "tiering_partitions",
    "tiering_rounds",
    "tiering_brokers",
    "tiering_fleets",
    "tiering_cost_items",
    "quorum_holdings",
    "ledger_tiers",
    "quorum_partitions",
)

# Views that several others add up: a query that asks for them by name has each worked out once.
WORKED_OUT_ONCE = ("held_twice", "tiering_partitions", "tiering_rounds", "tiering_brokers")


def register(spark: SparkSession, uri: str, names: Collection[str] | None = None, prices: PricesShape | None = None) -> list[str]:
    """Makes a temporary view of every output table under `uri`, and the helper views; returns their names.

    `names`: only these, and what they build on. `prices`: the price table, None for the bundled one. A table that is not there
    is an empty view with the columns of its schema. A publishing that a kill cut short is finished first. Raises `InputError`
    for an address that cannot be opened, `OSError` when its files cannot be read.
    """
    directory = OutputDirectory(spark, uri)
    directory.recover()
    present = set(directory.tables())
    wanted = {*OUTPUT_TABLES, *HELPER_VIEWS} if names is None else with_sources(names)
    tables = [name for name in OUTPUT_TABLES if name in wanted]
    helpers = [name for name in HELPER_VIEWS if name in wanted]
    for name in tables:
        frame = _read(spark, directory, uri, name) if name in present else _empty(spark, OUTPUT_TABLES[name])
        frame.createOrReplaceTempView(name)
    for name in helpers:
        view = spark.sql(helper_view_sql(name, prices))
        if names is not None and name in WORKED_OUT_ONCE:
            view = view.localCheckpoint()
        view.createOrReplaceTempView(name)
    return [*tables, *helpers]


def names_in(sql: str) -> set[str]:
    """Returns the tables and helper views that a query may mean: those whose names are words of it."""
    words = set(re.findall(r"\w+", sql.lower()))
    return words & {*OUTPUT_TABLES, *HELPER_VIEWS}


def helper_view_sql(name: str, prices: PricesShape | None = None) -> str:
    """Returns the SQL behind a helper view; its first lines say what it holds. `prices`: None for the bundled table."""
    if name in PRICE_VIEWS:
        return price_view_sql(name, prices or load_prices())
    return resources.files("emulator.outcomes").joinpath("helper_views").joinpath(f"{name}.sql").read_text("utf-8")


def _read(spark: SparkSession, directory: OutputDirectory, uri: str, name: str) -> DataFrame:
    address = directory.table_uri(name)
    schema = OUTPUT_TABLES[name]
    # Files are only looked into where they may have more columns: each look is a Spark job.
    if name in OPEN_TABLES and any(file.endswith(".parquet") for file in files_of(spark, uri).sizes(name)):
        found = spark.read.parquet(address).schema
        schema = StructType([*schema.fields, *(field for field in found.fields if field.name not in schema.names)])
    return spark.read.schema(schema).parquet(address)


def _empty(spark: SparkSession, schema: StructType) -> DataFrame:
    columns = [F.lit(None).cast(f.dataType).alias(f.name, metadata=f.metadata) for f in schema.fields]
    return spark.range(0).select(*columns)


def with_sources(names: Collection[str]) -> set[str]:
    """These tables and views, and what they build on."""
    wanted = set(names)
    for helper in reversed(HELPER_VIEWS):
        if helper in wanted:
            wanted |= names_in(re.sub(r"--.*", "", helper_view_sql(helper)))
    return wanted
