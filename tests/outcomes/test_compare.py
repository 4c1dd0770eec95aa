"""Scenarios side by side: paired by partition, every share with its confidence interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.outcomes.compare import compare, compare_sql
from tests.asked import ask

WriteTables = Callable[[dict[str, list[dict[str, Any]]], Path], None]


def compared(folder: Path, *by: str) -> list[dict[str, Any]]:
    columns, rows = compare(lambda sql: ask(folder, sql), by)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def test_scenarios_side_by_side(small_run: Path) -> None:
    base, unclean = compared(small_run)
    assert (base["scenario"], base["partitions"], base["lost"], base["truncated"], base["worse"]) == ("base", 3, 3, 3, 0)
    assert base["leaderless_seconds"] == (60 + 18 + 18) * 0.5
    assert (unclean["refused"], unclean["under_min_isr_seconds"]) == (10, 28 * 0.5)
    assert (base["unacknowledged_lost"], unclean["unacknowledged_lost"]) == (0, 6)
    assert (unclean["scenario"], unclean["worse"] >= 1, unclean["lost"] >= 50) == ("unclean", True, True)
    assert base["lost_share"] == pytest.approx(1 / 3, abs=1e-6)
    assert base["unavailable_share"] == 1
    assert not [name for name in base if name.endswith(("_low", "_high"))], "one draw says nothing of others"


def test_by_topic(small_run: Path) -> None:
    rows = compared(small_run, "topic")
    assert [(row["topic"], row["scenario"], row["partitions"]) for row in rows] == [
        ("logs", "base", 1), ("logs", "unclean", 1), ("orders", "base", 2), ("orders", "unclean", 2),
    ]  # fmt: skip


def a_draw(number: int, seed: int, variant: str, lost: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
    """A scenario of a sweep over seeds, of two topics, with what partitions of the first one lose."""
    overrides = {"sweep.variant": f'"{variant}"', "sweep.seed": str(seed)}
    of_scenario = {"protocol": "kafka", "rounds": 100, "round_ms": 500, "mode": "plain", "overrides": overrides}
    outcomes = [("t", number, records) for number, records in enumerate(lost)] + [("u", 0, 0)]
    return {
        "scenarios": [{"scenario_id": number, "name": f"{variant}, seed {seed}", **of_scenario}],
        "outcomes": [
            {"scenario_id": number, "topic": topic, "partition": at, "leader": 1, "isr": [1], "acked_lost": records}
            for topic, at, records in outcomes
        ],
    }


def test_intervals_are_over_draws(tmp_path: Path, write_tables: WriteTables) -> None:
    """All partitions of a draw lose or none: what 200 of them say is no more than what two draws say."""
    losing, none = [5] * 100, [0] * 100
    drawn = [
        a_draw(0, 7, "base", losing),
        *(a_draw(1 + at, 7 + at, "base", losing if at == 0 else none) for at in range(4)),
        *(a_draw(5 + at, 7 + at, "better", [1] * 100 if at == 0 else none) for at in range(4)),
    ]
    drawn[0]["scenarios"][0]["overrides"] = {}
    write_tables({name: [row for draw in drawn for row in draw[name]] for name in drawn[0]}, tmp_path / "run")
    base, better = compared(tmp_path / "run")
    assert [(row["scenario"], row["draws"], row["partitions"], row["lost"]) for row in (base, better)] == [
        ("base", 4, 101, 125), ("better", 4, 101, 25),
    ]  # fmt: skip
    assert (base["better"], better["better"], better["worse"]) == (0, 25, 0), "held against the base of the same seed"
    assert base["lost_share"] == pytest.approx(100 / 404, abs=1e-6)
    exact = [0, 3 / 4 * 100 / 101]  # P(no draw with losses) = 0.32; P(at most three of four) = 0.996
    assert [base["lost_share_low"], base["lost_share_high"]] == pytest.approx(exact, abs=1e-6)
    assert base["unavailable_share_low"] is None, "every draw says 0"
    by_topic = compared(tmp_path / "run", "topic")
    assert [(row["topic"], row["scenario"], row["lost_share"]) for row in by_topic] == [
        ("t", "base", 0.25), ("t", "better", 0.25), ("u", "base", 0), ("u", "better", 0),
    ]  # fmt: skip


def test_what_min_insync_replicas_costs_is_told(tmp_path: Path, write_tables: WriteTables) -> None:
    """Nothing is lost with two in-sync replicas; what is refused and how long is told beside it, in seconds of partitions."""
    of_scenario = {"protocol": "kafka", "rounds": 100, "mode": "plain", "overrides": {}}
    guarded = {"refused": 700, "unwritable_rounds": 70, "leaderless_rounds": 4, "under_min_isr_rounds": 80}
    tables = {
        "scenarios": [
            {"scenario_id": at, "name": name, "round_ms": round_ms, **of_scenario}
            for at, (name, round_ms) in enumerate((("base", 500), ("guarded", 250)))
        ],
        "outcomes": [
            {"scenario_id": at, "topic": "t", "partition": number, "leader": 1, "isr": [1], **outcome}
            for at, outcome in enumerate(({"acked_lost": 5, "leaderless_rounds": 4}, guarded))
            for number in range(2)
        ],
    }
    write_tables(tables, tmp_path / "run")
    base, other = compared(tmp_path / "run")
    names = ("lost", "refused", "unwritable_seconds", "leaderless_seconds", "under_min_isr_seconds")
    assert [base[name] for name in names] == [10, 0, 0, 4, 0]
    assert [other[name] for name in names] == [0, 1400, 35, 2, 40]


def test_replicas_that_differ_below_their_high_watermarks_are_diverged(tmp_path: Path, write_tables: WriteTables) -> None:
    here = {"scenario_id": 0, "topic": "t"}
    scenario = {"scenario_id": 0, "name": "base", "protocol": "kafka", "rounds": 9, "round_ms": 500, "mode": "plain"}
    tables = {
        "scenarios": [{**scenario, "overrides": {}}],
        "outcomes": [{**here, "partition": number, "leader": 1, "isr": [1]} for number in range(2)],
        "replicas": [
            {**here, "partition": number, "broker": broker, "role": "follower", "leo": 5, "hw": hw, "in_isr": True}
            for number, hw in ((0, 5), (1, 3))
            for broker in (1, 2)
        ],
        # epoch 1 is at 3 on broker 2, where broker 1 still has epoch 0: seen by consumers of partition 0 only
        "leader_epochs": [
            {**here, "partition": number, "broker": broker, "epoch": epoch, "start_offset": start, "end_offset": end}
            for number in range(2)
            for broker, epoch, start, end in ((1, 0, 0, 4), (1, 1, 4, None), (2, 0, 0, 3), (2, 1, 3, None))
        ],
    }
    folder = tmp_path / "run"
    write_tables(tables, folder)
    _, rows = ask(folder, "SELECT partition, broker, other_broker, from_offset, to_offset FROM diverged")
    assert list(rows) == [(0, 1, 2, 3, 4)]
    assert compared(folder)[0]["diverged"] == 1


def test_unknown_column() -> None:
    with pytest.raises(InputError, match=r'--by: outcomes has no column "topik" \(did you mean "topic"\?\); allowed: topic, '):
        compare_sql(["topik"])
