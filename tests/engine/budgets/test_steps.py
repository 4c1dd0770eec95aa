"""Partitions that share budgets in Spark: together in one task, and a job from edge to edge, also one that is resumed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from emulator import run as running
from emulator.engine import compiled_engine
from emulator.engine.budgets.step_files import StepFiles
from emulator.engine.jobs import blocks_of
from emulator.errors import InputError
from emulator.progress import Progress
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

SCENARIO = """
rounds = 18
[cluster]
brokers = 4
session_timeout_rounds = 3
quota_window_rounds = 4
config = { "replica.lag.time.max.ms" = 1000 }
[[topics]]
name = "t"
partitions = 10
replication_factor = 3
config = { "min.insync.replicas" = 1 }
[[workload]]
topic = "t"
records_per_round = 4
record_bytes = 500
acks = "all"
[[faults]]
kind = "broker_crash"
broker = 2
from_round = 4
to_round = 10
[[variants]]
name = "narrow"
events = ["isr_shrink", "unfenced"]
cluster = { network_bytes_per_second = 50000 }
[[variants]]
name = "ample"
cluster = { disk_bytes_per_second = 500000000 }
"""
TRACED, STATE_AT = "t:4,t:7", (2, 8, 14)
FOLDER = "_checkpoint/compiled"


class Ended(Exception):
    pass


class StopsAfter(Progress):
    """Ends a run after so many reports."""

    def __init__(self, reports: int) -> None:
        super().__init__(quiet=True)
        self.left = reports

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        self.left -= 1
        if not self.left:
            raise Ended


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("steps") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path))


def tables_of(out: Path) -> dict[str, list[str]]:
    tables: dict[str, list[Row]] = {name: read_table(out / name) for name in OUTPUT_TABLES if name != "runs"}
    return {name: sorted(map(str, rows)) for name, rows in tables.items()}


@pytest.fixture(scope="module")
def in_driver(run: Run, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    out = tmp_path_factory.mktemp("driver") / "out"
    run_emulation(run, str(out), spark, trace=TRACED, state_at=STATE_AT)
    return tables_of(out)


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> None:
    """No task holds partitions that share budgets."""
    monkeypatch.setattr(compiled_engine, "MOST_TOGETHER", 0)
    monkeypatch.setattr(running, "source_digest", lambda: "the same")


def test_together_in_a_task(
    run: Run, spark: SparkSession, tmp_path: Path, in_driver: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_engine, "is_for_driver", lambda *_: False)
    run_emulation(run, str(tmp_path), spark, trace=TRACED, state_at=STATE_AT)
    tables = tables_of(tmp_path)
    for name, rows in in_driver.items():
        assert tables[name] == rows, name
    held_back = [row for row in read_table(tmp_path / "broker_rounds") if row["network_in_saturated_rounds"]]
    assert {row["scenario_id"] for row in held_back} == {1}


@pytest.mark.usefixtures("stepped")
def test_steps_give_the_tables_of_the_driver(
    run: Run, spark: SparkSession, tmp_path: Path, in_driver: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the run is ended and gone on with; no step is played twice, and only the last states are kept."""
    written: list[str] = []
    write = StepFiles.write

    def noted(self: StepFiles, step: int, rows: object) -> None:
        written.append(f"{self._folder}/{step}")
        write(self, step, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(StepFiles, "write", noted)
    with pytest.raises(Ended):
        run_emulation(run, str(tmp_path), spark, trace=TRACED, state_at=STATE_AT, progress=StopsAfter(6))
    assert len(list(tmp_path.glob(f"{FOLDER}/steps-*/step-*/rows/keeps=1"))) <= 2
    assert not [name for name in OUTPUT_TABLES if (tmp_path / name).exists()]
    with pytest.raises(InputError, match="the checkpoint is of another state-at; allowed: "):
        run_emulation(run, str(tmp_path), spark, trace=TRACED, resume=True)
    before = len(written)
    run_emulation(run, str(tmp_path), spark, trace=TRACED, state_at=STATE_AT, resume=True)
    assert 0 < before < len(written) == len(set(written))
    tables = tables_of(tmp_path)
    for name, rows in in_driver.items():
        assert tables[name] == rows, name
    assert not (tmp_path / "_checkpoint").exists()
    told, counted = (
        {row["kind"] for row in read_table(tmp_path / name) if row["scenario_id"] == 1} for name in ("events", "event_counts")
    )
    assert told == {"isr_shrink", "unfenced"} < counted


@pytest.mark.usefixtures("stepped")
def test_damaged_steps_are_refused(run: Run, spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Ended):
        run_emulation(run, str(tmp_path), spark, progress=StopsAfter(3))
    (file,) = list(tmp_path.glob(f"{FOLDER}/steps-1/step-0/rows/keeps=0/*.parquet"))[:1]
    file.unlink()
    with pytest.raises(InputError, match="files of rows are missing or have another size"):
        run_emulation(run, str(tmp_path), spark, resume=True)
    (tmp_path / FOLDER / "steps-1/step-0/STEP.json").write_text("{}")
    with pytest.raises(InputError, match=r"STEP.json is damaged"):
        run_emulation(run, str(tmp_path), spark, resume=True)


def test_blocks_of_scenarios_that_share(run: Run) -> None:
    """A scenario whose partitions share budgets is a block by itself, or several in no job."""
    flags = {s.scenario_id: np.zeros(10, bool) for s in run.scenarios}
    engine = compiled_engine.CompiledEngine(run.scenarios, flags, True, 25)
    shared, stepped = list(engine._shared.values()), [(20, 30)]
    plan = compiled_engine.plan_blocks(engine._weights, 2, 1e9, None, shared[:1], stepped)
    assert shared == [(10, 20), (20, 30)]
    assert {10, 20} <= set(plan.bounds) and not set(range(11, 20)) & set(plan.bounds) and len(plan.bounds) > 6
    of_jobs = [block for job in range(plan.job_count) for block in blocks_of(plan, job, stepped)]
    assert of_jobs == [block for block, bound in enumerate(plan.bounds[:-1]) if bound < 20]
