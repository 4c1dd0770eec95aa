"""What must happen sometimes: every rare branch of the protocol is reached by the random scenarios, so that they test it.

Equality with the reference says nothing of a branch that no case gets into. That of these very batches is looked at without
Spark (rounds/kafka/test_against_reference.py).
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from emulator.outcomes.ask import Asker
from tests.reference.random_scenarios import random_batch
from tests.test_differential import emulate_batches

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


def test_every_rare_branch_is_reached(spark: SparkSession, tmp_path: Path) -> None:
    emulate_batches(spark, BATCHES, tmp_path, (SCENARIOS / name for name in BY_HAND))
    columns, answer = Asker(str(tmp_path / "out"), "duckdb", lambda: spark).ask("@which_rare_branches_were_reached")
    rows = list(answer)
    assert columns == ["branch", "partitions", "first"]
    assert len(rows) > 50
    table = "\n".join(f"{branch!s:40} {partitions:5}  {first}" for branch, partitions, first in rows)
    assert all(branch is not None for branch, _, _ in rows), f"a branch is looked for, but not listed:\n{table}"
    assert all(partitions > 0 for _, partitions, _ in rows), f"never reached:\n{table}"
    print(table)
