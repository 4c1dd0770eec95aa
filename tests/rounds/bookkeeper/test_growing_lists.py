"""No run ends, approximates or warns because a list was long: rooms that start tiny grow, and nothing changes. No Spark."""

from __future__ import annotations

from pathlib import Path

from emulator.rounds import compiled
from emulator.rounds.bookkeeper.play_block import Told
from emulator.rounds.bookkeeper.play_ledgers import play_ledgers
from emulator.rounds.bookkeeper.state import LIST_RECORDS
from emulator.rounds.records import words_of
from tests.bookkeeper.by_reference import run_of_cases
from tests.reference.bookkeeper.schedules import repair_schedule, schedule
from tests.rounds.bookkeeper.compared import played


def test_rooms_that_start_tiny(tmp_path: Path) -> None:
    cases = {f"s{seed}": (schedule, repair_schedule)[seed % 2](seed) for seed in range(60)}
    run = run_of_cases(cases, tmp_path)
    tiny, usual = played(run.scenarios, room=2), played(run.scenarios)
    for name in Told._fields:
        left, right = getattr(tiny.told, name), getattr(usual.told, name)
        assert (left == right).all() if name == "witness_ensembles" else (words_of(left) == words_of(right)).all(), name
    for name in LIST_RECORDS:
        left, right = getattr(tiny.state, name), getattr(usual.state, name)
        assert (left.offsets == right.offsets).all(), name
    assert len(usual.told.events) > 100
    if compiled.is_compiling():  # another one would be another layout: wrong results from the cache
        assert len(play_ledgers.signatures) == 1  # type: ignore[attr-defined]
