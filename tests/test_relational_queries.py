"""Queries of the relational rounds: what Spark and DuckDB make of them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from emulator.rounds.relational.queries.on_duckdb import OnDuckDB
from emulator.rounds.relational.queries.on_spark import OnSpark
from emulator.rounds.relational.queries.query import Engine, Query
from emulator.rounds.relational.verbs.chunks import in_bins

NUMBERS = pa.table(
    {
        "pid": pa.array([1, 1, 1, 2], pa.int64()),
        "a": pa.array([5, None, 3, None], pa.int64()),
        "b": pa.array([1, 2, 3, 4], pa.int64()),
        "returning": pa.array([True, False, True, None]),
    }
)


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest, spark: SparkSession) -> Engine:
    return OnDuckDB() if request.param == "duckdb" else OnSpark(spark, 1)


def in_order(query: Query) -> list[dict[str, Any]]:
    return sorted(query.rows(), key=lambda row: [str(value) for value in row.values()])


def test_aggregates_and_windows_mean_the_same(engine: Engine) -> None:
    table = engine.stored(NUMBERS, ["pid"])
    found = table.group_by("pid").agg(
        "sum(a) AS total",
        "max_by(a, b) FILTER (WHERE b < 3) AS last",
        "min_by(b, IF(returning, a, null)) AS least",
        "count_if(returning) AS some",
        "bool_or(returning) AS any_of",
        "array_sort(collect_list(a)) AS listed",
        "array_sort(collect_list(b) FILTER (WHERE b > 5)) AS none",
    )
    one = {"pid": 1, "total": 8, "last": None, "least": 3, "some": 2, "any_of": True, "listed": [3, 5], "none": []}
    two = {"pid": 2, "total": None, "last": None, "least": None, "some": 0, "any_of": None, "listed": [], "none": []}
    assert in_order(found) == [one, two]
    places = table.with_columns(
        before="lag(b) OVER (PARTITION BY pid ORDER BY a)",
        most="greatest(a, b)",
        whole="(b * 7) DIV 2 % 5",
        share="sum(b) OVER (PARTITION BY pid)",
    ).select("b", "before", "most", "whole", "share")
    assert [list(row.values()) for row in in_order(places)] == [
        [1, 3, 5, 3, 6],
        [2, None, 2, 2, 6],
        [3, 2, 3, 0, 6],
        [4, None, 4, 4, 4],
    ]


def test_aggregates_over_whole_partitions_mean_the_same(engine: Engine) -> None:
    """With null keys, of several keys, beside each other, within other expressions and of values that others get."""
    found = (
        engine.stored(NUMBERS, ["pid"])
        .with_columns(
            others="sum(b) OVER (PARTITION BY pid) - b",
            known="count_if(a IS NOT NULL) OVER (PARTITION BY a)",
            listed="array_sort(collect_list(IF(b > 1, b, null)) OVER (PARTITION BY pid, a))",
            b="max(b) OVER (PARTITION BY pid) + min(b) OVER (PARTITION BY pid)",
        )
        .with_columns(shared="sum(b) OVER (PARTITION BY pid)", place="row_number() OVER (PARTITION BY pid ORDER BY others)")
        .select(
            "pid", "a", "others", "known", "listed", "b", "shared", "max(a) OVER (PARTITION BY returning) AS by_flag", "place"
        )
    )
    assert [list(row.values()) for row in in_order(found)] == [
        [1, 3, 3, 1, [3], 4, 12, 5, 1],
        [1, 5, 5, 1, [], 4, 12, 5, 3],
        [1, None, 4, 0, [2], 4, 12, None, 2],
        [2, None, 0, 0, [4], 8, 8, None, 1],
    ]


def test_columns_that_see_the_same_values_are_made_at_once(engine: Engine) -> None:
    table = engine.stored(NUMBERS, ["pid"])
    at_once = table.with_columns(c="b + 1").with_columns(b="pid * 10").drop("returning").with_columns(pid="b + pid", d="a")
    assert (at_once.depth, at_once.columns) == (2, ("pid", "a", "b", "c", "d"))
    assert [list(row.values()) for row in in_order(at_once.select("pid", "b", "c", "d"))] == [
        [11, 10, 2, 5],
        [11, 10, 3, None],
        [11, 10, 4, 3],
        [22, 20, 5, None],
    ]
    again = table.drop("b").with_columns(b="a").drop("a", "returning").with_columns(a="b + 1")
    assert sorted(str(row) for row in again.select("pid", "a", "b").rows()) == [
        "{'pid': 1, 'a': 4, 'b': 3}",
        "{'pid': 1, 'a': 6, 'b': 5}",
        "{'pid': 1, 'a': None, 'b': None}",
        "{'pid': 2, 'a': None, 'b': None}",
    ]


def test_joins_unions_and_lists_mean_the_same(engine: Engine) -> None:
    table = engine.stored(NUMBERS, ["pid"]).drop("returning")
    small = engine.read(pa.table({"pid": pa.array([2, 3], pa.int64()), "c": ["x", "y"]}))
    assert [row["c"] for row in in_order(table.join(small.broadcast(), "pid", "left"))] == [None, None, None, "x"]
    assert [row["pid"] for row in in_order(table.join(small, "pid", "anti"))] == [1, 1, 1]
    renamed = small.renamed(pid="other")
    assert sorted(row["b"] for row in table.join_where(renamed, "other = b", "semi").rows()) == [2, 3]
    full = table.where("b > 2").select("pid", "b").join(small, ["pid"], "full")
    assert in_order(full) == [{"pid": 1, "b": 3, "c": None}, {"pid": 2, "b": 4, "c": "x"}, {"pid": 3, "b": None, "c": "y"}]
    both = table.select("pid", "a", "b").union(table.where("b = 4").select("b", "pid"), missing=True)
    assert [row["pid"] for row in in_order(both)] == [1, 1, 1, 2, 2]
    exploded = table.where("b = 3").exploded("n", "sequence(1L, b)")
    assert sorted(row["n"] for row in exploded.rows()) == [1, 2, 3]
    stacked = table.where("b = 3").stacked([{"kind": "'first'", "of": "a"}, {"kind": "'second'", "of": "b + a"}])
    assert sorted((row["kind"], row["of"]) for row in stacked.rows()) == [("first", 3), ("second", 6)]
    with pytest.raises(ValueError, match="both tables of a join have"):
        table.join(table, "pid")
    with pytest.raises(ValueError, match="a union of other columns"):
        table.union(small)


@pytest.mark.parametrize("with_last", [False, True])
def test_rows_fill_bins_as_one_after_the_other_would(engine: Engine, with_last: bool) -> None:
    """Of many replicas' rows, some larger than a bin; more bins than asked for are not told apart."""
    drawn, most = random.Random(7), 6
    rows, expected = [], []
    for pid in range(40):
        room, sizes = drawn.randint(1, 30), [drawn.randint(1, 12) for _ in range(drawn.randint(1, 14))]
        bin_, left = -1, 0
        for nth, size in enumerate(sizes, 1):
            if bin_ < 0 or (left <= 0 if with_last else size > left):
                bin_, left = bin_ + 1, room + (1 if with_last else 0)
            left -= size
            rows.append({"pid": pid, "broker": 1, "nth": nth, "size": size, "room": room})
            expected.append(min(bin_, most))
    filled = in_bins(engine.stored(pa.Table.from_pylist(rows), ["pid"]), most, with_last)
    found = sorted((row["pid"], row["nth"], min(row["bin"], most)) for row in filled.rows())
    assert [bin_ for _, _, bin_ in found] == expected
    assert len(set(expected)) > most


def test_columns_of_one_call_see_the_values_before(engine: Engine) -> None:
    table = engine.stored(NUMBERS, ["pid"]).where("b = 3").select("a", "b").with_columns(a="b + 7", b="a", c="a + b")
    assert table.columns == ("a", "b", "c")
    assert table.with_columns(a="a + c").rows() == [{"a": 16, "b": 3, "c": 6}]
