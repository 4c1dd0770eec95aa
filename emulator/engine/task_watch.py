"""How many tasks of a Spark job have ended while it runs, for progress: by classic Spark's status tracker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from emulator.spark.classic import status_tracker
from emulator.spark.spark_errors import SPARK_ERRORS, SPARK_OR_FILE_ERRORS

SECONDS_BETWEEN_LOOKS = 1.0

LOOKS_BETWEEN_WORDS = 5
"""Looks after which the same number is told again: the time goes on, and what is left of it changes."""

_NO_TRACKER: tuple[type[Exception], ...] = (AttributeError, *SPARK_ERRORS)


@contextmanager
def watching(spark: SparkSession, tasks: int, tell: Callable[[int], None]) -> Iterator[None]:
    """While the block runs, `tell` how many tasks of a stage of so many have ended, when it is more and every few seconds.

    It is called in a thread of its own. Spark Connect, which has no status tracker, tells nothing.
    """
    try:
        tracker = status_tracker(spark)
        others = set(tracker.getActiveStageIds())
    except _NO_TRACKER:  # Spark Connect has none
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(tracker, others, tasks, tell, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(tracker: Any, others: set[int], tasks: int, tell: Callable[[int], None], ended: threading.Event) -> None:
    told = silent = 0
    while not ended.wait(SECONDS_BETWEEN_LOOKS):
        try:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds() if stage not in others]
        except SPARK_OR_FILE_ERRORS:  # Java is going down
            return
        completed = max((stage.numCompletedTasks for stage in stages if stage and stage.numTasks == tasks), default=0)
        silent += 1
        if (completed > told or (stages and silent >= LOOKS_BETWEEN_WORDS)) and not ended.is_set():
            told, silent = max(told, completed), 0
            tell(told)
