"""Workers of Spark start while the driver prepares, and nothing waits for them."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession

from emulator.engine import early_workers
from emulator.engine.compiled_engine import CompiledEngine
from emulator.engine.early_workers import is_surely_large, start_workers
from emulator.engine.worker_daemon import without_installed
from emulator.scenario import load_run
from emulator.session import WORKER_DAEMON


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


def test_their_daemon_has_it_too_and_takes_pyspark_where_it_is_installed(spark: SparkSession) -> None:
    def seen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        command = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")
        for batch in batches:
            columns = {"command": command[2], "pyspark": str(pyspark.__file__), "frozen": gc.get_freeze_count()}
            yield pa.RecordBatch.from_pydict({name: pa.array([value] * batch.num_rows) for name, value in columns.items()})

    (row,) = spark.range(1).mapInArrow(seen, "command string, pyspark string, frozen long").collect()
    assert row.command == WORKER_DAEMON
    assert Path(row.pyspark).resolve() == Path(pyspark.__file__).resolve()
    assert row.frozen > 100_000


def test_other_archives_are_left_where_they_are() -> None:
    installed = Path(pyspark.__file__).parent
    own = [str(installed / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-1-src.zip")]
    others = ["/opt/spark/python/lib/pyspark.zip", "/opt/jobs.zip", str(installed.parent), "/opt/spark-core.jar"]
    assert without_installed([*own, *others]) == others
    assert without_installed([*own, *others[:2]]) == [*own, *others[:2]], "it is not installed where Python looks"


def test_where_spark_is_gone_nothing_is_said() -> None:
    class Gone:
        def range(self, count: int) -> None:
            raise OSError("gone")

    early_workers._start(Gone())  # type: ignore[arg-type]


LEAST = """
name = "least"
rounds = 1
protocol = "PROTOCOL"
[cluster]
brokers = 3
[[topics]]
name = "t"
partitions = PARTITIONS
replication_factor = REPLICAS
"""


@pytest.mark.parametrize(
    ("protocol", "partitions", "replicas", "cores", "is_sure"),
    [
        ("kafka", 70_000, 1, None, True),
        ("kafka", 60_000, 1, None, False),
        ("kafka", 70_000, 3, 2, False),
        ("kafka", 350_000, 3, 2, True),
        ("bookkeeper", 70_000, 1, None, False),
    ],
)
def test_what_is_surely_large_is_not_small(
    tmp_path: Path, protocol: str, partitions: int, replicas: int, cores: int | None, is_sure: bool
) -> None:
    """One round: the least that so many partitions can be. Two cores: of the driver's machine."""
    text = LEAST.replace("PROTOCOL", protocol).replace("PARTITIONS", str(partitions))
    text = text.replace("replication_factor = REPLICAS\n", f"replication_factor = {replicas}\n" if protocol == "kafka" else "")
    (tmp_path / "least.toml").write_text(text)
    run = load_run(str(tmp_path / "least.toml"))
    assert is_surely_large(run.scenarios, cores) is is_sure
    if is_sure:
        flags = {scenario.scenario_id: np.zeros(partitions, bool) for scenario in run.scenarios}
        assert not CompiledEngine(run.scenarios, flags, True, 1).is_small(cores)
