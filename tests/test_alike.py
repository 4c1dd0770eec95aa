"""Partitions that go through the same share a state: with and without that, every table has the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from emulator.engine import expressions_engine
from emulator.inputs import find_alike, scenario_inputs
from emulator.scenario import load_run
from tests.engine_helpers import Row, emulate

SCENARIO = """
rounds = 40
cluster = { brokers = 6, racks = 2, session_timeout_rounds = 3, config = { "replica.lag.time.max.ms" = 2000 } }
workload = [
  { topic = "*", records_per_round = 3, record_bytes = 100, acks = "1" },
  { topic = "orders", partitions = "0-23", records_per_round = 2, record_bytes = 50, acks = "all" },
]
faults = [
  { kind = "power_loss", broker = 1, from_round = 6, to_round = 18 },
  { kind = "isolation", broker = 2, from_round = 10, to_round = 20 },
  { kind = "link_cut", broker = 3, peer = 4, from_round = 24, to_round = 34 },
]
commands = [
  { round = 25, kind = "preferred_leader_election", topic = "orders" },
  { round = 12, kind = "reassign", topic = "orders", partition = 3, replicas = [3, 4] },
]
variants = [{ name = "unclean", topics = [{ name = "orders", config = { "unclean.leader.election.enable" = true } }] }]
[[topics]]
name = "orders"
partitions = 48
replication_factor = 2
[[topics]]
name = "logs"
partitions = 24
replication_factor = 3
[[initial.replicas]]
topic = "logs"
partition = 6
broker = 1
leo = 7
epochs = [[0, 0]]
[[initial.replicas]]
topic = "logs"
partition = 18
broker = 1
leo = 7
epochs = [[0, 0]]
"""
TRACED = "orders:4,orders:6,orders:17,orders:18,orders:13,orders:36,logs:2"


def sorted_rows(tables: dict[str, list[Row]]) -> dict[str, list[str]]:
    return {name: sorted(map(str, rows)) for name, rows in tables.items() if name != "runs"}


def test_alike_partitions_have_the_rows_they_would_have_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = sorted_rows(emulate(spark, SCENARIO, tmp_path / "shared", TRACED, engine="expressions"))
    monkeypatch.setattr(expressions_engine, "find_alike", lambda *_: None)
    alone = sorted_rows(emulate(spark, SCENARIO, tmp_path / "alone", TRACED, engine="expressions"))
    assert {name for name, rows in alone.items() if rows} >= {"outcomes", "events", "trace", "broker_rounds", "leader_epochs"}
    for name, rows in alone.items():
        assert shared[name] == rows, name


def test_what_sets_partitions_apart(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    inputs = scenario_inputs(load_run(str(path)).scenarios[0])
    table, traced = inputs.partition_table, np.zeros(72, bool)
    assert table.world_id[6] == table.world_id[18] == table.world_id[36]
    group = find_alike(inputs, traced).group
    assert group[6] == group[18] and group[6] != group[36], "another workload"
    assert group[3] not in np.delete(group, 3), "a command of its own"
    assert table.world_id[54] == table.world_id[66] and group[54] == group[66], "equal starts"
    assert group[54] not in np.delete(group, [54, 66]), "a start that others lack"
    assert table.world_id[4] != table.world_id[17] and group[4] == group[17], "other brokers, to which nothing happens either"
    assert find_alike(inputs, traced, by_broker=True).group[4] != find_alike(inputs, traced, by_broker=True).group[17], "budgets"
    assert group[8] != group[11] and group[8] != group[4], "a link of its broker is cut"
    traced[18] = True
    assert find_alike(inputs, traced).group[6] != find_alike(inputs, traced).group[18], "traced"
