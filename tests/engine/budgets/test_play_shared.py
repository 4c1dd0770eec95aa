"""Partitions that share budgets, in one task: with and without a first play, leaps, several blocks; edges as they were."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.all_budgets import AllDemands
from emulator.engine.budgets.demands import Demands
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.engine.budgets.first_play import calm_edges
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.engine.budgets.shares import FlowShares
from emulator.engine.budgets.turns import Each, InTurn
from emulator.engine.compiled_engine import CompiledEngine
from emulator.engine.stretches import Stretches
from emulator.inputs.arrays import prepare
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.outcomes.written_rows import summed_count_rows
from emulator.scenario import Scenario, load_run
from tests.engine.budgets.random_scenarios import ROUNDS, scenario_text
from tests.inputs.one_by_one import OneScenario

SEEDS = (*range(24), 31, 34)

WAITS = """
rounds = 160
round_ms = 1000
[cluster]
brokers = 3
session_timeout_rounds = 3
quota_window_rounds = 10
fetches_per_round = 1
network_bytes_per_second = 30000
config = { "auto.leader.rebalance.enable" = false, "replica.fetch.max.bytes" = 2500 }
[[topics]]
name = "t"
assignment = [[1, 2, 3], [2, 1, 3]]
config = { "min.insync.replicas" = 1 }
[[topics]]
name = "burst"
assignment = [[3]]
[[workload]]
topic = "t"
records_per_round = 4
record_bytes = 500
acks = "all"
[[workload]]
topic = "burst"
from_round = 80
records_per_round = 1
record_bytes = 28000
[[faults]]
kind = "broker_crash"
broker = 3
from_round = 5
to_round = 45
"""
"""From round 45 on broker 3 fetches what replica.fetch.max.bytes allows, and lacks data all the time; from 80 on it is short."""


def scenario_of(seed: int, folder: Path, **more: bool) -> Scenario:
    (folder / f"{seed}.toml").write_text(scenario_text(seed, **more))
    return load_run(str(folder / f"{seed}.toml")).scenarios[0]


def played(
    scenario: Scenario, leaps: bool = True, state_at: tuple[int, ...] = (), bucket_rounds: int = 25
) -> dict[str, pa.Table]:
    partitions = sum(topic.partitions for topic in scenario.topics)
    prepared = prepare([scenario], {scenario.scenario_id: np.zeros(partitions, bool)}, leaps, bucket_rounds)
    return playing.play_shared(0, playing.shared_payload(prepared, 0), state_at)


def texts(tables: dict[str, pa.Table]) -> dict[str, list[str]]:
    """The rows of all tables but what says how they came to be: `fetch_use` is cut by blocks."""
    traffic = (
        tables["traffic"].group_by(["broker_place", "bucket"]).aggregate([(n, "sum") for n in tables["traffic"].schema.names[3:]])
    )
    rest = {name: table for name, table in tables.items() if name not in ("blocks", "traffic", "fetch_use")} | {
        "traffic": traffic
    }
    rest["event_counts"] = summed_count_rows(tables["event_counts"])
    return {name: sorted(map(str, table.to_pylist())) for name, table in rest.items()}


def always_edges(each: Each, in_turn: InTurn, shared: SharedBudgets) -> Edge:
    return first_edge(shared)


def test_a_first_play_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begins = []

    def first_exceeded(each: Each, in_turn: InTurn, shared: SharedBudgets) -> Edge | None:
        begins.append(found(each, in_turn, shared))
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


def test_edges_begin_where_a_follower_has_credit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quota that is larger than a fetch leaves credit, which is used up in the rounds that are short."""
    (tmp_path / "s.toml").write_text(WAITS)
    scenario = load_run(str(tmp_path / "s.toml")).scenarios[0]
    found, begins = playing.first_exceeded, []

    def first_exceeded(each: Each, in_turn: InTurn, shared: SharedBudgets) -> Edge | None:
        begins.append(found(each, in_turn, shared))
        return begins[-1]

    monkeypatch.setattr(playing, "first_exceeded", first_exceeded)
    tables = texts(played(scenario))
    monkeypatch.setattr(playing, "first_exceeded", always_edges)
    assert tables == texts(played(scenario))
    assert [edge and edge.round for edge in begins] == [40]


