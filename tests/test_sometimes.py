"""What must happen sometimes: every rare branch of the protocol is reached by the random scenarios, so that they test it.

Equality with the reference (test_differential.py) says nothing of a branch that no case gets into.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator import engine
from emulator.outcomes.sql import run_sql
from emulator.run import run_emulation
from tests.engine_helpers import run_of
from tests.reference.random_scenarios import random_batch, to_toml

SCENARIOS = Path(__file__).parent / "scenarios"
ELR_SEED, ELR_CASES = 99, 400
# Without eligible leader replicas: the last member stays in the ISR, and every unclean election is one by config.
SEED, CASES = 2, 100
# Random cases get there in round 0 at best, by initial logs that no round has made.
BY_HAND = ("log_above_leaders_end.toml",)


def test_every_rare_branch_is_reached(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_tasks", lambda *_: 2)
    batches = {
        "elr": random_batch(ELR_SEED, ELR_CASES, elr=True, late_news=True),
        "no_elr": random_batch(SEED, CASES),
    }
    for name, batch in batches.items():
        (tmp_path / f"{name}.toml").write_text(to_toml(batch))
    paths = [*(tmp_path / f"{name}.toml" for name in batches), *(SCENARIOS / name for name in BY_HAND)]
    run_emulation(run_of(paths), str(tmp_path / "out"), spark, trace="all")
    columns, answer = run_sql(str(tmp_path / "out"), "@which_rare_branches_were_reached", spark)
    rows = list(answer)
    assert columns == ["branch", "partitions", "first"]
    assert len(rows) > 50
    table = "\n".join(f"{branch!s:40} {partitions:5}  {first}" for branch, partitions, first in rows)
    assert all(branch is not None for branch, _, _ in rows), f"a branch is looked for, but not listed:\n{table}"
    assert all(partitions > 0 for _, partitions, _ in rows), f"never reached:\n{table}"
    print(table)
