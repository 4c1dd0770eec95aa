"""What a worker of Spark has loaded is neither looked through after every task nor looked for before it."""

from __future__ import annotations

import gc
import importlib
import sys
import zipimport
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import ZipFile

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


def test_archives_are_not_read_again_and_are_still_imported_from(spark: SparkSession, tmp_path: Path) -> None:
    """As on executors, which have PySpark from one."""
    archive = tmp_path / "of_an_executor.zip"
    with ZipFile(archive, "w") as written:
        written.writestr("from_an_archive.py", "")

    def archives() -> int:
        return sum(isinstance(finder, zipimport.zipimporter) for finder in sys.path_importer_cache.values())

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            sys.path.insert(0, str(archive))
            importlib.import_module("from_an_archive")
            read = archives()
            keep_loaded()
            left = archives()
            module = importlib.reload(sys.modules["from_an_archive"])
            sys.path.remove(str(archive))
            columns = {"read": read > 0, "left": left > 0, "found": ".zip" in str(module.__file__)}
            yield pa.RecordBatch.from_pydict({name: pa.array([is_so] * batch.num_rows) for name, is_so in columns.items()})

    (row,) = spark.range(1).repartition(1).mapInArrow(counted, "read boolean, left boolean, found boolean").collect()
    assert (row.read, row.left, row.found) == (True, False, True)
