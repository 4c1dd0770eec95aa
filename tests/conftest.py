"""The one Spark session of the test suite, and the order of its files."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

import tests.quick_records  # noqa: F401
from emulator.session import get_session, stop_if_ours
from tests.engine_helpers import QUICK_JAVA
from tests.quick_rows import play_with_quick_rows

LONGEST = (
    "test_relational_rounds.py", "test_compiled.py", "test_golden.py", "test_relational_on_spark.py", "test_queries.py",
    "test_against_reference.py",
    "test_packed_cluster.py", "test_relational_check.py", "test_report.py", "test_steps.py", "test_differential.py",
    "test_relational_tables.py",
    "test_jobs.py", "test_first_copies.py", "test_groups.py", "test_readers.py", "test_tutorial.py", "test_ledger_jobs.py",
    "test_compiled_cache.py", "test_variants_random.py", "test_copies_against_reference.py", "test_schedules.py",
    "test_topics.py", "test_mixed.py", "test_duckdb.py", "test_group_leaps.py",
    "test_sql.py", "test_tier_leaps.py", "test_killed_run.py", "test_tiers.py", "test_reference.py",
    "test_sweeps.py", "test_play_shared.py", "test_metamorphic.py", "test_traced_rounds.py", "test_files.py",
)  # fmt: skip
"""Files of ten seconds of CPU time and more, about the longest first."""


def pytest_configure() -> None:
    """What collecting makes is not looked through for garbage, then or later: all of it stays to the end."""
    gc.disable()
    if os.environ.get("NUMBA_DISABLE_JIT"):
        play_with_quick_rows()


def pytest_collection_finish() -> None:
    """From here on there is some, little of it in circles: references as ordinary Python spent a sixth of their time looking."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_unconfigure() -> None:
    """Libraries that count what is left of theirs at the end find nothing."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first: of several workers, each of which takes one file after the other, none is left with a long one."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(LONGEST)))


class SparkInOne(LoadFileScheduling):
    """Files go to workers one by one, those that ask for Spark all to the same: a second Java would start and warm up else."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "spark" if asks_for_spark(file) else file


@cache
def asks_for_spark(file: str) -> bool:
    """Whether a test of a file does, or a fixture of it."""
    return "spark: SparkSession" in Path(file).read_text("utf-8")


@pytest.hookimpl(optionalhook=True)  # tests run without xdist as well
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> SparkInOne:
    """Who gives tests to workers."""
    return SparkInOne(config, log)


OF_MANY_QUERIES = "-XX:MetaspaceSize=400m -Xmn600m"
"""Room for what thousands of queries leave: else Java collects all garbage for the sake of classes, the rest every 100 MB."""

FOR_A_HANDFUL_OF_ROWS = {
    # Java's better compiler takes half of all time, and what it makes is hardly used again.
    "spark.driver.defaultJavaOptions": f"{QUICK_JAVA['JDK_JAVA_OPTIONS']} {OF_MANY_QUERIES}",
    # Likewise Spark's of queries: working a few rows out takes less than compiling does.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Nor does it pay that filters on one side of a join are worked out for the other: 4% of planning and asking.
    "spark.sql.constraintPropagation.enabled": "false",
}
"""Settings of a session that plans thousands of queries, each over next to nothing."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small local session, started by the first test that asks for it."""
    session = get_session(
        master="local[2]",
        conf={
            "spark.driver.memory": "4g",
            "spark.sql.shuffle.partitions": "2",
            **FOR_A_HANDFUL_OF_ROWS,
        },
        app_name="emulator-tests",
    )
    yield session
    stop_if_ours(session)
