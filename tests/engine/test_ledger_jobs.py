"""Ledgers and topics in Spark jobs: the same tables as in the driver, blocks of their own, and resumed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from emulator import run as running
from emulator.engine import blocks, ledger_engine, weighed_engine
from emulator.errors import InputError
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine.test_jobs import Ended, Stops, blocks_by_file
from tests.engine_helpers import read_table

SCENARIO = """
protocol = "bookkeeper"
rounds = 80
[cluster]
brokers = 6
racks = 3
session_timeout_rounds = 3
config = { autoRecoveryDaemonEnabled = true, journalSyncData = false }
[[topics]]
name = "orders"
partitions = 21
config = { ensembleSize = 4, writeQuorumSize = 3, ackQuorumSize = 2 }
[[topics]]
name = "lists"
partitions = 5
config = { managedLedger = true, managedLedgerMaxEntriesPerLedger = 40, managedLedgerMinLedgerRolloverTimeMinutes = 0, \
ensembleSize = 3, writeQuorumSize = 3, ackQuorumSize = 2, defaultRetentionTimeInMinutes = -1, defaultRetentionSizeInMB = -1 }
[[topics]]
name = "logs"
partitions = 7
placement = "rack_aware"
[[workload]]
topic = "*"
records_per_round = 3
record_bytes = 100
max_in_flight = 4
[[faults]]
kind = "broker_crash"
broker = 1
from_round = 5
to_round = 20
[[faults]]
kind = "power_loss"
broker = 2
from_round = 18
to_round = 35
[[faults]]
kind = "client_crash"
topic = "orders"
partition = 3
from_round = 40
[[commands]]
kind = "recover_ledger"
topic = "orders"
partition = 3
round = 50
[[initial.ledgers]]
topic = "logs"
partition = 2
last_entry = 11
[[variants]]
name = "mutant"
protocol = "bookkeeper-mutant-close-at-lac"
rounds = 60
"""
TRACED = "orders:3,logs:2,lists:1"
FOLDER = "_checkpoint/ledgers"


def loaded(folder: Path, text: str = SCENARIO) -> Run:
    path = folder / "scenario.toml"
    path.write_text(text)
    return load_run(str(path))


def tables_of(out: Path) -> dict[str, list[str]]:
    """Every table but those of partitions' traces, which ledgers do not have."""
    names = [name for name in OUTPUT_TABLES if name not in ("runs", "trace", "trace_partitions")]
    return {name: sorted(map(str, read_table(out / name))) for name in names}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return loaded(tmp_path_factory.mktemp("jobs"))


@pytest.fixture(scope="module")
def in_driver(run: Run, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    out = tmp_path_factory.mktemp("driver") / "out"
    run_emulation(run, str(out), spark, trace=TRACED)
    return tables_of(out)


@pytest.fixture
def three_jobs(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Every run is large, and one of three jobs; sources edited between two runs are no other version."""
    monkeypatch.setattr(running, "source_digest", lambda: "the same")
    monkeypatch.setattr(weighed_engine, "is_for_driver", lambda *_: False)
    traced = {s.scenario_id: running.traced_partitions(s, TRACED) for s in run.scenarios}
    whole = ledger_engine.LedgerEngine(run.scenarios, traced, True, 25)._weights.sum()
    monkeypatch.setattr(ledger_engine, "JOB_WEIGHT", whole / 6)


@pytest.mark.usefixtures("three_jobs")
def test_jobs_of_a_resumed_run_give_the_tables_of_the_driver(
    run: Run, spark: SparkSession, tmp_path: Path, in_driver: dict[str, list[str]]
) -> None:
    """Each task plays one block, and no block is played twice."""
    with pytest.raises(Ended):
        run_emulation(run, str(tmp_path), spark, trace=TRACED, progress=Stops(after=2))
    kept = blocks_by_file(tmp_path, FOLDER)
    assert kept
    assert not [name for name in OUTPUT_TABLES if (tmp_path / name).exists()]
    with pytest.raises(InputError, match="the checkpoint is of another mode; allowed: "):
        run_emulation(run, str(tmp_path), spark, trace=TRACED, mode="plain", resume=True)
    found: dict[str, list[int]] = {}
    progress = Stops(at_end=lambda: found.update(blocks_by_file(tmp_path, FOLDER)))
    run_emulation(run, str(tmp_path), spark, trace=TRACED, progress=progress, resume=True)
    assert progress.jobs == 3
    assert kept.items() <= found.items()
    assert set(Counter(block for blocks in found.values() for block in blocks).values()) == {1}
    assert all(len(blocks) == 1 for blocks in found.values())
    assert len(found) >= 3 * 2 * 4
    told = {"events", "ledgers", "fragments", "bookies", "ledger_clients", "topics", "entries", "violations", "broker_rounds"}
    assert {name for name, rows in in_driver.items() if rows} >= told
    tables = tables_of(tmp_path)
    for name, rows in in_driver.items():
        assert tables[name] == rows, name
    assert not (tmp_path / "_checkpoint").exists()


def test_threads_of_the_driver_give_the_same_tables(
    run: Run, spark: SparkSession, tmp_path: Path, in_driver: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LEAST_WEIGHT", 1.0)
    run_emulation(run, str(tmp_path), spark, trace=TRACED)
    tables = tables_of(tmp_path)
    for name, rows in in_driver.items():
        assert tables[name] == rows, name


def test_a_list_of_too_many_ledgers_in_jobs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighed_engine, "is_for_driver", lambda *_: False)
    run = loaded(tmp_path, SCENARIO.replace("managedLedger = true", "managedLedger = true, maxLedgers = 2"))
    with pytest.raises(InputError, match=r"scenario base: lists:0 needs more than 2 ledgers; allowed: maxLedgers = 4"):
        run_emulation(run, str(tmp_path / "out"), spark)


def test_blocks_are_of_ledgers_or_of_topics(run: Run) -> None:
    """What weighs more takes fewer to a block; no block has both."""
    flags = {s.scenario_id: np.zeros(33, bool) for s in run.scenarios}
    engine = ledger_engine.LedgerEngine(run.scenarios, flags, True, 25)
    ledgers = 2 * (21 + 7)
    assert len(engine._weights) == 2 * 33
    assert ledgers in engine._plan(1, None).bounds
    assert engine._weights[ledgers:].min() > engine._weights[:ledgers].max()
