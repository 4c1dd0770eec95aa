"""Last moments in relational rounds: whose are played, and the draw is MurmurHash3's.

Whole runs are in test_relational_tables.py, random ones in test_relational_rounds.py.
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
from tests.relational_scenarios import DEATHS, ONE_FETCH

WORD = 2**32


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
