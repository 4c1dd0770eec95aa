"""Compiled rounds in Spark jobs: the same tables as in the driver, blocks of their own, and resumed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

from emulator import run as running
from emulator.engine import blocks, compiled_engine
from emulator.engine.jobs import cores
from emulator.engine.rows import unpacked
from emulator.errors import InputError
from emulator.progress import Progress
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

SCENARIO = """
rounds = 60
[cluster]
brokers = 5
racks = 2
session_timeout_rounds = 3
config = { "replica.lag.time.max.ms" = 2000 }
[[topics]]
name = "orders"
partitions = 24
replication_factor = 3
config = { "min.insync.replicas" = 2 }
[[topics]]
name = "logs"
partitions = 9
replication_factor = 2
[[workload]]
topic = "*"
records_per_round = 3
record_bytes = 100
acks = "1"
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
[[commands]]
kind = "reassign"
topic = "orders"
partition = 3
replicas = [3, 4, 5]
round = 12
[[variants]]
name = "old"
protocol = "kafka-high-watermark"
rounds = 40
"""
TRACED = "orders:4,logs:2"
STATE_AT = (6, 21, 50)
FOLDER = "_checkpoint/compiled"


class Ended(Exception):
    pass


class Stops(Progress):
    """Ends a run after so many jobs; calls `at_end` when all jobs are done."""

    def __init__(self, after: int = 0, at_end: Callable[[], None] | None = None) -> None:
        super().__init__(quiet=True)
        self.after, self.at_end, self.jobs = after, at_end, 0

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        self.jobs = iterations
        if self.after and iterations == self.after:
            raise Ended

    def finish(self) -> None:
        if self.at_end:
            self.at_end()


class Shares(Progress):
    """Notes how many partitions are left."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.left: list[int] = []

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        self.left.append(partitions_running)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("jobs") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path))


@pytest.fixture(scope="module")
def in_driver(run: Run, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    out = tmp_path_factory.mktemp("driver") / "out"
    run_emulation(run, str(out), spark, trace=TRACED, state_at=STATE_AT)
    return tables_of(out)


@pytest.fixture
def three_jobs(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Every run is large, and one of three jobs; sources edited between two runs are no other version."""
    monkeypatch.setattr(running, "source_digest", lambda: "the same")
    monkeypatch.setattr(compiled_engine, "is_for_driver", lambda *_: False)
    traced = {s.scenario_id: np.zeros(33, bool) for s in run.scenarios}
    whole = compiled_engine.CompiledEngine(run.scenarios, traced, True, 25, STATE_AT)._weights.sum()
    monkeypatch.setattr(compiled_engine, "JOB_WEIGHT", whole / 6)


def tables_of(out: Path) -> dict[str, list[str]]:
    tables: dict[str, list[Row]] = {name: read_table(out / name) for name in OUTPUT_TABLES if name != "runs"}
    return {name: sorted(map(str, rows)) for name, rows in tables.items()}


def blocks_by_file(out: Path, folder: str = FOLDER) -> dict[str, list[int]]:
    """The blocks that each file of rows holds."""
    dataset = ds.dataset(sorted(map(str, out.glob(f"{folder}/job-*/rows/*.parquet"))), format="parquet")
    tables = {f.path: unpacked(f.to_table(columns=["blocks"]).to_batches(), "blocks") for f in dataset.get_fragments()}
    return {path: table.column("block").to_pylist() for path, table in tables.items()}


@pytest.mark.usefixtures("three_jobs")
def test_jobs_of_a_resumed_run_give_the_tables_of_the_driver(
    run: Run, spark: SparkSession, tmp_path: Path, in_driver: dict[str, list[str]]
) -> None:
    """Each task plays one block, and no block is played twice."""
    with pytest.raises(Ended):
        run_emulation(run, str(tmp_path), spark, trace=TRACED, progress=Stops(after=2), state_at=STATE_AT)
    kept = blocks_by_file(tmp_path)
    assert kept
    assert not [name for name in OUTPUT_TABLES if (tmp_path / name).exists()]
    found: dict[str, list[int]] = {}
    progress = Stops(at_end=lambda: found.update(blocks_by_file(tmp_path)))
    run_emulation(run, str(tmp_path), spark, trace=TRACED, progress=progress, resume=True, state_at=STATE_AT)
    assert progress.jobs == 3
    assert kept.items() <= found.items()
    assert set(Counter(block for blocks in found.values() for block in blocks).values()) == {1}
    assert all(len(blocks) == 1 for blocks in found.values())
    assert len(found) >= 3 * 2 * 4
    told = {"events", "trace", "trace_partitions", "leader_epochs", "replica_states"}
    assert {name for name, rows in in_driver.items() if rows} >= told
    tables = tables_of(tmp_path)
    for name, rows in in_driver.items():
        assert tables[name] == rows, name
    assert not (tmp_path / "_checkpoint").exists()


def test_threads_of_the_driver_give_the_same_tables(
    run: Run, spark: SparkSession, tmp_path: Path, in_driver: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LEAST_WEIGHT", 1.0)
    progress = Shares()
    run_emulation(run, str(tmp_path), spark, trace=TRACED, state_at=STATE_AT, progress=progress)
    assert len(progress.left) == 2 * blocks.BLOCKS_PER_CORE
    assert sorted(set(progress.left), reverse=True) == progress.left and progress.left[-1] == 0
    tables = tables_of(tmp_path)
    for name, rows in in_driver.items():
        assert tables[name] == rows, name


@pytest.mark.usefixtures("three_jobs")
def test_what_cannot_be_resumed_is_refused(run: Run, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Ended):
        run_emulation(run, str(tmp_path), spark, progress=Stops(after=1))
    with pytest.raises(InputError, match="the checkpoint is of another state-at; allowed: "):
        run_emulation(run, str(tmp_path), spark, resume=True, state_at=STATE_AT)
    with pytest.raises(InputError, match="the checkpoint is of another mode; allowed: "):
        run_emulation(run, str(tmp_path), spark, mode="plain" if run.mode == "leap" else "leap", resume=True)
    (file,) = list(tmp_path.glob(f"{FOLDER}/job-0/rows/*.parquet"))[:1]
    content = bytearray(file.read_bytes())
    content[100] ^= 255
    file.write_bytes(content)
    with pytest.raises(InputError, match="the rows cannot be read, or are not as they were written; allowed: "):
        run_emulation(run, str(tmp_path), spark, resume=True)
    file.unlink()
    with pytest.raises(InputError, match="files of rows are missing or have another size"):
        run_emulation(run, str(tmp_path), spark, resume=True)
    (tmp_path / FOLDER / "PLAN.json").write_text("{}")
    with pytest.raises(InputError, match=r"PLAN.json is damaged"):
        run_emulation(run, str(tmp_path), spark, resume=True)


@pytest.mark.parametrize(("master", "expected"), [("local[3]", 3), ("local[2,4]", 2), ("local", 1), ("local[*]", os.cpu_count())])
def test_a_local_master_says_its_cores(master: str, expected: int) -> None:
    """Without a job, which nothing here could run."""
    assert cores(SimpleNamespace(conf={"spark.master": master})) == expected
