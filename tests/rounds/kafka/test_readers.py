"""Consumer groups on compiled rounds against the plain-Python reference, without Spark: what they read, what not, violations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.scenario import Run, load_run
from tests.reference.consumers.cases import fenced_follower
from tests.reference.consumers.rules import MUTANTS, ReadRules
from tests.reference.consumers.scenario_file import write_scenario
from tests.reference.consumers.simulate import Result, simulate
from tests.rounds.kafka.compared import (
    Played,
    consumer_groups_of,
    played,
    read_violations_of,
    unread_of,
)
from tests.rounds.kafka.test_tiers import is_later
from tests.test_consumers_differential import OF_UNREAD, case_of, untiered

Case = Mapping[str, Any]
Differences = list[tuple[Any, ...]]


def differences(expected: Result, game: Played) -> Differences:
    """Cells of `consumer_groups`, rows of `unread`, and invariants that break, that differ."""
    found: Differences = []
    seen = consumer_groups_of(game, 0)
    for row in expected.consumer_groups:
        own = seen.get(row["group"], {})
        found += [(row["group"], name, value, own.get(name)) for name, value in row.items() if own.get(name) != value]
    left = Counter(tuple(getattr(row, name) for name in OF_UNREAD) for row in expected.unread)
    right = Counter(tuple(row[name] for name in OF_UNREAD) for row in unread_of(game, 0))
    found += [("unread of the reference", row) for row in left - right]
    return [*found, *(("unread of the rounds", row) for row in right - left)]


def run_of(case: Case, folder: Path) -> Run:
    """The case as a scenario of its own."""
    path = folder / "case.toml"
    write_scenario(case, path)
    return load_run(str(path))


def differing(cases: Mapping[str, Case], folder: Path) -> dict[str, Differences]:
    """What differs, by name of the case; cases that Kafka would refuse, for their retention, are none."""
    found = {}
    for name, case in cases.items():
        if is_later(dict(case)):
            continue
        try:
            game = played(run_of(case, folder).scenarios, traced=False)
        except InputError as refusal:
            assert " is above " in str(refusal)
            continue
        if differs := differences(simulate(case), game):
            found[name] = differs[:6]
    return found


def assert_equal(cases: Mapping[str, Case], folder: Path) -> None:
    found = differing(cases, folder)
    assert not found, f"{len(found)} of {len(cases)} cases differ: {dict(list(found.items())[:3])}"


@pytest.mark.parametrize("seeds", [range(60), range(60, 120)], ids=["first", "more"])
@pytest.mark.parametrize("kind", [case_of, untiered])
def test_schedules(tmp_path: Path, kind: Callable[[int], Case], seeds: Iterable[int]) -> None:
    """Tiered and not, with unclean elections."""
    assert_equal({f"{kind.__name__}-{seed}": kind(seed) for seed in seeds}, tmp_path)


def test_fenced_follower(tmp_path: Path) -> None:
    assert_equal({"fenced follower": fenced_follower()}, tmp_path)
