"""Arrow tables as DataFrames."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def frame_of(spark: SparkSession, table: pa.Table, schema: StructType | None = None) -> DataFrame:
    """The table as a DataFrame, with `schema` (else Spark's of the table's own).

    Spark 4.1 stops reading at the first empty batch, so a table put together from several must not have one.
    """
    return spark.createDataFrame(cast(Any, table.combine_chunks()), schema=cast(Any, schema))
