"""Copies that compete, in one task: leaps and several blocks change nothing, and somebody is held back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.copy_turns import CopyTurns
from emulator.scenario import load_run
from tests.engine.budgets.random_copies import copies_text
from tests.engine.budgets.test_play_shared import played, texts


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_leaps_and_blocks_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.toml").write_text(copies_text(seed))
    scenario = load_run(str(tmp_path / "s.toml")).scenarios[0]
    settle, held_back = CopyTurns.settle, []

    def settled(turns: CopyTurns, round_: int) -> bool:
        held_back.append(settle(turns, round_))
        return held_back[-1]

    monkeypatch.setattr(CopyTurns, "settle", settled)
    whole = texts(played(scenario))
    assert any(held_back) and any("copy_finished" in row for row in whole["events"])
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert whole == texts(played(scenario, leaps=False))
