"""What a run says of compiling, and where it cannot."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from emulator.engine import play_ledger_blocks, warm_up
from emulator.engine.compile_all import LEDGERS
from emulator.errors import EnvironmentProblem
from emulator.inputs.arrays import Block, Prepared, prepare
from emulator.inputs.ledger_arrays import PreparedLedgers, PreparedTopics, read_ledger_block, read_topic_block
from emulator.progress import Progress
from emulator.rounds import compiled, compiled_cache
from emulator.scenario import load_run

SCENARIO = """
rounds = 10
cluster = { brokers = 3 }
topics = [{ name = "t", partitions = 2, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 1 }]
"""


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return prepare(load_run(str(tmp_path / "s.toml")).scenarios, {}, True, 25)


TIERED = """
[[variants]]
name = "tiered"
cluster = { config = { "remote.log.storage.system.enable" = true } }
topics = [{ name = "t", config = { "remote.storage.enable" = true } }]
"""


def said(prepared: Prepared) -> list[str]:
    stream = io.StringIO()
    warm_up.warm_up(prepared, Progress(stream))
    return stream.getvalue().splitlines()


def not_compiled(name: str) -> SimpleNamespace:
    """Stands for an entry point, whatever this process has compiled before."""
    return SimpleNamespace(signatures=[], __module__="tests", __name__=name)


def test_a_first_run_says_that_it_compiles(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []
    monkeypatch.setattr(compiled, "is_compiling", lambda: True)
    monkeypatch.setattr(warm_up, "play_partitions", not_compiled("play_partitions"))
    monkeypatch.setattr(compiled_cache, "is_cached", lambda _: bool(played))
    monkeypatch.setattr(warm_up, "play", lambda state, *_: played.append(int(np.asarray(state.partitions)["end"][0])))
    first, last = said(prepared)
    assert (first, last.rstrip(" s0123456789")) == ("compiling the rounds, once for this version ...", "compiled in")
    assert played == [0], "one partition, no round"
    assert said(prepared) == []


@pytest.mark.parametrize(("records", "player", "entry_point"), [
    ("ledgers", "play", "play_ledgers"), ("topics", "play_topic_block", "play_topics"),
])  # fmt: skip
def test_no_round_of_ledgers_is_played_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: str, player: str, entry_point: str
) -> None:
    """One ledger, one topic; what is given to be played stays as it was."""
    (tmp_path / "s.toml").write_text(LEDGERS)
    scenarios = load_run(str(tmp_path / "s.toml")).scenarios
    block: Any
    if records == "ledgers":
        block = read_ledger_block(PreparedLedgers(scenarios, {0: np.zeros(2, bool)}, True).payload(0, 1))
    else:
        block = read_topic_block(PreparedTopics(scenarios, {0: np.zeros(2, bool)}, True).payload(0, 1))
    before, played = np.array(getattr(block.state, records)), list[Any]()
    play = getattr(play_ledger_blocks, player)
    monkeypatch.setattr(compiled, "is_compiling", lambda: True)
    monkeypatch.setattr(play_ledger_blocks, entry_point, not_compiled(entry_point))
    monkeypatch.setattr(compiled_cache, "is_cached", lambda _: bool(played))
    monkeypatch.setattr(play_ledger_blocks, player, lambda state, inputs: played.append((state, play(state, inputs))))
    compile_one = getattr(play_ledger_blocks, f"compile_{records}")
    assert [compile_one(block), compile_one(block)] == [True, False]
    ((given, (state, told)),) = played
    assert getattr(given, records)["end"].tolist() == [0]
    assert getattr(state, records)["now"].tolist() == [0]
    assert not any(len(rows) for rows in told)
    assert np.array_equal(getattr(block.state, records), before)


READ = """
[[variants]]
name = "read"
consumers = [{ group = "g", topic = "t" }]
"""


@pytest.mark.parametrize("more", [TIERED, READ])
def test_rounds_with_remote_storage_are_compiled_where_a_block_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """Of partitions that have it, or are read."""
    (tmp_path / "s.toml").write_text(SCENARIO + more)
    prepared = prepare(load_run(str(tmp_path / "s.toml")).scenarios, {}, True, 25)
    compiled_for: list[bool] = []

    def compile_rounds(block: Block, **_: object) -> bool:
        compiled_for.append(len(block.state.tier) > 0)
        return False

    monkeypatch.setattr(compiled, "is_compiling", lambda: True)
    monkeypatch.setattr(warm_up, "compile_rounds", compile_rounds)
    for places, in_one_block, expected in (
        (None, False, [True, False]),
        (None, True, [True]),
        ([0, 1], False, [False]),
        ([3], False, [True]),
    ):
        compiled_for.clear()
        warm_up.warm_up(prepared, Progress(quiet=True), None if places is None else np.array(places), in_one_block)
        assert compiled_for == expected


def test_without_numba_small_runs_go_on(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "WHY_NOT", "ModuleNotFoundError: No module named 'numba'")
    monkeypatch.setattr(compiled, "is_compiling", lambda: False)
    (line,) = said(prepared)
    assert line.startswith("numba cannot be used (ModuleNotFoundError: No module named 'numba'): rounds run as ordinary Python;")
    monkeypatch.setattr(warm_up, "MOST_UNCOMPILED", 10)
    with pytest.raises(EnvironmentProblem, match="install it with: python -m pip install numba"):
        said(prepared)
