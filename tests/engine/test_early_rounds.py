"""What a run is played by is read while Spark starts, if it is compiled, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.engine import early_rounds
from emulator.engine.compile_all import GROUPS, SCENARIO, TIERED
from emulator.rounds.kafka.play_partitions import play_partitions
from emulator.scenario import load_run

READ = """
[[variants]]
name = "read"
consumers = [{ group = "g", topic = "t" }]
"""
LATER = """
[[variants]]
name = "later"
cluster = { config = { "remote.log.storage.system.enable" = true } }
commands = [{ kind = "alter_config", round = 9, topic = "t*", config = { "remote.storage.enable" = true } }]
"""


@pytest.mark.parametrize(
    ("text", "read"),
    [(SCENARIO, [SCENARIO]), (TIERED, [TIERED]), (SCENARIO + READ, [TIERED]), (SCENARIO + LATER, [TIERED]), (GROUPS, [])],
)
@pytest.mark.parametrize("is_cached", [True, False])
def test_what_is_read(text: str, read: list[str], is_cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    monkeypatch.setattr(early_rounds, "_read", found.append)
    monkeypatch.setattr(early_rounds, "is_compiling", lambda: True)
    monkeypatch.setattr(early_rounds, "is_cached", lambda _: is_cached)
    (tmp_path / "s.toml").write_text(text)
    early_rounds.read_early(load_run(str(tmp_path / "s.toml")).scenarios)
    assert found == (read if is_cached else [])


def test_nothing_is_read_for_what_workers_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    monkeypatch.setattr(early_rounds, "_read", found.append)
    monkeypatch.setattr(early_rounds, "is_surely_large", lambda *_: True)
    (tmp_path / "s.toml").write_text(SCENARIO)
    early_rounds.read_early(load_run(str(tmp_path / "s.toml")).scenarios)
    assert not found


def test_it_is_there_then() -> None:
    early_rounds._read(SCENARIO)
    assert len(getattr(play_partitions, "signatures", [0])) == 1


def test_what_is_wrong_is_left_to_the_run() -> None:
    early_rounds._read("nothing")
