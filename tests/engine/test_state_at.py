"""`--state-at`: replicas at the end of named rounds, without a trace of the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.engine.play_blocks import play_payload
from emulator.inputs.arrays import prepare
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from tests.asked import rows_of

SCENARIO = """
rounds = 60
[cluster]
brokers = 5
session_timeout_rounds = 3
config = { "replica.lag.time.max.ms" = 2000, "replica.high.watermark.checkpoint.interval.ms" = 2500 }
[[topics]]
name = "orders"
partitions = 10
replication_factor = 3
config = { "min.insync.replicas" = 2, "unclean.leader.election.enable" = true, "flush.messages" = 7 }
[[workload]]
topic = "*"
records_per_round = 3
record_bytes = 100
acks = "all"
[[variants]]
name = "faulty"
[[variants.faults]]
kind = "broker_crash"
broker = 1
from_round = 5
to_round = 12
[[variants.faults]]
kind = "power_loss"
broker = 2
from_round = 10
to_round = 17
[[variants.faults]]
kind = "isolation"
broker = 3
from_round = 20
to_round = 29
[[variants.faults]]
kind = "slow_disk"
broker = 4
from_round = 25
to_round = 45
bytes_per_second = 350
[[variants.faults]]
kind = "broker_pause"
broker = 5
from_round = 33
to_round = 41
[[variants]]
name = "short"
rounds = 25
"""
SCENARIOS = Path(__file__).parents[1] / "scenarios"
STATE_AT = (0, 7, 8, 11, 12, 19, 22, 24, 25, 36, 40, 59)

AS_IN_TRACE = (
    "scenario_id", "topic", "partition", "round", "broker", "role", "leader_epoch", "log_start_offset", "local_log_start_offset",
    "leo", "hw", "remote_leo", "in_isr", "fetch_state", "epochs", "local_segments", "local_bytes", "highest_remote_offset",
    "latest_offset", "earliest_offset", "max_timestamp_offset", "earliest_local_offset", "latest_tiered_offset",
    "earliest_pending_upload_offset",
)  # fmt: skip
OF_TRACED_ROUNDS = ("trace", "trace_partitions", "replica_states", "blocks")

Row = dict[str, Any]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    path = tmp_path_factory.mktemp("state_at") / "scenario.toml"
    path.write_text(SCENARIO)
    return load_run(str(path))


def tables_of(run: Run, state_at: tuple[int, ...], *, leaps: bool, traced: bool) -> dict[str, pa.Table]:
    flags = {s.scenario_id: np.full(10, traced) for s in run.scenarios}
    prepared = prepare(run.scenarios, flags, leaps, 25)
    return play_payload(0, prepared.block(np.arange(prepared.partition_count)), state_at)


def texts(rows: list[Row]) -> list[str]:
    return sorted(map(str, rows))


@pytest.fixture(scope="module")
def traced(run: Run) -> dict[str, pa.Table]:
    return tables_of(run, (), leaps=False, traced=True)


@pytest.fixture(scope="module")
def stopped(run: Run) -> dict[str, pa.Table]:
    return tables_of(run, STATE_AT, leaps=True, traced=False)


def test_states_of_tiers_are_rows_of_the_trace() -> None:
    """Segments on disk, and what ListOffsets answers."""
    tiers = load_run(str(SCENARIOS / "unclean_tiers.toml"))
    prepared = prepare(tiers.scenarios, {s.scenario_id: np.full(4, True) for s in tiers.scenarios}, False, 25)
    tables = play_payload(0, prepared.block(np.arange(prepared.partition_count)), range(0, 40, 3))
    named = [row for row in tables["trace"].select(AS_IN_TRACE).to_pylist() if row["round"] % 3 == 0]
    assert texts(tables["replica_states"].select(AS_IN_TRACE).to_pylist()) == texts(named)
    assert {"local_segments", "latest_tiered_offset"} <= {name for row in named for name in row if row[name] is not None}


def test_states_are_rows_of_the_trace(traced: dict[str, pa.Table], stopped: dict[str, pa.Table]) -> None:
    """Of all rounds named; a scenario that ends before has none. And what goes beyond the trace is as the faults have it."""
    named = [row for row in traced["trace"].to_pylist() if row["round"] in STATE_AT]
    states = stopped["replica_states"].to_pylist()
    assert texts([{name: row[name] for name in AS_IN_TRACE} for row in states]) == texts(named)
    controllers = {
        (row["scenario_id"], row["partition"], row["round"]): row["leader"] for row in traced["trace_partitions"].to_pylist()
    }
    assert {row["round"] for row in states if row["scenario_id"] == 2} == {0, 7, 8, 11, 12, 19, 22, 24}
    for row in states:
        is_faulty, at = row["scenario_id"] == 1, row["round"]
        assert row["leader"] == controllers[row["scenario_id"], row["partition"], at]
        is_down = is_faulty and (row["broker"], at) in {(1, 7), (1, 8), (1, 11), (2, 11), (2, 12), (5, 36), (5, 40)}
        assert row["running"] == (not is_down)
        is_fenced = is_faulty and (row["broker"], at) in {
            (1, 8), (1, 11), (2, 12), (3, 24), (3, 25), (5, 36), (5, 40), (1, 7), (3, 22)
        }  # fmt: skip
        assert not row["fenced"] or is_fenced
        assert row["min_isr"] == 2
        assert row["flushed_offset"] <= row["leo"]
        assert row["hw_checkpoint"] <= row["hw"] or is_faulty
        if not is_faulty:
            assert row["last_leader"] == row["leader"]
            assert row["in_maximal_isr"]
            assert (row["leader_end_epoch"], row["leader_end_offset"]) == (0, 3 * at + 3)


def test_what_else_a_run_tells_is_the_same(run: Run, stopped: dict[str, pa.Table]) -> None:
    whole = tables_of(run, (), leaps=True, traced=False)
    for name, table in whole.items():
        if name not in OF_TRACED_ROUNDS:
            assert texts(stopped[name].to_pylist()) == texts(table.to_pylist()), name
    assert whole["replica_states"].num_rows == 0


def test_high_watermarks_and_epoch_ends_add_up(run: Run, spark: SparkSession, tmp_path: Path) -> None:
    """do_high_watermarks_and_epoch_ends_add_up: equal wherever they can be compared, in quiet rounds and in trouble."""
    run_emulation(run, str(tmp_path), spark, state_at=STATE_AT)
    found = rows_of(tmp_path, "@do_high_watermarks_and_epoch_ends_add_up")
    verdicts = {name: Counter(row[name] for row in found) for name in ("hw_verdict", "end_verdict")}
    assert not any("differs" in of_name for of_name in verdicts.values()), found[:3]
    quiet = [row for row in found if row["scenario"] != "faulty"]
    assert {(row["hw_verdict"], row["end_verdict"]) for row in quiet} == {("equal", "equal")}
    in_trouble = Counter(row["hw_verdict"] for row in found if row["scenario"] == "faulty")
    assert in_trouble["equal"] > in_trouble.total() / 2
    assert in_trouble.keys() == {"equal", "never falls", "leader not ready"}
    assert any(row["end_verdict"] == "equal" and row["epoch_by_cache"] > 0 for row in found if row["scenario"] == "faulty")
