"""Tiered storage on compiled rounds against the plain-Python reference, without Spark: trace, events, outcomes, segments."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.rounds.kafka.invariants import NAMES
from tests.reference.tiered.scenario_file import to_toml
from tests.reference.tiered.schedules import schedule
from tests.reference.tiered.simulate import Result, simulate
from tests.rounds.kafka.compared import (
    Played,
    all_known,
    differences,
    played,
    remote_segments_of,
    scenarios_of,
)

COLUMNS = ("local_segments", "local_bytes", "highest_remote_offset", "fetch_state")
KINDS = (
    "segment_roll", "local_delete", "copy_started", "copy_finished", "copy_failed", "remote_delete", "aux_state_built",
    "topic_deleted",
)  # fmt: skip


def segments_that_differ(expected: Result, game: Played) -> list[tuple[Any, ...]]:
    """Rows of remote segments that differ, but for what their lineage is at the end."""
    left = [{name: value for name, value in row.items() if name != "in_lineage"} for row in expected.remote_segments]
    right = remote_segments_of(game, 0)
    found: list[tuple[Any, ...]] = [] if len(left) == len(right) else [("segments", 0, (), len(left), len(right))]
    for one, other in zip(left, right, strict=False):
        found += [(name, 0, one["segment"], one[name], other[name]) for name in one if one[name] != other[name]]
    return found


def differing(seeds: Iterable[int], folder: Path) -> dict[int, Any]:
    found = {}
    for seed in seeds:
        case = schedule(seed)
        try:
            game = played(scenarios_of(to_toml(case), folder).scenarios)
        except InputError:  # a delay that is longer than local retention
            continue
        expected = simulate(case)
        differs = differences(expected, game, 0, all_known(game), COLUMNS, KINDS) + segments_that_differ(expected, game)
        differs += [("violation", int(row.at_round), NAMES[row.invariant], None, int(row.broker)) for row in game.told.violations]
        if differs:
            found[seed] = differs[:6]
    return found


@pytest.mark.parametrize(
    "seeds", [range(60), range(100, 160), (484, 550, 585)], ids=["first", "more", "unanswered while building"]
)
def test_schedules(tmp_path: Path, seeds: Iterable[int]) -> None:
    found = differing(seeds, tmp_path)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"
