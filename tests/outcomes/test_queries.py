"""Every bundled question, asked of the hand-made run; the answers in data/answers were worked out by hand.

DuckDB's answers are Spark's, to the byte.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.outcomes import how_to_read, queries
from emulator.outcomes.ask import Asker
from emulator.outcomes.compare import compare_sql
from emulator.outcomes.formats import write_answer
from emulator.outcomes.protocol_report import protocol_report_sql
from emulator.outcomes.quorum_report import quorum_report_sql
from emulator.outcomes.sql import run_sql
from emulator.outcomes.tiering_picture import OVER_TIME
from emulator.outcomes.tiering_report import tiering_report_sql
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS, helper_view_sql
from emulator.outcomes.views import ALL_TABLES, register
from tests.asked import ask
from tests.outcomes.asked_of_both import SAME

AskSpark = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]
WriteTables = Callable[[dict[str, list[dict[str, Any]]], Path], None]
ANSWERS = Path(__file__).parent / "data" / "answers"
REPORTS = {
    "compare": compare_sql(),
    "compare by topic": compare_sql(["topic"]),
    "tiering": tiering_report_sql(),
    "tiering by topic": tiering_report_sql(["topic"]),
    "quorums": quorum_report_sql(),
    "quorums by topic": quorum_report_sql(["topic"]),
    "protocols": protocol_report_sql(),
    "over time": OVER_TIME,
}


def no_spark() -> SparkSession:
    raise AssertionError("Spark was asked for")


def text(columns: list[str], rows: Iterable[Sequence[Any]], form: str) -> str:
    out = io.StringIO()
    write_answer(columns, rows, form, out)
    return out.getvalue()


def test_there_are_at_least_ten_questions_and_each_says_how_to_read_its_answer() -> None:
    assert len(queries()) >= 10
    for name, query in queries().items():
        question, sql = query
        assert question.endswith("?"), name
        assert len(how_to_read(query)) > 100, name
        assert "SELECT" in sql, name


def test_every_question_has_a_worked_answer() -> None:
    assert {path.stem for path in ANSWERS.glob("*.csv")} == set(queries())


@pytest.mark.parametrize("name", sorted(queries()))
def test_answer(name: str, ask_spark: AskSpark) -> None:
    assert text(*ask_spark(f"@{name}"), "csv") == (ANSWERS / f"{name}.csv").read_text("utf-8")


def test_tables_views_reports_and_questions_are_sparks_to_the_byte(ask_spark: AskSpark, small_run: Path) -> None:
    """Rows of tables and views have no order of their own; the reports and questions have."""
    asked = {name: f"SELECT * FROM {name}" for name in [*ALL_COLUMNS, *HELPER_VIEWS]} | REPORTS
    # A set, in no order.
    asked["leader_rounds"] = "SELECT * EXCEPT (replicas), array_sort(replicas) AS replicas FROM leader_rounds"
    asked |= {f"@{name}": f"@{name}" for name in queries()} | {sql: sql for sql in SAME}
    differing, tables = [], Asker(str(small_run), "duckdb", no_spark)
    for name, sql in asked.items():
        columns, by_spark = ask_spark(sql)
        own_columns, rows = tables.ask(sql)
        own = list(rows)
        for form in ("json", "csv", "table"):
            expected, found = text(columns, by_spark, form).splitlines(), text(own_columns, own, form).splitlines()
            if name in ALL_COLUMNS or name in HELPER_VIEWS:
                expected, found = sorted(expected), sorted(found)
            differing += [(name, form, found, expected)] if found != expected else []
    assert not differing


def test_every_question_can_be_asked_of_empty_and_absent_tables(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "events").mkdir()
    session = spark.newSession()
    assert register(session, str(tmp_path)) == [*ALL_TABLES, *HELPER_VIEWS]
    for name, query in queries().items():
        assert session.sql(query.sql).columns, name  # that there are no rows DuckDB says, sooner (test_duckdb.py)


def test_views_have_the_contract_columns_with_their_comments(all_views: SparkSession) -> None:
    for name, schema in ALL_TABLES.items():
        view = all_views.table(name).schema
        assert view.names[: len(schema.names)] == schema.names
        types = [view[field.name].dataType.simpleString() for field in schema]
        assert types == [field.dataType.simpleString() for field in schema]
        assert all(view[field.name].metadata["comment"] for field in schema)


def test_overridden_settings_are_columns_of_scenarios(spark: SparkSession, small_run: Path) -> None:
    setting = "topics.orders.config.unclean.leader.election.enable"
    _, rows = run_sql(str(small_run), f"SELECT scenario_id, `{setting}` FROM scenarios ORDER BY 1", spark)
    assert list(rows) == [(0, None), (1, "true")]


def test_registering_some_views_registers_what_they_build_on(spark: SparkSession, small_run: Path) -> None:
    assert register(spark.newSession(), str(small_run), {"lost"}) == [
        "faults",
        "outcomes",
        "events",
        "event_causes",
        "lost",
    ]


def test_small_tables_are_added_up_without_a_shuffle(all_views: SparkSession) -> None:
    [plan] = all_views.sql("EXPLAIN SELECT topic, count(*) FROM outcomes JOIN partitions USING (topic) GROUP BY topic").collect()
    assert "Aggregate" in plan[0] and "hashpartitioning" not in plan[0]


def test_helper_views_say_what_they_hold() -> None:
    assert all(helper_view_sql(name).startswith("-- ") for name in HELPER_VIEWS)


def test_isr_that_begins_short_counts_as_full_until_it_has_grown(tmp_path: Path, write_tables: WriteTables) -> None:
    changes = [(10, "isr_expand", 2), (20, "isr_shrink", 2), (25, "isr_shrink", 3), (30, "isr_expand", 2)]
    base = {"scenario_id": 0, "topic": "t", "partition": 0}
    scenario = {"scenario_id": 0, "name": "base", "protocol": "kafka", "rounds": 50, "round_ms": 500, "mode": "plain"}
    events = [{**base, "round": r, "kind": kind, "broker": broker} for r, kind, broker in changes]
    write_tables({"scenarios": [{**scenario, "overrides": {}}], "events": events}, tmp_path)
    sql = "SELECT from_round, to_round, rounds, most_lacking FROM isr_recoveries"
    assert ask(tmp_path, sql)[1] == [(20, None, 30, 2)]


@pytest.mark.parametrize(
    ("elected", "lost", "full"), [("election", True, 40), ("unclean_election", True, 40), ("unclean_election", False, 45)]
)
def test_who_is_elected_into_an_empty_isr_is_back(
    tmp_path: Path, write_tables: WriteTables, elected: str, lost: bool, full: int
) -> None:
    """With eligible leader replicas the leader leaves the ISR as its last member; else it stays there until 2 takes its place."""
    last = [(20, "isr_shrink", 1)] if lost else []
    more = [] if lost else [(45, "isr_expand", 3)]
    changes = [(10, "isr_shrink", 2), (20, "leader_lost", 1), *last, (30, elected, 2), (40, "isr_expand", 1), *more]
    begins = [] if lost else [(12, "isr_shrink", 3)]
    base = {"scenario_id": 0, "topic": "t", "partition": 0}
    scenario = {"scenario_id": 0, "name": "base", "protocol": "kafka", "rounds": 50, "round_ms": 500, "mode": "plain"}
    events = [{**base, "round": r, "kind": kind, "broker": broker} for r, kind, broker in sorted(changes + begins)]
    write_tables({"scenarios": [{**scenario, "overrides": {}}], "events": events}, tmp_path)
    sql = "SELECT from_round, to_round, most_lacking FROM isr_recoveries"
    assert ask(tmp_path, sql)[1] == [(10, full, 2)]


UNCLEAN = "unclean.leader.election.enable"


def test_unclean_elections_are_held_against_what_is_alike_but_for_them(tmp_path: Path, write_tables: WriteTables) -> None:
    """Cases of the same other settings, fault, seed and variant; a case alone with its base; a variant by hand with base."""
    by_hand = {f"topics.t.config.{UNCLEAN}": "true"}
    given: list[tuple[dict[str, str], int]] = [
        ({}, 0),
        (by_hand | {"cluster.brokers": "5"}, 1),
        (_case("base", f"acks = all, {UNCLEAN} = false"), 0),
        (_case("base", f"acks = all, {UNCLEAN} = true"), 2),
        (_case("base", f"acks = 1, {UNCLEAN} = false"), 1),
        (_case("base", f"acks = 1, {UNCLEAN} = true"), 4),
        (_case("base", f"acks = all, {UNCLEAN} = true", **{"sweep.fault": '"broker 1"'}), 9),
        (_case("base", f"acks = all, {UNCLEAN} = true", **{"sweep.seed": "7"}), 9),
        (_case("base", f"{UNCLEAN} = true"), 8),
        (by_hand | _case("wide", "acks = 2"), 6),
        (_case("base", "acks = 2"), 5),
    ]
    _write_elections(given, tmp_path, write_tables)
    sql = "@what_does_unclean_election_cost"
    pairs = {(row[1], row[2]) for row in ask(tmp_path, sql)[1]}
    assert pairs == {("1", "0"), ("3", "2"), ("5", "4"), ("8", "0"), ("9", "10")}


def test_variants_by_hand_are_held_against_base(tmp_path: Path, write_tables: WriteTables) -> None:
    given = [({}, 1), ({f"cluster.config.{UNCLEAN}": "true"}, 2), ({"cluster.brokers": "5"}, 0), ({"rounds": "9"}, 5)]
    _write_elections(given, tmp_path, write_tables)
    pairs = {(row[1], row[2]) for row in ask(tmp_path, "@what_does_unclean_election_cost")[1]}
    assert pairs == {("1", "0"), ("0", "2"), ("3", "0")}


def _case(variant: str, settings: str, **more: str) -> dict[str, str]:
    return {"sweep.variant": f'"{variant}"', "sweep.settings": f'"{settings}"', **more}


def _write_elections(given: Sequence[tuple[dict[str, str], int]], folder: Path, write_tables: WriteTables) -> None:
    """A run of scenarios, called by their numbers, with these overrides and so many unclean elections."""
    scenario = {"protocol": "kafka", "rounds": 50, "round_ms": 500, "mode": "plain"}
    sums = {"topic": "t", "partition": 0, "acked": 9, "leaderless_rounds": 0}
    scenarios, outcomes = [], []
    for at, (overrides, elections) in enumerate(given):
        scenarios.append({**scenario, "scenario_id": at, "name": str(at), "overrides": overrides})
        outcomes.append({**sums, "scenario_id": at, "unclean_elections": elections, "acked_lost": elections})
    write_tables({"scenarios": scenarios, "outcomes": outcomes}, folder)


def test_settings_of_a_sweep_are_a_map(tmp_path: Path, write_tables: WriteTables) -> None:
    given = [({}, 0), (_case("base", "acks = 1, o*: segment.bytes = 5"), 1), ({"sweep.variant": '"base"', "sweep.seed": "1"}, 2)]
    _write_elections(given, tmp_path, write_tables)
    sql = "SELECT setting['acks'] AS a, setting['o*: segment.bytes'] AS b, setting['c'] AS c FROM sweep ORDER BY scenario_id"
    assert ask(tmp_path, sql)[1] == [("1", "5", None), (None, None, None)]
