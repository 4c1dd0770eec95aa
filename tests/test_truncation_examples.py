"""The bundled examples of how Kafka's generations cut logs, each with the outcome that its source tells of."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.scenario import load_run
from tests.engine_helpers import Row, emulate, of_scenario

EXAMPLES = Path(__file__).parent.parent / "datasets" / "examples"
AGREED = {1: [[0, 0], [2, 21]], 2: [[0, 0], [2, 21]]}
CUT = {1: [[0, 0], [2, 11]], 2: [[0, 0], [2, 11]]}
DIVERGED = {1: [[0, 0], [2, 21]], 2: [[0, 0], [1, 11], [2, 21]]}
STUCK = {1: [[0, 0], [2, 21]], 2: [[0, 0], [1, 11]]}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """Every scenario of KAFKA-6361, in one run."""
    return emulate(spark, load_run(str(EXAMPLES / "kafka_6361.toml")), tmp_path_factory.mktemp("examples") / "out", "none")


@pytest.mark.parametrize(
    ("scenario", "caches", "leos"),
    [
        ("base", {"n15": AGREED, "n20": AGREED, "n25": AGREED}, {"n15": 31, "n20": 31, "n25": 31}),
        ("kip279", {"n15": AGREED, "n20": AGREED, "n25": AGREED}, {"n15": 31, "n20": 31, "n25": 31}),
        ("kip101", {"n15": STUCK, "n20": DIVERGED, "n25": AGREED}, {"n15": 16, "n20": 31, "n25": 31}),
        ("high-watermark", {"n15": CUT, "n20": CUT, "n25": CUT}, {"n15": 21, "n20": 21, "n25": 21}),
    ],
)
def test_kafka_6361(
    tables: dict[str, list[Row]], scenario: str, caches: dict[str, dict[int, list[list[int]]]], leos: dict[str, int]
) -> None:
    """`caches`: topic -> broker -> leader epoch cache at the end; `leos`: topic -> LEO of broker 2."""
    mine = of_scenario(tables, scenario)
    found: dict[str, dict[int, list[list[int]]]] = {topic: {1: [], 2: []} for topic in caches}
    for row in sorted(mine["leader_epochs"], key=lambda row: row["epoch"]):
        found[row["topic"]][row["broker"]].append([row["epoch"], row["start_offset"]])
    assert found == caches
    assert {row["topic"]: row["leo"] for row in mine["replicas"] if row["broker"] == 2} == leos
