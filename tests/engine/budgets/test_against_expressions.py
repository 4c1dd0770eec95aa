"""Partitions that share budgets and have remote storage or readers: compiled rounds against rounds as SQL text."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.engine.budgets.random_scenarios import scenario_text
from tests.engine_helpers import Row, emulate, of_scenario, run_of

SEEDS = (1, 3, 4, 6, 7)
OTHER_ROWS = {"runs", "invariants"}
"""A run's own, and which invariants rounds look at."""


def test_tiers_and_readers(spark: SparkSession, tmp_path: Path) -> None:
    paths = []
    for seed in SEEDS:
        paths.append(tmp_path / f"{seed}.toml")
        paths[-1].write_text(scenario_text(seed, rounds=100, tiered=True, read=seed % 2 > 0))
    run = run_of(paths)
    compiled, others = (emulate(spark, run, tmp_path / engine, engine=engine) for engine in ("compiled", "expressions"))
    held_back = [row for row in compiled["broker_rounds"] if row["network_in_saturated_rounds"] or row["throttled_rounds"]]
    built = [row for row in compiled["events"] if row["kind"] == "aux_state_built"]
    assert len({row["scenario_id"] for row in held_back}) >= 2 and len({row["scenario_id"] for row in built}) >= 2
    for scenario in run.scenarios:
        ours, theirs = (of_scenario(tables, scenario.name) for tables in (compiled, others))
        for name in sorted(ours.keys() - OTHER_ROWS):
            assert texts(ours[name]) == texts(theirs[name]), (scenario.name, name)


def texts(rows: list[Row]) -> list[str]:
    return sorted(map(repr, rows))
