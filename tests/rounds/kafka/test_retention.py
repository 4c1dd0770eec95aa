"""Segments and retention of topics that are not tiered: compiled rounds against the plain-Python reference, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.kafka.play_block import Scratch, play
from emulator.rounds.records import words_of
from tests.reference.random_layers import retained_batch
from tests.reference.random_scenarios import to_toml
from tests.reference.scenario_cases import cases_of_run
from tests.reference.tiered.simulate import simulate
from tests.rounds.kafka.compared import all_known, differences, events_of, played, scenarios_of
from tests.rounds.kafka.test_against_reference import SEGMENT_COLUMNS, SEGMENT_KINDS, assert_equal
from tests.rounds.kafka.test_leaps import LONGER
from tests.rounds.kafka.test_leaps import differences as that_differ


@pytest.mark.parametrize(("seed", "uneven"), [(5, False), (6, False), (7, False), (8, True), (12, True)])
def test_retention(tmp_path: Path, seed: int, uneven: bool) -> None:
    batch = retained_batch(seed, 100, uneven)
    game = assert_equal(tmp_path, batch, has_segments=True)
    assert sum(row["kind"] == "local_delete" for rows in events_of(game).values() for row in rows) > 50


@pytest.mark.parametrize(("seed", "uneven"), [(11, False), (12, True)])
def test_leaps_change_nothing(tmp_path: Path, seed: int, uneven: bool) -> None:
    run = scenarios_of(to_toml(retained_batch(seed, 150, uneven)), tmp_path)
    longer = [replace(scenario, rounds=scenario.rounds * LONGER) for scenario in run.scenarios]
    for scenarios in (run.scenarios, longer):
        plain, leapt = played(scenarios, traced=False, leaps=False), played(scenarios, traced=False, leaps=True)
        assert that_differ(plain, leapt)[:5] == []
    assert leapt.state.partitions["played"].sum() < plain.state.partitions["played"].sum() / 2


def test_rooms_that_start_tiny(tmp_path: Path) -> None:
    run = scenarios_of(to_toml(retained_batch(7, 60)), tmp_path)
    flags = {s.scenario_id: np.ones(sum(len(t.assignment) for t in s.topics), bool) for s in run.scenarios}
    prepared = prepare(run.scenarios, flags, False, 10)
    block = read_block(prepared.block(np.arange(prepared.partition_count)))
    state, told = play(block.state, block.inputs, block.traffic, Scratch(block.inputs, room=2, rows_told=3))
    usual_state, usual = play(block.state, block.inputs, block.traffic)
    for name in ("events", "trace", "trace_segments"):
        assert (words_of(getattr(told, name)) == words_of(getattr(usual, name))).all(), name
    for lists in ("runs", "segments"):
        assert (getattr(state, lists).words == getattr(usual_state, lists).words).all()


DATED_BELOW_ITS_LOG_START = """
name = "dated"
rounds = 40
round_ms = 500
[cluster]
brokers = 1
session_timeout_rounds = 3
fetches_per_round = 1
config = { "log.retention.check.interval.ms" = 500 }
[[topics]]
name = "t"
assignment = [[1]]
config = { "retention.ms" = 7000 }
[[workload]]
topic = "t"
records_per_round = 5
record_bytes = 100
acks = "1"
to_round = 11
[[commands]]
round = 5
kind = "delete_records"
topic = "t"
partition = 0
offset = -1
[[faults]]
kind = "power_loss"
broker = 1
from_round = 12
to_round = 15
"""


def test_a_segment_is_as_old_as_what_a_power_loss_left_of_it(tmp_path: Path) -> None:
    """Records 0 to 24, of rounds 0 to 4, lie below the log start; the others go. So it is 14 rounds old in 18, and goes in 19."""
    run = scenarios_of(DATED_BELOW_ITS_LOG_START, tmp_path)
    game = played(run.scenarios)
    [case] = cases_of_run(run).values()
    assert differences(simulate(case), game, 0, all_known(game), SEGMENT_COLUMNS, SEGMENT_KINDS) == []
    deleted = [row for row in events_of(game)[0] if row["kind"] == "local_delete"]
    assert [(row["round"], row["from_offset"], row["to_offset"]) for row in deleted] == [(19, 0, 25)]


def test_a_quiet_month_of_deletions_is_few_rounds(tmp_path: Path) -> None:
    """A segment of 100 rounds goes after a day, again and again: all but the rounds around it are leapt over."""
    text = """
        name = "quiet"
        rounds = 5_184_000
        [cluster]
        brokers = 3
        [[topics]]
        name = "t"
        partitions = 2
        replication_factor = 3
        config = { "segment.bytes" = 12_000_000, "retention.ms" = 86_400_000 }
        [[workload]]
        topic = "t"
        records_per_round = 10
        record_bytes = 100
    """
    game = played(scenarios_of(text, tmp_path).scenarios, traced=False, leaps=True, bucket_rounds=172_800)
    parts = game.state.partitions
    assert parts["appended"].tolist() == [51_840_000] * 2
    deleted = [row for row in events_of(game)[0] if row["kind"] == "local_delete"]
    assert len(deleted) > 3 * 400
    assert parts["local_deleted_bytes"][0] == sum(row["to_offset"] - row["from_offset"] for row in deleted) * 100
    assert parts["played"].max() < 60 * len(deleted) / 3
