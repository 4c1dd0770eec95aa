"""The one Spark session of the test suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from emulator.session import get_session, stop_if_ours


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small local session, started by the first test that asks for it."""
    session = get_session(
        master="local[2]",
        conf={"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "2"},
        app_name="emulator-tests",
    )
    yield session
    stop_if_ours(session)
