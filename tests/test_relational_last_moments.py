"""Last moments in relational rounds: every table is as the usual engine has it, and the draw is MurmurHash3's.

Random ones are in test_relational_rounds.py.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.inputs.workload import PARTITIONS_A_SCENARIO
from emulator.rounds.relational.queries.on_duckdb import OnDuckDB
from emulator.rounds.relational.queries.on_spark import OnSpark
from emulator.rounds.relational.verbs.last_moments import DRAWS, _drawn
from emulator.scenario import load_run
from tests.engine_helpers import emulate_both, of_scenario, run_of

WORD = 2**32

DEATHS = """
name = "deaths"
rounds = 12
round_ms = 500
mode = "plain"
seed = 12345678901
[cluster]
brokers = 9
session_timeout_rounds = 2
fetch_round_trip_ms = 40
config = { "log.flush.interval.messages" = 130, "log.retention.check.interval.ms" = 1500, "replica.fetch.min.bytes" = 300 }
[[topics]]
name = "t"
assignment = [[1, 2, 3], [1, 3, 2], [4, 5, 6], [5, 6, 4], [7, 8, 9]]
config = { "min.insync.replicas" = 2, "segment.bytes" = 3000, "retention.bytes" = 9000 }
[[topics]]
name = "kept"
assignment = [[1, 2, 3], [4, 5, 6], [7, 9, 8]]
[[workload]]
topic = "t"
records_per_round = 100
record_bytes = 11
acks = "1"
[[workload]]
topic = "t"
records_per_round = 33
acks = "0"
to_round = 8
[[workload]]
topic = "*"
records_per_second = 71.3
record_bytes = 3
acks = "all"
[[faults]]
kind = "broker_crash"
broker = 1
moment = 0.5
from_round = 3
to_round = 6
[[faults]]
kind = "power_loss"
broker = 2
moment = 0.25
from_round = 3
to_round = 5
[[faults]]
kind = "disk_loss"
broker = 4
moment = "after-append"
from_round = 0
to_round = 4
[[faults]]
kind = "broker_crash"
broker = 5
from_round = 4
to_round = 9
[[faults]]
kind = "slow_link"
broker = 5
peer = 6
round_trip_ms = 300
from_round = 0
to_round = 9
[[faults]]
kind = "broker_pause"
broker = 9
from_round = 5
to_round = 7
[[faults]]
kind = "broker_crash"
broker = 7
moment = 0.7
from_round = 5
to_round = 8
[[faults]]
kind = "isolation"
broker = 8
from_round = 9
to_round = 10
[[faults]]
kind = "power_loss"
broker = 8
moment = 0.7
from_round = 10
to_round = 11
"""
ONE_FETCH = DEATHS.replace("fetch_round_trip_ms = 40", "fetches_per_round = 1")
FILES = {"deaths": DEATHS, "one": ONE_FETCH, "three": DEATHS.replace("fetch_round_trip_ms = 40", "fetches_per_round = 3")}


def test_every_table_equals_the_usual_engine(spark: SparkSession, tmp_path: Path) -> None:
    """With segments that roll and go, what was flushed, and what brokers carried; by the number of fetches in one run."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.toml").write_text(text)
    usual, _ = emulate_both(spark, run_of(tmp_path / f"{name}.toml" for name in FILES), tmp_path)
    for name in FILES:
        leos = {(r["topic"], r["partition"], r["round"], r["broker"]): r["leo"] for r in of_scenario(usual, name)["trace"]}
        assert leos["t", 0, 3, 1] > leos["t", 0, 2, 1]


def test_rounds_without_a_death_that_appends_have_none(tmp_path: Path) -> None:
    """The broker that was isolated is killed as well; without moments one fetch a round has nothing to take along."""
    path = tmp_path / "deaths.toml"
    path.write_text(DEATHS)
    deaths = RunInputs(load_run(str(path)).scenarios).deaths.select(["death_round", "broker", "moment", "is_given"]).to_pylist()
    found = {(d["death_round"], d["broker"]): d["moment"] if d["is_given"] else None for d in deaths}
    assert found == {(3, 1): 500_000, (3, 2): 250_000, (0, 4): 1_000_000, (4, 5): None, (5, 7): 700_000, (10, 8): 700_000}
    path.write_text("\n".join(line for line in ONE_FETCH.splitlines() if not line.startswith("moment")))
    assert RunInputs(load_run(str(path)).scenarios).deaths.num_rows == 0


@pytest.mark.parametrize("by_spark", [False, True])
def test_draws_are_of_seed_partition_and_round(spark: SparkSession, by_spark: bool) -> None:
    engine = OnSpark(spark, 1) if by_spark else OnDuckDB()
    of = [(0, 0, 0), (7, 3, 4), (7, 4, 3), (2**32 - 1, 999_999_999, 2**31 - 1), (0xDEADBEEF, 12, 345)]
    rows = [{"seed_halves": seed, "pid": 2 * PARTITIONS_A_SCENARIO + number, "round": round_} for seed, number, round_ in of]
    schema = pa.schema([("seed_halves", pa.int64()), ("pid", pa.int64()), ("round", pa.int32())])
    found = {
        (row["seed_halves"], row["pid"] % PARTITIONS_A_SCENARIO, row["round"]): row["draw"]
        for row in _drawn(engine.stored(pa.Table.from_pylist(rows, schema), ["pid"])).rows()
    }
    assert found == {
        place: murmur(murmur(murmur(place[0] ^ 0x9E3779B9) ^ place[1]) ^ place[2]) // (WORD // DRAWS) for place in of
    }
    assert found[0, 0, 0] == 0x642F30E0 >> 12


def murmur(h: int) -> int:
    """The finalizer of MurmurHash3, of 32 bits."""
    h = (h ^ h >> 16) * 0x85EBCA6B % WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 % WORD
    return h ^ h >> 16
