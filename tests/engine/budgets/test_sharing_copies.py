"""Copies that compete, in one task: leaps and several blocks change nothing, and somebody is held back."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.all_budgets import AllDemands, AllShares
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.scenario import load_run
from tests.engine.budgets.random_copies import copies_text
from tests.engine.budgets.test_play_shared import played, texts


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_leaps_and_blocks_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.toml").write_text(copies_text(seed))
    scenario = load_run(str(tmp_path / "s.toml")).scenarios[0]
    limit, held_back = SharedBlock.limit, []

    def limited(block: SharedBlock, asked: AllDemands, shares: AllShares) -> None:
        limit(block, asked, shares)
        held_back.append(int(np.count_nonzero(np.asarray(block.stretches.state.tiers)["copy_share_bytes"] != UNKNOWN)))

    monkeypatch.setattr(SharedBlock, "limit", limited)
    whole = texts(played(scenario))
    assert any(held_back) and any("copy_finished" in row for row in whole["events"])
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert whole == texts(played(scenario, leaps=False))
