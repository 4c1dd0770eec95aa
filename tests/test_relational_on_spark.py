"""Relational rounds that Spark works out: the start, one of the rounds and the tables of a scenario."""

from __future__ import annotations

import sys
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
from tests.engine_helpers import emulate_both
from tests.relational_scenarios import TROUBLE

T = TypeVar("T")

ON_SPARK_IN_SUITE = 9
"""The round of TROUBLE that Spark works out: logs of who is back are cut, and, moved there, the reassignment begins."""


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
