"""Partitions that share budgets, in one task: with and without a first play, leaps, several blocks; edges as they were."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.engine.budgets.first_play import calm_edges
from emulator.inputs import scenario_inputs
from emulator.inputs.arrays import prepare
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.scenario import Scenario, load_run
from tests.engine.budgets.random_scenarios import ROUNDS, scenario_text

SEEDS = range(24)


def scenario_of(seed: int, folder: Path) -> Scenario:
    (folder / f"{seed}.toml").write_text(scenario_text(seed))
    return load_run(str(folder / f"{seed}.toml")).scenarios[0]


def played(scenario: Scenario, leaps: bool = True, state_at: tuple[int, ...] = ()) -> dict[str, pa.Table]:
    partitions = sum(topic.partitions for topic in scenario.topics)
    prepared = prepare([scenario], {scenario.scenario_id: np.zeros(partitions, bool)}, leaps, 25)
    return playing.play_shared(0, playing.shared_payload(prepared, 0), state_at)


def texts(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    """The rows of all tables but what says how they came to be."""
    traffic = (
        tables["traffic"].group_by(["broker_place", "bucket"]).aggregate([(n, "sum") for n in tables["traffic"].schema.names[3:]])
    )
    rest = {name: table for name, table in tables.items() if name not in ("blocks", "traffic")} | {"traffic": traffic}
    return {name: sorted(map(str, table.to_pylist())) for name, table in rest.items()}


def always_edges(each: playing.Each, shared: SharedBudgets) -> Edge:
    return first_edge(shared)


def test_a_first_play_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begins = []

    def first_exceeded(each: playing.Each, shared: SharedBudgets) -> Edge | None:
        begins.append(found(each, shared))
        return begins[-1]

    found = playing.first_exceeded
    for seed in SEEDS:
        scenario = scenario_of(seed, tmp_path)
        monkeypatch.setattr(playing, "first_exceeded", first_exceeded)
        with_it = texts(played(scenario))
        monkeypatch.setattr(playing, "first_exceeded", always_edges)
        assert with_it == texts(played(scenario)), seed
    rounds = [ROUNDS if edge is None else edge.round for edge in begins]
    assert rounds.count(ROUNDS) >= 4 and rounds.count(0) >= 4 and len(set(rounds)) >= 5, rounds


@pytest.mark.parametrize("seed", [1, 4, 9, 13, 20])
def test_leaps_and_blocks_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(seed, tmp_path)
    state_at = (3, 24, 25, 70, ROUNDS + 5)
    whole = texts(played(scenario, True, state_at))
    assert whole == texts(played(scenario, False, state_at))
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 3)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert whole == texts(played(scenario, True, state_at))


def test_edges_are_those_of_changes_of_inputs(tmp_path: Path) -> None:
    """As rounds in SQL have them, which ask worlds and feeds when something begins."""
    for seed in SEEDS:
        scenario = scenario_of(seed, tmp_path)
        shared, _ = prepare([scenario], {}, True, 25).shared_of(0)
        changes = scenario_inputs(scenario).change_counts()[0]
        assert shared.changes[shared.changes > 0].tolist() == changes[(changes > 0) & (changes < ROUNDS)].tolist(), seed
        rounds = [edge.round for edge in calm_edges(shared)]
        for change in shared.changes.tolist():
            later = -(-change // shared.window_rounds) * shared.window_rounds
            assert later >= ROUNDS or any(change <= edge <= later + shared.window_rounds for edge in rounds), (seed, change)
