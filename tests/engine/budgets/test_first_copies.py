"""Copies of more partitions than a task holds: played once as if nobody waited, and in one task after all where somebody did."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.engine import compiled_engine
from emulator.engine.budgets.first_copies import can_play_first, copies_at_once, may_have_waited
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.engine.budgets.step_files import StepFiles
from emulator.inputs.arrays import Prepared
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

SCENARIO = """
rounds = 80
[cluster]
brokers = 3
[cluster.config]
"remote.log.storage.system.enable" = true
"remote.log.manager.copier.thread.pool.size" = 4
[remote_storage]
copy_bytes_per_second = 50_000
[[topics]]
name = "t"
partitions = 6
replication_factor = 3
[topics.config]
"segment.bytes" = 600_000
"remote.storage.enable" = true
[[workload]]
topic = "t"
records_per_round = 20
record_bytes = 1000
acks = "all"
[[variants]]
name = "one thread"
cluster = { config = { "remote.log.manager.copier.thread.pool.size" = 1 } }
[[variants]]
name = "narrow"
cluster = { network_bytes_per_second = 250_000 }
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("copies") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path))


def test_the_most_copies_at_once(run: Run) -> None:
    """Each broker leads two partitions that copy segments of 600,000 bytes, 25,000 a round, without a pause from round 60 on."""
    prepared = Prepared(run.scenarios, {s.scenario_id: np.zeros(6, bool) for s in run.scenarios}, True, 25)
    for scenario, waited in ((0, False), (1, True)):
        first, end = prepared.first_place[scenario : scenario + 2]
        blocks = [SharedBlock(of, ()) for of in block_payloads(prepared, scenario, np.array_split(np.arange(first, end), 2))]
        assert can_play_first(blocks[0].shared)
        told = []
        for block in blocks:
            block.begin_window()
            block.play_to(80)
            told.append(copies_at_once(block, 80))
        both = pa.concat_tables(told)
        at_once = both.group_by(["window", "broker"]).aggregate([("copies", "sum")]).to_pylist()
        assert len(at_once) == 3 * 8
        assert {(row["broker"], row["copies_sum"]) for row in at_once} == {(0, 2), (1, 2), (2, 2)}
        assert {row["window"] for row in at_once} == {*range(24, 32)}
        assert may_have_waited(both, blocks[0].shared) is waited


@pytest.mark.parametrize(("threads", "waited"), [(2, True), (3, False)])
def test_one_that_fails_at_once_needs_a_thread(tmp_path: Path, threads: int, waited: bool) -> None:
    """Each broker leads two partitions that copy without a pause, and one whose store is away."""
    path = tmp_path / "scenario.toml"
    pool = f'"remote.log.manager.copier.thread.pool.size" = {threads}'
    base = SCENARIO[: SCENARIO.index("[[variants]]")].replace('"remote.log.manager.copier.thread.pool.size" = 4', pool)
    topic, workload = base[base.index("[[topics]]") :].split("[[workload]]")
    other = topic.replace('"t"', '"u"').replace("partitions = 6", "partitions = 3")
    fault = '[[faults]]\nkind = "remote_storage_outage"\ntopic = "u"\nfrom_round = 0\n'
    written = workload.replace('"t"', '"u"')
    path.write_text(f"{base}{other}[[workload]]{written}{fault}")
    (scenario,) = load_run(str(path)).scenarios
    prepared = Prepared((scenario,), {0: np.zeros(9, bool)}, True, 25)
    (block,) = [SharedBlock(of, ()) for of in block_payloads(prepared, 0, [np.arange(9)])]
    block.begin_window()
    block.play_to(80)
    copies = copies_at_once(block, 80)
    assert set(copies.column("copies").to_pylist()) == {2, 3}
    assert may_have_waited(copies, block.shared) is waited


def test_steps_of_copies(run: Run, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who never waits is played once; who does, or shares its network besides, is played by one task: to the same tables."""
    steps: dict[str, list[int]] = {"steps-0": [], "steps-1": [], "steps-2": []}
    write = StepFiles.write

    def noted(self: StepFiles, step: int, rows: object) -> None:
        steps[self._folder.rsplit("/", 1)[1]].append(step)
        write(self, step, rows)  # type: ignore[arg-type]

    run_emulation(run, str(tmp_path / "together"), spark)
    monkeypatch.setattr(compiled_engine, "MOST_TOGETHER", 0)
    monkeypatch.setattr(StepFiles, "write", noted)
    run_emulation(run, str(tmp_path / "apart"), spark)
    assert steps == {"steps-0": [0], "steps-1": [0, 1], "steps-2": [0]}
    for name in OUTPUT_TABLES:
        if name != "runs":
            together, apart = (told(tmp_path / folder / name) for folder in ("together", "apart"))
            assert together == apart, name
    held_back = [row for row in read_table(tmp_path / "apart" / "broker_rounds") if row["network_out_saturated_rounds"]]
    assert {row["scenario_id"] for row in held_back} == {2}


def told(table: Path) -> list[str]:
    rows: list[Row] = read_table(table)
    return sorted(map(str, rows))
