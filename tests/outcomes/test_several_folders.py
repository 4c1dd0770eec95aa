"""Scenarios of several runs side by side: which is which, what they are paired with, and what they do not have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.outcomes.ask import Asker
from emulator.outcomes.compare import compare
from emulator.outcomes.several_folders import labels_of
from emulator.outcomes.unlike_runs import unlike_notes
from tests.asked import no_spark

WriteTables = Callable[[dict[str, list[dict[str, Any]]], Path], None]


def a_scenario(
    number: int, name: str, lost: Mapping[tuple[str, int], int], rounds: int = 100, **overrides: str
) -> dict[str, Any]:
    """A scenario, and what its partitions lost."""
    named = {f"sweep.{key}": value for key, value in overrides.items()}
    of_scenario = {"protocol": "kafka", "rounds": rounds, "round_ms": 500, "mode": "plain", "overrides": named}
    return {
        "scenarios": [{"scenario_id": number, "name": name, **of_scenario}],
        "outcomes": [
            {"scenario_id": number, "topic": topic, "partition": at, "leader": 1, "isr": [1], "acked_lost": records}
            for (topic, at), records in lost.items()
        ],
    }


@pytest.fixture
def write(tmp_path: Path, write_tables: WriteTables) -> Callable[..., str]:
    def written(folder: str, *scenarios: dict[str, Any]) -> str:
        write_tables({name: [row for one in scenarios for row in one[name]] for name in scenarios[0]}, tmp_path / folder)
        return str(tmp_path / folder)

    return written


def asker(first: str, *beside: str) -> Asker:
    return Asker(first, "duckdb", no_spark, beside=beside)


def compared(*folders: str, by: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    columns, rows = compare(asker(*folders).ask, by)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_all_are_paired_with_the_first_of_all(write: Callable[..., str]) -> None:
    two = {("t", 0): 5, ("t", 1): 0}
    before = write("before", a_scenario(0, "base", two), a_scenario(1, "more", {("t", 0): 9, ("t", 1): 9}))
    after = write("after", a_scenario(0, "base", {("t", 0): 0, ("t", 1): 1, ("new", 0): 70}))
    rows = compared(before, after)
    assert [(row["scenario"], row["partitions"], row["lost"], row["worse"], row["better"]) for row in rows] == [
        ("before: base", 2, 5, 0, 0), ("before: more", 2, 18, 2, 0), ("after: base", 2, 1, 1, 1),
    ]  # fmt: skip
    assert unlike_notes(asker(before, after)) == ["1 partition of scenario after: base left out, which before: base has not"]
    assert [row["scenario"] for row in compared(before)] == ["base", "more"], "of one run nobody asks whose"
    assert [row["lost"] for row in compared(before, after, by=("partition",))] == [5, 9, 0, 0, 9, 1]


def test_draws_of_two_runs_are_not_thrown_together(write: Callable[..., str]) -> None:
    def drawn(lost: int) -> list[dict[str, Any]]:
        draws = [a_scenario(1 + at, f"seed {at}", {("t", 0): lost}, variant='"base"', seed=str(at)) for at in range(3)]
        return [a_scenario(0, "base", {("t", 0): 0}), *draws]

    rows = compared(write("before", *drawn(4)), write("after", *drawn(1)))
    assert [(row["scenario"], row["draws"], row["lost"], row["better"]) for row in rows] == [
        ("before: base", 3, 4, 0), ("after: base", 3, 1, 1),
    ]  # fmt: skip


def test_what_is_of_unlike_times_is_said(write: Callable[..., str]) -> None:
    short, long = (write(name, a_scenario(0, "base", {("t", 0): 0}, rounds)) for name, rounds in (("short", 100), ("long", 240)))
    said = "scenario long: base: 2 min 0 s, short: base: 50 s; what is counted is of unlike times"
    assert unlike_notes(asker(short, long)) == [said]


def test_runs_without_a_partition_in_common(write: Callable[..., str]) -> None:
    one, other = (write(name, a_scenario(0, "base", {(name, 0): 0})) for name in ("one", "other"))
    with pytest.raises(
        InputError, match="beside other runs: scenario other: base of them has no partition of one: base; allowed"
    ):
        unlike_notes(asker(one, other))


def test_spark_is_asked_of_one_run(write: Callable[..., str]) -> None:
    one = write("one", a_scenario(0, "base", {("t", 0): 0}))
    with pytest.raises(InputError, match="two: Spark is asked of one run; allowed: local folders"):
        Asker(one, "spark", no_spark, beside=["two"])
    with pytest.raises(InputError, match=r"one: beside other runs: the tables are in no local folder; allowed"):
        asker(one, "s3a://bucket/two").ask("SELECT 1")


def test_folders_of_one_name_are_called_by_their_paths() -> None:
    assert labels_of(["build/a/", "b"]) == ["a", "b"]
    assert labels_of(["a/result", "b/result"]) == ["a/result", "b/result"]
