"""Deleted topics without remote storage: compiled rounds against the plain-Python reference, and leaps, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.reference.random_layers import layered_batch
from tests.reference.random_scenarios import to_toml
from tests.rounds.kafka.compared import events_of, played, scenarios_of
from tests.rounds.kafka.test_against_reference import assert_equal
from tests.rounds.kafka.test_leaps import LONGER
from tests.rounds.kafka.test_leaps import differences as that_differ


def test_deleted_topics(tmp_path: Path) -> None:
    batch = layered_batch(3, 60, "retained", "deleted")
    game = assert_equal(tmp_path, batch, has_segments=True)
    assert sum(row["kind"] == "topic_deleted" for rows in events_of(game).values() for row in rows) == 40


def test_leaps_go_over_what_is_left(tmp_path: Path) -> None:
    run = scenarios_of(to_toml(layered_batch(4, 60, "retained", "deleted")), tmp_path)
    longer = [replace(scenario, rounds=scenario.rounds * LONGER) for scenario in run.scenarios]
    plain, leapt = played(longer, traced=False, leaps=False), played(longer, traced=False, leaps=True)
    assert that_differ(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() < plain.state.partitions["played"].sum() / 2
