"""Frames computed once and held by the executors, on two of them each where an executor can be lost."""

from __future__ import annotations

from pyspark import SparkContext, StorageLevel
from pyspark.sql import DataFrame


def held(frame: DataFrame) -> DataFrame:
    """Compute a frame now and cut it off from how it came about.

    Nothing could compute its blocks again. So every block is on two executors: one lost executor costs the time of its tasks
    only, and Spark copies what it held once more (spark.storage.replication.proactive). In local mode there is one process,
    and one copy.
    """
    if is_local(frame.sparkSession.sparkContext):
        return frame.localCheckpoint()
    return frame.localCheckpoint(storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def is_local(context: SparkContext) -> bool:
    """Tells whether the driver's process is the only one; in local-cluster mode it is not."""
    return str(context.master).split("[")[0] == "local"