def test_it_tells_how_far_it_is(tmp_path: Path) -> None:
    """From edge to edge, as of the block that it is; the end is told by whoever plays blocks."""
    scenario, told = scenario_of(2, tmp_path), list[tuple[int, float]]()
    prepared = prepare([scenario], {scenario.scenario_id: np.zeros(sum(t.partitions for t in scenario.topics), bool)}, True, 25)
    playing.play_shared(7, playing.shared_payload(prepared, 0), tell=lambda *parts: told.append(parts))
    parts = [part for _, part in told]
    assert {block for block, _ in told} == {7}
    assert len(parts) >= 4 and parts == sorted(parts) and parts[0] >= 0 and parts[-1] < 1


def test_one_scenario_that_shares_is_for_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much it has to do, where Spark is local: a task would play it by threads, too, but not tell how far it is."""
    scenario = scenario_of(2, tmp_path)
    monkeypatch.setattr("emulator.engine.blocks.LOCAL_WEIGHT", 1.0)
    monkeypatch.setattr("emulator.engine.blocks.SMALL_WEIGHT", 1.0)
    flags = {at: np.zeros(sum(topic.partitions for topic in scenario.topics), bool) for at in (0, 1)}
    two = [scenario, replace(scenario, scenario_id=1)]
    assert CompiledEngine([scenario], flags, True, 25).is_small(cores=2)
    assert not CompiledEngine([scenario], flags, True, 25).is_small(cores=None)
    assert not CompiledEngine(two, flags, True, 25).is_small(cores=2)


@pytest.mark.parametrize(("seed", "quotas"), [*((seed, False) for seed in (2, 3, 4, 6, 7, 8)), (7, True)])
def test_with_tiers_and_readers(seed: int, quotas: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First play, leaps and blocks change nothing, with quotas of clients too; who builds its state lacks what its leader has."""
    scenario = scenario_of(seed, tmp_path, tiered=True, read=seed % 2 > 0, quotas=quotas)
    whole = texts(played(scenario))
    monkeypatch.setattr(playing, "first_exceeded", always_edges)
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 3)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    limit, edges = SharedBlock.limit, []

    def limited(block: SharedBlock, asked: Demands, shares: FlowShares) -> None:
        replicas = np.asarray(block.stretches.state.replicas)
        assert (replicas["log_bytes"] == 500 * replicas["leo"]).all()  # all records have 500 bytes
        edges.append(int(np.count_nonzero(replicas["local_start"])))
        limit(block, asked, shares)

    monkeypatch.setattr(SharedBlock, "limit", limited)
    assert whole == texts(played(scenario, leaps=False))
    assert any(edges) and (quotas or any("aux_state_built" in row for row in whole["events"]))


@pytest.mark.parametrize("seed", [1, 4, 9, 13, 20])
def test_leaps_and_blocks_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(seed, tmp_path)
    state_at = (3, 24, 25, 70, ROUNDS + 5)
    whole = texts(played(scenario, True, state_at))
    assert whole == texts(played(scenario, False, state_at))
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 3)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert whole == texts(played(scenario, True, state_at))


THROTTLED = """
rounds = 900
round_ms = 500
[cluster]
brokers = 6
network_bytes_per_second = 10000000
config = { "leader.replication.throttled.rate" = 170000, "follower.replication.throttled.rate" = 90000 }
[[topics]]
name = "t"
partitions = 12
replication_factor = 3
config = { "leader.replication.throttled.replicas" = "*", "follower.replication.throttled.replicas" = "*" }
[[workload]]
topic = "t"
records_per_round = 10
record_bytes = 1000
[[faults]]
kind = "disk_loss"
broker = 4
from_round = 100
to_round = 150
[[commands]]
kind = "alter_config"
round = 500
broker = 1
config = { "leader.replication.throttled.rate" = 110000 }
"""
"""Broker 4 begins anew and cannot keep up: up to four followers in sync, 20 kB/s each, leave it little of a leader's rate. Its
partitions are never quiet again, while nothing happens to the others.
"""


