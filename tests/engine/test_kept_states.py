"""A state that goes from job to job as bytes is the same afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emulator.engine.kept_states import RECORDS, pack_state, unpack_state
from emulator.inputs.arrays import prepare, read_block
from emulator.rounds.kafka.play_block import play
from emulator.rounds.kafka.state import LIST_RECORDS, State
from emulator.scenario import load_run
from tests.engine.budgets.random_scenarios import scenario_text


def test_every_field_of_a_state_comes_back(tmp_path: Path) -> None:
    assert {*RECORDS, *LIST_RECORDS} == set(State._fields)
    (tmp_path / "s.toml").write_text(scenario_text(3))
    prepared = prepare([load_run(str(tmp_path / "s.toml")).scenarios[0]], {}, True, 25)
    block = read_block(prepared.block(np.arange(prepared.partition_count)))
    np.asarray(block.state.partitions)["end"] = 30
    state, _ = play(block.state, block.inputs, block.traffic)
    again = unpack_state(pack_state(state))
    for name in RECORDS:
        one, other = getattr(state, name), getattr(again, name)
        assert (one.dtype, type(one), other.flags.writeable) == (other.dtype, type(other), True), name
        assert np.array_equal(one, other), name
    for name in LIST_RECORDS:
        for one, other in zip(getattr(state, name), getattr(again, name), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape) and np.array_equal(one, other), name
    assert len(again.runs.words) and len(again.epochs.words)
