"""What must not matter: jobs and blocks, whether a scenario runs alone or among others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.engine import compiled_engine
from tests.engine_helpers import Row, emulate, of_scenario
from tests.reference.random_scenarios import random_batch, to_toml

# broker_rounds has buckets of the longest scenario's length: it is told in other portions among others.
TABLES = ("outcomes", "events", "replicas", "leader_epochs", "partitions", "trace", "trace_partitions")
PARTITIONS = 15
VARIANTS = """
[[variants]]
name = "longer"
rounds = 33

[[variants]]
name = "base-again"
"""


def content(tables: dict[str, list[Row]], scenario: str) -> dict[str, Counter[str]]:
    """The rows of one scenario as multisets, without its id."""
    rows = of_scenario(tables, scenario)
    return {name: Counter(repr({k: v for k, v in row.items() if k != "scenario_id"}) for row in rows[name]) for name in TABLES}


def test_jobs_and_company_change_nothing(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_toml(random_batch(0, PARTITIONS))
    among_others = emulate(spark, text + VARIANTS, tmp_path / "many")

    monkeypatch.setattr(compiled_engine, "is_for_driver", lambda *_: False)
    monkeypatch.setattr(compiled_engine, "JOB_WEIGHT", 20_000.0)
    alone = emulate(spark, text, tmp_path / "alone")

    expected = content(alone, "base")
    assert sum(expected["outcomes"].values()) == PARTITIONS
    for name in ("base", "base-again"):
        seen = content(among_others, name)
        for table in TABLES:
            assert seen[table] == expected[table], (name, table, differing(seen[table], expected[table]))


def differing(left: Counter[str], right: Counter[str]) -> list[Any]:
    """A few rows that only one side has."""
    return [*list(left - right)[:3], *list(right - left)[:3]]


RECORD_BYTES = 100
BUCKETS = """
rounds = 200
time_buckets = {time_buckets}
[cluster]
brokers = 4
[[topics]]
name = "orders"
partitions = 3
replication_factor = 3
[[workload]]
topic = "orders"
records_per_round = 2
record_bytes = 100
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 60
to_round = 110
"""


@pytest.mark.parametrize("mode", ["plain", "leap"])
def test_time_buckets_cut_the_run_finer(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    """What brokers carry in a coarse bucket is the sum of the fine ones in it; how they stand at its end is the same."""
    fine, coarse = (
        emulate(spark, f'mode = "{mode}"' + BUCKETS.format(time_buckets=n), tmp_path / str(n))["broker_rounds"] for n in (8, 2)
    )
    assert (len(fine), len(coarse)) == (8 * 4, 2 * 4)
    for row in coarse:
        within = [r for r in fine if r["broker"] == row["broker"] and row["from_round"] <= r["from_round"] < row["to_round"]]
        assert sorted((r["from_round"], r["to_round"]) for r in within) == [
            (first, first + 25) for first in range(row["from_round"], row["to_round"], 25)
        ]
        for name in ("bytes_in", "bytes_produced", "bytes_out", "up_rounds"):
            assert sum(r[name] for r in within) == row[name], (row["broker"], name)
        last = max(within, key=lambda r: r["to_round"])
        for name in ("leader_count", "follower_count", "up", "local_bytes"):
            assert last[name] == row[name], (row["broker"], name)
    assert any(row["up_rounds"] < 100 for row in coarse)


def test_what_is_produced_is_not_fetched(spark: SparkSession, tmp_path: Path) -> None:
    """In broker_rounds what brokers fetched is what brokers served, and bytes_produced is what was appended."""
    tables = emulate(spark, BUCKETS.format(time_buckets=8), tmp_path / "run")
    sums = {name: sum(row[name] for row in tables["broker_rounds"]) for name in ("bytes_in", "bytes_produced", "bytes_out")}
    assert sums["bytes_in"] == sums["bytes_out"] == sum(row["replicated_bytes"] for row in tables["outcomes"]) > 0
    assert sums["bytes_produced"] == RECORD_BYTES * sum(row["appended"] for row in tables["outcomes"]) > 0
