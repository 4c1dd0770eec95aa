"""Arrow tables as DataFrames."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from emulator.arrow.schemas import from_arrow_schema
from emulator.session import is_connect

ROWS_PER_TASK = 10_000
MOST_TASKS = 64
"""Spark makes a task, and then a file, of every ROWS_PER_TASK rows that the driver hands it: a thousand for a large cluster."""


def frame_of(spark: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """The table as a DataFrame, with `schema` (else Spark's of the table's own).

    Spark 4.1 stops reading at the first empty batch, so a table put together from several must not have one. Spark Connect
    finds no schema in a table without rows.
    """
    if schema is None and is_connect(spark):
        schema = from_arrow_schema(table.schema)
    frame = spark.createDataFrame(cast(Any, table.combine_chunks()), schema=cast(Any, schema))
    return frame.coalesce(MOST_TASKS) if table.num_rows > MOST_TASKS * ROWS_PER_TASK else frame
