"""Python workers of Spark start while the driver still prepares a run: what they import takes a second or two."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa
from pyspark.sql import SparkSession

from emulator.engine import play_blocks  # noqa: F401  # a worker that reads `_nothing` imports it, with all that plays blocks
from emulator.engine.blocks import is_for_driver
from emulator.engine.jobs import MOST_CORES
from emulator.engine.partition_work import WEIGHT_OF_ROWS
from emulator.scenario import Scenario
from emulator.scenario.protocols import PARTITIONS, system_of
from emulator.spark.spark_errors import SPARK_OR_FILE_ERRORS


def is_surely_large(scenarios: Sequence[Scenario], cores: int | None) -> bool:
    """Whether Spark jobs play a run, whatever happens in it: its replicas' rows alone are too much otherwise.

    That is certain before inputs are prepared, which takes seconds of so many. `cores`: as of blocks.is_for_driver.
    """
    of_partitions = [scenario for scenario in scenarios if system_of(scenario.protocol) == PARTITIONS]
    replicas = sum(int((topic.assignment >= 0).sum()) for scenario in of_partitions for topic in scenario.topics)
    return not is_for_driver(replicas * WEIGHT_OF_ROWS, cores)


def start_workers(spark: SparkSession) -> None:
    """Have Spark start a Python worker for each task that runs side by side; returns at once.

    Nothing waits for it: the first job finds the workers as far as they are, and what keeps them from starting keeps that too.
    """
    threading.Thread(target=_start, args=(spark,), daemon=True).start()


def _start(spark: SparkSession) -> None:
    with suppress(*SPARK_OR_FILE_ERRORS):
        spark.range(MOST_CORES).mapInArrow(_nothing, "id bigint").count()


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield from ()
