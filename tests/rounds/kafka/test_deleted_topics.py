"""Deleted topics without remote storage: compiled rounds against the plain-Python reference, and leaps, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.reference.random_layers import layered_batch
from tests.reference.random_scenarios import cases_of, to_toml
from tests.reference.tiered.simulate import simulate
from tests.rounds.kafka.compared import all_known, differences, played, scenarios_of
from tests.rounds.kafka.test_leaps import LONGER
from tests.rounds.kafka.test_leaps import differences as that_differ

COLUMNS, KINDS = ("local_segments", "local_bytes"), ("segment_roll", "local_delete", "topic_deleted")


def test_deleted_topics(tmp_path: Path) -> None:
    batch = layered_batch(3, 60, "retained", "deleted")
    game = played(scenarios_of(to_toml(batch), tmp_path).scenarios)
    known, differing = all_known(game), {}
    for place, case in enumerate(cases_of(batch)):
        found = differences(simulate(case), game, place, known, COLUMNS, KINDS)
        if found:
            differing[place] = found[:5]
    assert not differing, f"{len(differing)} cases differ: {dict(list(differing.items())[:3])}"
    assert sum(row["kind"] == "topic_deleted" for rows in known["events"].values() for row in rows) == 40


def test_leaps_go_over_what_is_left(tmp_path: Path) -> None:
    run = scenarios_of(to_toml(layered_batch(4, 60, "retained", "deleted")), tmp_path)
    longer = [replace(scenario, rounds=scenario.rounds * LONGER) for scenario in run.scenarios]
    plain, leapt = played(longer, traced=False, leaps=False), played(longer, traced=False, leaps=True)
    assert that_differ(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() < plain.state.partitions["played"].sum() / 2
