"""What a worker of Spark has loaded is neither looked through after every task nor looked for before it."""

from __future__ import annotations

import gc
import importlib
import sys
import zipimport
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


def test_archives_are_not_read_again_and_are_still_imported_from(spark: SparkSession) -> None:
    def archives() -> int:
        return sum(isinstance(finder, zipimport.zipimporter) for finder in sys.path_importer_cache.values())

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keep_loaded()
            left = archives()
            sys.modules.pop("pyspark.sql.avro.functions", None)
            module = importlib.import_module("pyspark.sql.avro.functions")
            columns = {"archives": left, "found": ".zip" in str(module.__file__)}
            yield pa.RecordBatch.from_pydict({name: pa.array([int(n)] * batch.num_rows) for name, n in columns.items()})

    rows = spark.range(1).repartition(1).mapInArrow(counted, "archives long, found long").collect()
    assert [(row.archives, row.found) for row in rows] == [(0, 1)]
