"""Relational rounds against compiled ones: every table of two scenarios, and one of their rounds worked out by Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TypeVar

import pytest
from pyspark.sql import SparkSession

from emulator.rounds.relational.kafka_round import play_round, tables_after
from emulator.rounds.relational.queries.on_duckdb import OnDuckDB
from emulator.rounds.relational.queries.on_spark import OnSpark
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.rounds.relational.run import OF_DUCKDB, run_relational
from emulator.rounds.relational.tables import Round, RoundInputs, Tables
from emulator.scenario import load_run
from tests.engine_helpers import Row, emulate_both, of_scenario, run_of

T = TypeVar("T")

TROUBLE = """
name = "trouble"
rounds = 10
round_ms = 500
mode = "plain"
[cluster]
brokers = 4
racks = 2
session_timeout_rounds = 3
config = { "replica.lag.time.max.ms" = 2000, "min.insync.replicas" = 2, "auto.leader.rebalance.enable" = false }
[[topics]]
name = "a"
assignment = [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2]]
[[workload]]
topic = "a"
records_per_round = 3
acks = "1"
[[faults]]
kind = "power_loss"
broker = 1
from_round = 2
to_round = 5
[[faults]]
kind = "isolation"
broker = 2
from_round = 3
to_round = 8
[[faults]]
kind = "slow_link"
broker = 4
bytes_per_second = 4000
from_round = 1
to_round = 9
[[commands]]
round = 4
kind = "reassign"
topic = "a"
partition = 2
replicas = [3, 2, 4]
"""
ON_SPARK_IN_SUITE = 9
"""The round of TROUBLE that Spark works out: logs of who is back are cut, and, moved there, the reassignment begins."""


@pytest.fixture(scope="module")
def both_engines(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[Row]], Sequence[str]]:
    """TROUBLE and AT_ITS_MOMENT in one run: every table equals the usual engine's."""
    folder = tmp_path_factory.mktemp("both")
    for name, text in (("trouble", TROUBLE), ("moment", AT_ITS_MOMENT)):
        (folder / f"{name}.toml").write_text(text)
    return emulate_both(spark, run_of([folder / "trouble.toml", folder / "moment.toml"]), folder)


def test_every_table_equals_the_usual_engine(both_engines: tuple[dict[str, list[Row]], Sequence[str]]) -> None:
    """With causes of events, states of fetches, and what brokers carried: what the reference knows nothing of."""
    tables, told = both_engines
    assert "relational, by DuckDB" in told[0]
    assert {row["name"] for row in tables["scenarios"]} == {"trouble", "moment"}


def test_every_table_by_spark(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark works out the start, a round and the tables; of a round it does so in seconds, DuckDB the others sooner."""
    (tmp_path / "trouble.toml").write_text(TROUBLE.replace("round = 4", f"round = {ON_SPARK_IN_SUITE}"))
    by_duckdb = RoundsByDuckDB(spark)
    monkeypatch.setattr("emulator.rounds.relational.play.play_round", by_duckdb)
    usual, told = emulate_both(spark, load_run(str(tmp_path / "trouble.toml")), tmp_path, by_spark=True)
    assert "relational, by Spark" in told[0]
    assert by_duckdb.on_spark == [ON_SPARK_IN_SUITE]
    assert ON_SPARK_IN_SUITE in {row["round"] for row in usual["events"] if row["kind"] == "truncate"}
    assert [row["round"] for row in usual["trace"] if (row["partition"], row["broker"]) == (2, 2)] == [ON_SPARK_IN_SUITE]


@pytest.mark.parametrize("missing", OF_DUCKDB)
def test_spark_plays_what_duckdb_cannot(
    missing: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is said of who plays, as in cluster mode with an archive of `emulator pack`."""

    def asked(*_: object) -> Engine:
        raise RuntimeError("Spark is asked")

    (tmp_path / "trouble.toml").write_text(TROUBLE)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr("emulator.rounds.relational.run.OnSpark", asked)
    with pytest.raises(RuntimeError, match="Spark is asked"):
        run_relational(load_run(str(tmp_path / "trouble.toml")), str(tmp_path / "out"), spark)


class RoundsByDuckDB:
    """`play_round` of a run on Spark: rounds but ON_SPARK_IN_SUITE are worked out by DuckDB, and their tables handed back."""

    def __init__(self, spark: SparkSession) -> None:
        self.duckdb, self.spark = OnDuckDB(), OnSpark(spark, 2)
        self.tables: Tables | None = None
        self.on_spark: list[int] = []
        self.given: dict[int, tuple[Query, Query]] = {}

    def __call__(self, tables: Tables, inputs: RoundInputs) -> Round:
        if inputs.number == ON_SPARK_IN_SUITE:
            self.tables = None
            self.on_spark.append(inputs.number)
            return play_round(tables, inputs)
        now = play_round(self.tables or self.by(self.duckdb, tables), self.by(self.duckdb, inputs))
        self.tables = tables_after(now)
        written = tuple((name, self.of(self.spark, rows)) for name, rows in now.written)
        return replace(self.by(self.spark, now), inputs=inputs, written=written)

    def by(self, engine: Engine, value: T) -> T:
        """The value with every query as a table of an engine."""
        queries = {f.name: getattr(value, f.name) for f in fields(value) if isinstance(getattr(value, f.name), Query)}  # type: ignore[arg-type]
        return replace(value, **{name: self.of(engine, query) for name, query in queries.items()})  # type: ignore[type-var]

    def of(self, engine: Engine, query: Query) -> Query:
        """One query so, once."""
        if id(query) not in self.given:
            self.given[id(query)] = query, engine.read(query.engine.arrow(query))
        return self.given[id(query)][1]


AT_ITS_MOMENT = """
name = "at its moment"
rounds = 10
round_ms = 500
mode = "plain"
[cluster]
brokers = 7
session_timeout_rounds = 2
[[topics]]
name = "quiet"
assignment = [[1, 2]]
[[topics]]
name = "written"
assignment = [[3, 4]]
[[topics]]
name = "moved"
assignment = [[5, 6, 7]]
[[workload]]
topic = "*"
records_per_round = 3
to_round = 2
[[workload]]
topic = "written"
records_per_round = 1
[[faults]]
kind = "power_loss"
broker = 1
from_round = 6
[[faults]]
kind = "broker_crash"
broker = 5
from_round = 2
[[commands]]
round = 4
kind = "alter_config"
topic = "*"
config = { "flush.messages" = 1 }
[[commands]]
round = 4
kind = "reassign"
topic = "moved"
partition = 0
replicas = [7]
"""


def test_logs_are_flushed_and_elections_told_at_their_moment(
    both_engines: tuple[dict[str, list[Row]], Sequence[str]],
) -> None:
    """flush.messages is looked at when a log takes something (UnifiedLog.append), not when it is altered: the quiet log is lost.

    Broker 6 is elected, and dropped in the same round: its election tells where its log ended then.
    """
    usual = of_scenario(both_engines[0], "moment")
    assert [row["leo"] for row in usual["trace"] if (row["topic"], row["broker"], row["round"]) == ("quiet", 1, 6)] == [0]
    elected = [row for row in usual["events"] if (row["topic"], row["kind"]) == ("moved", "election")]
    assert sorted((row["round"], row["broker"], row["from_offset"]) for row in elected) == [(4, 6, 6), (4, 7, 6)]
