"""Relational rounds that Spark works out: the start, one of the rounds and the tables of a scenario."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyspark.sql import SparkSession

from emulator.rounds.relational.kafka_round import play_round
from emulator.rounds.relational.outputs.trace import traced
from emulator.rounds.relational.play import COMPACTED_ROUNDS, Played, play
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
    by_turns = ByTurns(spark, 2)
    monkeypatch.setattr("emulator.rounds.relational.run.OnSpark", lambda *_: by_turns)
    monkeypatch.setattr("emulator.rounds.relational.run.play", by_turns.play)
    monkeypatch.setattr("emulator.rounds.relational.play.COMPACTED_ROUNDS", sys.maxsize)
    monkeypatch.setattr("emulator.rounds.relational.play.play_round", by_turns.play_round)
    monkeypatch.setattr("emulator.rounds.relational.play.trace.traced", by_turns.traced)
    usual, told = emulate_both(spark, load_run(str(tmp_path / "trouble.toml")), tmp_path, by_spark=True)
    assert "relational, by Spark" in told[0]
    assert by_turns.on_spark == [ON_SPARK_IN_SUITE]
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


class ByTurns(OnSpark):
    """Spark, but DuckDB works out rounds before ON_SPARK_IN_SUITE: what it made of them is handed over once, after the last."""

    def __init__(self, spark: SparkSession, tasks: int) -> None:
        super().__init__(spark, tasks)
        self.duckdb = OnDuckDB()
        self.on_spark: list[int] = []
        self.given: dict[int, tuple[Query, Query]] = {}

    def play(self, *given: Any) -> Played:
        """`play`, all that was written down at Spark; of many parts it is compacted there, not before."""
        played = play(*given)
        for parts in played.written.values():
            there, others = ([p for p in parts if (p.engine is self.duckdb) == by_duckdb] for by_duckdb in (True, False))
            rows = [*others, *([self.at(self, there[0].union(*there[1:]))] if there else [])]
            parts[:] = rows if len(parts) < COMPACTED_ROUNDS else [self.compacted(rows[0].union(*rows[1:]))]
        return played

    def play_round(self, tables: Tables, inputs: RoundInputs) -> Round:
        """`play_round` by whose turn it is."""
        if inputs.number == ON_SPARK_IN_SUITE:
            self.on_spark.append(inputs.number)
            return play_round(self.all_at(self, tables), inputs)
        return play_round(self.all_at(self.duckdb, tables), self.all_at(self.duckdb, inputs))

    def traced(self, now: Round, pids: Query) -> tuple[Query, Query]:
        """`traced` where the round was played."""
        return traced(now, self.at(now.replicas.engine, pids))

    def settle(self, queries: Sequence[Query], to_stay: bool = True) -> list[Query]:
        """Each engine its own."""
        by_duckdb = bool(queries) and queries[0].engine is self.duckdb
        return self.duckdb.settle(queries) if by_duckdb else super().settle(queries, to_stay)

    def all_at(self, engine: Engine, value: T) -> T:
        """The value with every query as a table of an engine."""
        queries = {f.name: getattr(value, f.name) for f in fields(value) if isinstance(getattr(value, f.name), Query)}  # type: ignore[arg-type]
        return replace(value, **{name: self.at(engine, query) for name, query in queries.items()})  # type: ignore[type-var]

    def at(self, engine: Engine, query: Query) -> Query:
        """One query so, handed over once."""
        if query.engine is engine:
            return query
        if id(query) not in self.given:
            self.given[id(query)] = query, engine.read(query.engine.arrow(query))
        return self.given[id(query)][1]
