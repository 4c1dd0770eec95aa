"""Workers of Spark start while the driver prepares, and nothing waits for them."""

from __future__ import annotations

import threading

from pyspark.sql import SparkSession

from emulator.engine import early_workers
from emulator.engine.early_workers import start_workers


def test_they_have_what_plays_blocks(spark: SparkSession) -> None:
    before = set(threading.enumerate())
    start_workers(spark)
    for thread in set(threading.enumerate()) - before:
        thread.join(60)

    def has_it(batches):  # type: ignore[no-untyped-def]
        import sys

        import pyarrow as pa

        for batch in batches:
            found = "emulator.engine.play_blocks" in sys.modules
            yield pa.record_batch([pa.array([found] * batch.num_rows)], names=["found"])

    assert all(row.found for row in spark.range(4).mapInArrow(has_it, "found boolean").collect())


def test_where_spark_is_gone_nothing_is_said() -> None:
    class Gone:
        def range(self, count: int) -> None:
            raise OSError("gone")

    early_workers._start(Gone())  # type: ignore[arg-type]
