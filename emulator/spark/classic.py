"""What classic Spark has no public API for, in one place, each use with its reason. Spark Connect has none of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyspark import SparkContext, StatusTracker
from pyspark.sql import SparkSession


class Java(NamedTuple):
    """The driver's Java, as Py4J reaches it: its gateway, its classes by name, Hadoop's settings of the session."""

    gateway: Any
    classes: Any
    hadoop_conf: Any


def java_of(spark: SparkSession) -> Java:
    """For Hadoop's file calls (rename, list, delete) on any file system: Spark's Python API only reads and writes tables."""
    context = spark.sparkContext
    return Java(context._gateway, context._jvm, context._jsc.hadoopConfiguration())


def status_tracker(spark: SparkSession) -> StatusTracker:
    """For progress: how many tasks of a job have ended. Public, but of a context. Raises an error where there is none."""
    return spark.sparkContext.statusTracker()


def is_of_same_context(one: SparkSession, other: SparkSession) -> bool:
    """Whether two sessions stop together: Python's objects for one session are not the same one."""
    return one.sparkContext is other.sparkContext


def has_context() -> bool:
    """Tells whether this process has a Spark, even one without an active session in this thread: it is not ours to configure."""
    return SparkContext._active_spark_context is not None


def java_process() -> Any | None:
    """The Java process that this one started, None if it did not: there is no other way to wait for its end."""
    return getattr(SparkContext._gateway, "proc", None)


def connect_to_submitted() -> None:
    """Reach the Java that spark-submit started, so that SparkConf has the settings it was given."""
    SparkContext._ensure_initialized()