def test_quiet_partitions_do_not_stop_at_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are played up to an edge that gives them less or more; no table changes, also where states are told in between."""
    (tmp_path / "s.toml").write_text(THROTTLED)
    scenario = load_run(str(tmp_path / "s.toml")).scenarios[0]
    state_at, blocks, caught_up = (3, 333, 340), [], []

    class Kept(SharedBlock):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            blocks.append(self)

    def catch_up(stretches: Stretches, meant: np.ndarray) -> None:
        caught_up.append(int(meant.sum()))
        found(stretches, meant)

    found = Stretches.catch_up
    plain = texts(played(scenario, False, state_at, 300))
    monkeypatch.setattr(playing, "SharedBlock", Kept)
    monkeypatch.setattr(Stretches, "catch_up", catch_up)
    assert plain == texts(played(scenario, True, state_at, 300))
    rounds = np.asarray(blocks[0].stretches.state.partitions)["played"]
    assert sorted(rounds < 250) == [False] * 6 + [True] * 6, rounds
    assert caught_up


def never_alike(edge: Edge, shared: SharedBudgets, is_short: bool, until: int) -> tuple[list[Edge], Edge | None]:
    return [edge], edge.following(shared, is_short)


@pytest.mark.parametrize("page_cache_bytes", [None, 1, 4_000_000])
def test_edges_that_change_nothing_are_passed_over(
    page_cache_bytes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who lacks more than its fetches bring asks for the same at every edge, until the throttle changes."""
    fetches = 'fetches_per_round = 1\nconfig = { "replica.fetch.max.bytes" = 20000, '
    if page_cache_bytes is not None:
        fetches = f"page_cache_bytes = {page_cache_bytes}\n{fetches}"
    (tmp_path / "s.toml").write_text(THROTTLED.replace("config = { ", fetches, 1))
    scenario, state_at = load_run(str(tmp_path / "s.toml")).scenarios[0], (3, 333, 340)
    demands, shared_out = SharedBlock.demands, []

    def asked(block: SharedBlock, round_: int) -> AllDemands:
        shared_out.append(round_)
        return demands(block, round_)

    monkeypatch.setattr(SharedBlock, "demands", asked)
    found = texts(played(scenario, True, state_at, 300))
    few = [round_ for round_ in shared_out if round_ >= 200]
    monkeypatch.setattr(Edge, "alike", never_alike)
    shared_out.clear()
    assert found == texts(played(scenario, False, state_at, 300))
    assert [round_ for round_ in shared_out if round_ >= 200] == [*range(200, 900, 20)] and len(few) <= 12, few


def test_passing_edges_over_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it turns out that somebody asked for something else."""
    steadily, outcomes = playing._play_steadily, []

    def noted(each: Each, in_turn: InTurn, edges: Sequence[Edge], to_round: int) -> bool:
        outcomes.append(steadily(each, in_turn, edges, to_round))
        return outcomes[-1]

    monkeypatch.setattr(playing, "_play_steadily", noted)
    alike = Edge.alike
    for seed in SEEDS:
        scenario = scenario_of(seed, tmp_path)
        monkeypatch.setattr(Edge, "alike", alike)
        found = texts(played(scenario))
        monkeypatch.setattr(Edge, "alike", never_alike)
        assert found == texts(played(scenario)), seed
    assert outcomes.count(True) >= 5 and outcomes.count(False) >= 2, outcomes


def test_edges_are_those_of_changes_of_inputs(tmp_path: Path) -> None:
    """Of partitions and their brokers, looked at one by one."""
    for seed in SEEDS:
        scenario = scenario_of(seed, tmp_path, tiered=seed % 3 > 0, read=seed % 3 > 1)
        shared, _ = prepare([scenario], {}, True, 25).shared_of(0)
        changes = OneScenario(scenario).change_rounds()
        assert shared.changes[shared.changes > 0].tolist() == [at for at in changes if 0 < at < ROUNDS], seed
        rounds = [edge.round for edge in calm_edges(shared)]
        for change in shared.changes.tolist():
            later = -(-change // shared.window_rounds) * shared.window_rounds
            assert later >= ROUNDS or any(change <= edge <= later + shared.window_rounds for edge in rounds), (seed, change)
