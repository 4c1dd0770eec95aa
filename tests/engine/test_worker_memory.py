"""What a worker of Spark has loaded is not looked through after every task."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from emulator.engine.worker_memory import keep_loaded


def test_in_a_worker_and_not_in_a_driver(spark: SparkSession) -> None:
    def kept(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keep_loaded()
            yield pa.RecordBatch.from_pydict({"kept": pa.array([gc.get_freeze_count()] * batch.num_rows, pa.int64())})

    before = gc.get_freeze_count()
    keep_loaded()
    assert gc.get_freeze_count() == before
    rows = spark.range(1).mapInArrow(kept, "kept long").collect()
    assert [row.kept > 1000 for row in rows] == [True]
