"""No run ends, approximates or warns because a list was long: rooms that start tiny grow, and nothing changes. No Spark."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.kafka.play_block import Scratch, play
from emulator.rounds.records import words_of
from tests.reference.random_scenarios import random_batch, to_toml
from tests.rounds.kafka.compared import events_of, outcomes_of, played, scenarios_of


def test_rooms_that_start_tiny(tmp_path: Path) -> None:
    run = scenarios_of(to_toml(random_batch(7, 60)), tmp_path)
    flags = {s.scenario_id: np.ones(sum(len(t.assignment) for t in s.topics), bool) for s in run.scenarios}
    prepared = prepare(run.scenarios, flags, False, 10)
    block = read_block(prepared.block(np.arange(prepared.partition_count)))
    state, told = play(block.state, block.inputs, block.traffic, Scratch(block.inputs, room=2, rows_told=3))
    usual_state, usual = play(block.state, block.inputs, block.traffic)
    for name in ("events", "trace", "trace_epochs", "trace_partitions", "violations", "witness_epochs", "traffic"):
        assert (words_of(getattr(told, name)) == words_of(getattr(usual, name))).all(), name
    for lists in ("runs", "epochs", "ranges", "sent", "news"):
        left, right = getattr(state, lists), getattr(usual_state, lists)
        assert (left.offsets == right.offsets).all()
        assert (left.words == right.words).all()


def test_500_elections_of_one_partition(tmp_path: Path) -> None:
    """Every 20 rounds the leader is moved to the other replica and back."""
    commands = "".join(
        f'[[commands]]\nround = {20 * at}\nkind = "reassign"\ntopic = "t"\npartition = 0\n'
        f"replicas = {[1, 2] if at % 2 else [2, 1]}\n"
        f'[[commands]]\nround = {20 * at + 5}\nkind = "preferred_leader_election"\ntopic = "t"\npartition = 0\n'
        for at in range(501)
    )
    text = f"""
name = "elections"
rounds = 10_050
[cluster]
brokers = 2
[[topics]]
name = "t"
assignment = [[1, 2]]
[[workload]]
topic = "t"
records_per_round = 3
record_bytes = 10
{commands}
"""
    game = played(scenarios_of(text, tmp_path).scenarios, traced=False)
    outcomes = outcomes_of(game, 0)
    assert outcomes["elections"] == 501
    assert outcomes["leader_epoch"] == 501
    assert outcomes["acked_lost"] == 0
    assert len([e for e in events_of(game)[0] if e["kind"] == "election"]) == 501
    # What was in flight at an election, a round's records, nobody acknowledged: the old leader was gone by then.
    assert outcomes["acked"] == outcomes["hw"] - 3 * 501


def test_10_000_runs_of_a_log(tmp_path: Path) -> None:
    """The workload changes in every round, so that every round is a run of its own."""
    rows = "".join(
        f'[[workload]]\ntopic = "t"\nfrom_round = {at}\nto_round = {at + 1}\n'
        f"records_per_round = {1 + at % 3}\nrecord_bytes = 10\n"
        for at in range(10_000)
    )
    text = f"""
name = "runs"
rounds = 10_002
[cluster]
brokers = 2
[[topics]]
name = "t"
assignment = [[1, 2]]
{rows}
"""
    game = played(scenarios_of(text, tmp_path).scenarios, traced=False)
    offsets = game.state.runs.offsets
    assert [int(offsets[2 * at + 1] - offsets[2 * at]) for at in range(2)] == [10_000, 10_000]
    assert outcomes_of(game, 0)["leo"] == sum(1 + at % 3 for at in range(10_000))
    assert outcomes_of(game, 0)["acked_lost"] == 0
