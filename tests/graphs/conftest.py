"""The backends that every test of a graph's answers runs on."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from emulator.graphs.backends import Graphs
from emulator.graphs.backends.in_driver import InDriver
from emulator.graphs.backends.in_graphframes import InGraphFrames, missing_part


@pytest.fixture(params=["driver", "graphframes"])
def graphs(request: pytest.FixtureRequest) -> Graphs:
    """A backend; GraphFrames where Spark has its classes (docs/graphs.md says how), else the test says that it did not run."""
    if request.param == "driver":
        return InDriver()
    return graphframes_of(request.getfixturevalue("spark"))


def graphframes_of(spark: SparkSession) -> Graphs:
    missing = missing_part(spark)
    if missing is not None:
        pytest.skip(f"GraphFrames: {missing}")
    return InGraphFrames(spark)
