"""What must happen sometimes: every rare branch of the protocol is reached by the random scenarios, so that they test it.

Equality with the reference (test_differential.py, and here) says nothing of a branch that no case gets into.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.outcomes.sql import run_sql
from tests.engine_helpers import Row
from tests.reference.random_scenarios import random_batch
from tests.test_differential import assert_like_reference, emulate_batches

SCENARIOS = Path(__file__).parent / "scenarios"
ELR_SEED, ELR_CASES = 99, 400
# Without eligible leader replicas: the last member stays in the ISR, and every unclean election is one by config.
SEED, CASES = 2, 100
# Random cases get there in round 0 at best, by initial logs that no round has made.
BY_HAND = ("log_above_leaders_end.toml",)


BATCHES = {
    "elr": random_batch(ELR_SEED, ELR_CASES, elr=True, late_news=True),
    "no_elr": random_batch(SEED, CASES),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sometimes")


@pytest.fixture(scope="module")
def tables(spark: SparkSession, folder: Path) -> dict[str, list[Row]]:
    """The tables of one run, which are under folder/out as well."""
    return emulate_batches(spark, BATCHES, folder, (SCENARIOS / name for name in BY_HAND))


def test_eligible_leaders_and_late_news_equal_reference(tables: dict[str, list[Row]]) -> None:
    """Eligible leader replicas with every recovery strategy, and news that come late."""
    assert_like_reference(tables, BATCHES)


@pytest.mark.usefixtures("tables")
def test_every_rare_branch_is_reached(spark: SparkSession, folder: Path) -> None:
    columns, answer = run_sql(str(folder / "out"), "@which_rare_branches_were_reached", spark)
    rows = list(answer)
    assert columns == ["branch", "partitions", "first"]
    assert len(rows) > 50
    table = "\n".join(f"{branch!s:40} {partitions:5}  {first}" for branch, partitions, first in rows)
    assert all(branch is not None for branch, _, _ in rows), f"a branch is looked for, but not listed:\n{table}"
    assert all(partitions > 0 for _, partitions, _ in rows), f"never reached:\n{table}"
    print(table)
