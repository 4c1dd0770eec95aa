"""A file of partitions and of ledgers: one set of tables, and each engine goes on from its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator import run as running
from emulator.engine import compiled_engine, weighed_engine
from emulator.errors import InputError
from emulator.progress import Progress
from emulator.run import dry_run, run_emulation
from emulator.scenario import Run, load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

SCENARIO = """
rounds = 30
mode = "plain"
cluster = { brokers = 4, config = { "remote.log.storage.system.enable" = true } }
topics = [{ name = "log", partitions = 3, replication_factor = 3 }]
workload = [{ topic = "log", records_per_round = 3, record_bytes = 100, acks = "all" }]
faults = [{ kind = "broker_crash", broker = 1, from_round = 5, to_round = 12 }]
[[variants]]
name = "tiered"
topics = [{ name = "log", config = { "remote.storage.enable" = true, "segment.bytes" = 2000 } }]
rounds = 40
[variants.cluster.config]
"remote.log.manager.copy.max.bytes.per.second" = 1_000_000
[[variants]]
name = "ledgers"
protocol = "bookkeeper"
"""


class Killed(Exception):
    pass


class KilledInEngine(Progress):
    """Ends a run in its n-th engine, once that has gone a job further."""

    def __init__(self, engine: int) -> None:
        super().__init__(quiet=True)
        self.left = engine

    def start(self, total_rounds: int, partitions: int, scenarios: int, round_ms: int = 0) -> None:
        self.left -= 1

    def advance(self, rounds_done: int, partitions_running: int, iterations: int, replica_rounds: int) -> None:
        if self.left == 0 and iterations == 1:
            raise Killed


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("mixed") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path))


def tables_of(out: Path) -> dict[str, list[Row]]:
    return {name: read_table(out / name) for name in OUTPUT_TABLES if name != "runs"}


def as_text(tables: dict[str, list[Row]]) -> dict[str, list[str]]:
    return {name: sorted(map(str, rows)) for name, rows in tables.items()}


def test_dry_run_says_how_it_is_played(run: Run) -> None:
    assert "compiled rounds: 2 of the scenarios, calls in the driver" in dry_run(run)
    assert "compiled rounds of ledgers: 1 of the scenarios, calls in the driver" in dry_run(run)


def test_states_of_ledgers_are_refused(run: Run) -> None:
    with pytest.raises(InputError, match="--state-at: scenario ledgers is of ledgers"):
        dry_run(run, state_at=[3])


def test_both_engines_give_one_set_of_tables_and_resume(
    run: Run, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was played in jobs is not played again after the next engine was killed."""
    monkeypatch.setattr(running, "source_digest", lambda: "the same")
    run_emulation(run, str(tmp_path / "whole"), spark, trace="log:1")
    whole = tables_of(tmp_path / "whole")
    assert {row["scenario_id"] for row in whole["outcomes"]} == {0, 1, 2}

    monkeypatch.setattr(compiled_engine, "is_for_driver", lambda *_: False)
    monkeypatch.setattr(weighed_engine, "is_for_driver", lambda *_: False)
    out = tmp_path / "new"
    with pytest.raises(Killed):
        run_emulation(run, str(out), spark, trace="log:1", progress=KilledInEngine(2))
    for name in ("compiled", "ledgers"):
        assert list(out.glob(f"_checkpoint/{name}/job-*/JOB.json"))
    monkeypatch.setattr(compiled_engine.CompiledEngine, "_payload", None)  # none is left to play
    run_emulation(run, str(out), spark, trace="log:1", resume=True)
    new = tables_of(out)
    assert as_text(new) == as_text(whole)
    assert len(new["trace"]) == 3 * 30 + 3 * 40
    assert len({row["invariant"] for row in new["invariants"]}) == len(new["invariants"])
    assert not (out / "_checkpoint").exists()
