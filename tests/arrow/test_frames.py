"""Arrow tables that were put together from several."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from emulator.arrow.frames import frame_of


def test_rows_after_an_empty_part_are_kept(spark: SparkSession) -> None:
    schema = pa.schema([("id", pa.int32()), ("changes", pa.list_(pa.int64()))])
    first, empty, last = (
        pa.table([ids, lists], schema=schema) for ids, lists in (([1], [[5]]), ([], []), ([2, 3], [[], [6, 7]]))
    )
    for parts in ([empty, first, last], [first, empty, last], [first, last, empty], [empty]):
        table = pa.concat_tables(parts)
        assert [(row.id, row.changes) for row in frame_of(spark, table).collect()] == [
            (row["id"], row["changes"]) for row in table.to_pylist()
        ]
