"""Ledgers and partitions under the same lost node, in one run: `emulator compare --report quorums`, by hand beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.outcomes.quorum_report import quorum_report_sql
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from tests.asked import ask, rows_of
from tests.engine_helpers import Row

ROUNDS, LOST_ROUND, BACK_ROUND, RECORDS = 100, 50, 75, 20
SCENARIO = f"""
protocol = "bookkeeper"
rounds = {ROUNDS}
[cluster]
brokers = 2
[[topics]]
name = "log"
partitions = 1
replication_factor = 2
config = {{ ensembleSize = 2, writeQuorumSize = 2, ackQuorumSize = 2, "min.insync.replicas" = 2 }}
[[workload]]
topic = "log"
records_per_round = {RECORDS}
record_bytes = 100
max_in_flight = 1000
acks = "all"
[[faults]]
name = "lost node"
kind = "broker_crash"
broker = 2
from_round = {LOST_ROUND}
[[faults]]
kind = "drop_adds"
broker = 1
from_round = 10
to_round = 11
from_offset = 5000
[[commands]]
kind = "preferred_leader_election"
topic = "log"
round = 50
[[variants]]
name = "RF 2"
protocol = "kafka"
[[variants]]
name = "2/2/2 with a spare"
cluster = {{ brokers = 3 }}
[[variants]]
name = "RF 2 with a spare"
protocol = "kafka"
cluster = {{ brokers = 3 }}
[[variants]]
name = "3/2/2 with a spare"
cluster = {{ brokers = 4 }}
topics = [{{ name = "log", config = {{ ensembleSize = 3 }} }}]
[[variants]]
name = "RF 2 back empty"
protocol = "kafka"
faults = [{{ name = "lost node", kind = "disk_loss", to_round = {BACK_ROUND} }}]
topics = [{{ name = "log", config = {{ "min.insync.replicas" = 1 }} }}]
cluster = {{ brokers = 3 }}
"""
SAID_OF_THE_RUN = ("runs", "scenarios")


class Killed(Exception):
    """Stands for the death of a run."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """The scenarios of both systems, and where their tables go."""
    folder = tmp_path_factory.mktemp("quorums")
    (folder / "quorums.toml").write_text(SCENARIO)
    return load_run(str(folder / "quorums.toml")), folder / "out"


@pytest.fixture(scope="module")
def emulated(spark: SparkSession, run: tuple[Run, Path]) -> Path:
    """The folder of the run's tables."""
    run_emulation(run[0], str(run[1]), spark, mode="plain")
    return run[1]


@pytest.fixture(scope="module")
def report(emulated: Path) -> dict[str, Row]:
    """The rows of the report by scenario."""
    return {row["scenario"]: row for row in rows_of(emulated, quorum_report_sql())}


def told(report: dict[str, Row], scenario: str, *columns: str) -> tuple[Any, ...]:
    return tuple(report[scenario][column] for column in columns)


def test_a_spare_lets_a_ledger_go_on_and_not_a_partition(report: dict[str, Row]) -> None:
    """2/2/2 replaces the lost bookie; RF 2 with min.insync.replicas = 2 has no second replica, whoever else is there."""
    rest = ROUNDS - LOST_ROUND
    # The add that the dead bookie doesn't take is acknowledged in the next round, by the one that replaces it.
    assert told(report, "2/2/2 with a spare", "acked", "unwritable_rounds") == (ROUNDS * RECORDS, 1)
    # Without one the ledger is closed, with what both had.
    assert told(report, "base", "acked", "unwritable_rounds") == (LOST_ROUND * RECORDS, rest)
    for name in ("RF 2", "RF 2 with a spare"):
        # The last round's records are acknowledged in the round after it: there was none.
        acked, unwritable, lost = told(report, name, "acked", "unwritable_rounds", "acked_lost")
        assert (acked, lost) == (LOST_ROUND * RECORDS - RECORDS, 0)
        assert unwritable == rest


def test_settings_and_what_they_cost(report: dict[str, Row]) -> None:
    fixed = ("setting", "copies", "acks_needed", "answers_to_fence")
    assert told(report, "base", *fixed) == ("2/2/2", 2, 2, 1)
    assert told(report, "3/2/2 with a spare", *fixed) == ("3/2/2", 2, 2, 2)
    assert told(report, "RF 2", *fixed) == ("RF 2, min ISR 2", 2, 2, 1)
    # A batch is one request where every bookie has every entry; with striping an entry is.
    assert [row["requests_per_batch"] for row in report.values()] == [1, 1, 1, 1, 100, 1]
    # One round's entries waited a round; a partition's records wait one round each.
    assert told(report, "2/2/2 with a spare", "latency_rounds") == (1 + RECORDS / (ROUNDS * RECORDS),)
    assert report["RF 2 back empty"]["latency_rounds"] >= 2


def test_bytes_of_nodes_and_of_those_that_join(report: dict[str, Row]) -> None:
    # A ledger sends what was in flight again; a partition's empty replica fetches the whole log.
    assert told(report, "2/2/2 with a spare", "joins", "joined_bytes") == (1, RECORDS * 100)
    assert told(report, "base", "joins", "joined_bytes") == (0, 0)
    assert told(report, "2/2/2 with a spare", "node_bytes_most", "node_bytes_mean") == (200_000, round(400_000 / 3))
    joins, moved = told(report, "RF 2 back empty", "joins", "joined_bytes")
    assert joins == 1
    assert BACK_ROUND * RECORDS * 100 <= moved <= (BACK_ROUND + 20) * RECORDS * 100


def test_every_sum_is_one_of_rows(emulated: Path, report: dict[str, Row]) -> None:
    sums = "sum(unwritable_rounds), sum(acked), sum(acked_lost), sum(joins), sum(joined_bytes)"
    query = f"SELECT name, {sums} FROM quorum_partitions JOIN scenarios USING (scenario_id) GROUP BY name"
    _, rows = ask(emulated, query)
    names = ("unwritable_rounds", "acked", "acked_lost", "joins", "joined_bytes")
    assert {row[0]: tuple(row[1:]) for row in rows} == {name: told(report, name, *names) for name in report}
