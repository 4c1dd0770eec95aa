"""Copies, and remote reads, that compete in one task: leaps and several blocks change nothing, and somebody is held back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emulator.engine.budgets import play_shared as playing
from emulator.engine.budgets.copy_turns import CopyTurns
from emulator.engine.budgets.read_turns import QuotaTurns, ReadTurns
from emulator.scenario import load_run
from tests.engine.budgets.random_copies import copies_text
from tests.engine.budgets.random_reads import reads_text
from tests.engine.budgets.test_play_shared import played, texts

Turns = type[CopyTurns] | type[ReadTurns] | type[QuotaTurns]


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_leaps_and_blocks_change_nothing(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = played_both_ways(copies_text(seed), (CopyTurns,), tmp_path, monkeypatch)
    assert any("copy_finished" in row for row in whole["events"])


@pytest.mark.parametrize("seed", [9, 11])
def test_leaps_and_blocks_change_no_reads(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and quotas are altered in the run, and in the first one the topic is deleted."""
    played_both_ways(reads_text(seed), (ReadTurns, QuotaTurns), tmp_path, monkeypatch)


def played_both_ways(text: str, kinds: tuple[Turns, ...], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The tables of a scenario, which are the same in leaps and in plain rounds of several blocks; each of `kinds` holds back."""
    (folder / "s.toml").write_text(text)
    scenario = load_run(str(folder / "s.toml")).scenarios[0]
    held_back = {kind: note_who_is_held_back(kind, monkeypatch) for kind in kinds}
    whole = texts(played(scenario))
    assert all(map(any, held_back.values()))
    monkeypatch.setattr(playing, "PARTITIONS_A_THREAD", 8)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert whole == texts(played(scenario, leaps=False))
    return whole


def note_who_is_held_back(kind: Turns, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """By round that is settled, whether somebody was."""
    settle, held_back = kind.settle, list[bool]()

    def settled(turns: CopyTurns | ReadTurns | QuotaTurns, round_: int) -> bool:
        held_back.append(settle(turns, round_))  # type: ignore[arg-type]
        return held_back[-1]

    monkeypatch.setattr(kind, "settle", settled)
    return held_back
