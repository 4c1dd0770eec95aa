"""Tiered storage on compiled rounds against the plain-Python reference, without Spark: trace, events, outcomes, segments.

Random schedules, from empty logs and from given ones, the tables of Kafka's own tests for followers, and a real trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.errors import InputError
from emulator.outcomes.compiled.violations import VIOLATION_KINDS
from emulator.rounds.kafka.invariants import NAMES, OF_TIERS
from emulator.scenario import Scenario
from tests.reference.tiered.additions import every_other
from tests.reference.tiered.given_states import given_schedule, with_late_metadata
from tests.reference.tiered.rules import MUTANTS
from tests.reference.tiered.scenario_file import to_toml
from tests.reference.tiered.schedules import schedule, uneven
from tests.reference.tiered.simulate import LIST_OFFSETS, Result, simulate
from tests.reference.tiered.test_followers import BOOTSTRAP, bootstrap_case, out_of_range_case
from tests.reference.tiered.test_real_trace import real_case
from tests.rounds.kafka.compared import (
    Played,
    all_known,
    differences,
    played,
    remote_segments_of,
    rows_of,
    scenarios_of,
    with_protocol,
)

COLUMNS = ("local_segments", "local_bytes", "highest_remote_offset", "fetch_state", *LIST_OFFSETS)
KINDS = (
    "segment_roll", "local_delete", "copy_started", "copy_finished", "copy_failed", "remote_delete", "aux_state_built",
    "topic_deleted",
)  # fmt: skip


def segments_that_differ(expected: Result, game: Played, place: int = 0) -> list[tuple[Any, ...]]:
    """Rows of remote segments of a partition that differ."""
    left, right = expected.remote_segments, remote_segments_of(game, place)
    found: list[tuple[Any, ...]] = [] if len(left) == len(right) else [("segments", 0, (), len(left), len(right))]
    for one, other in zip(left, right, strict=False):
        found += [(name, 0, one["segment"], one[name], other[name]) for name in one if one[name] != other[name]]
    return found


def first_violations(violations: Iterable[tuple[int, str]]) -> dict[str, int]:
    """By invariant the first round in which it breaks."""
    first: dict[str, int] = {}
    for round_, name in violations:
        first[name] = min(round_, first.get(name, round_))
    return first


def violations_that_differ(expected: Result, told: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Invariants of tiers that break in one only, or earlier in one. Of others the reference does not say what faults excuse."""
    left = first_violations((v.round, f"{v.kind}: {v.invariant}") for v in expected.violations if v.invariant in OF_TIERS)
    own = [row for row in told if NAMES[row.invariant] in OF_TIERS]
    right = first_violations((int(r.at_round), f"{VIOLATION_KINDS[r.is_suspect]}: {NAMES[r.invariant]}") for r in own)
    names = sorted({name for name in left.keys() | right.keys() if left.get(name) != right.get(name)})
    return [("violation", left.get(name), name, left.get(name), right.get(name)) for name in names]


def differing(
    cases: Mapping[str, Mapping[str, Any]], folder: Path, breaks_nothing: bool = False, mutant: str | None = None
) -> dict[str, Any]:
    """By name of the case what differs; `breaks_nothing`: no invariant may break at all; `mutant`: whose guard is lacking.

    All are scenarios of one block.
    """
    scenarios: dict[str, Scenario] = {}
    for name, case in cases.items():
        try:
            run = scenarios_of(to_toml(case), folder)
        except InputError as refusal:  # a delay that is longer than local retention
            assert " is above " in str(refusal)
            continue
        run = run if mutant is None else with_protocol(run, f"kafka-mutant-{mutant}")
        scenarios[name] = replace(run.scenarios[0], scenario_id=len(scenarios))
    game = played(list(scenarios.values()))
    known, found = all_known(game), {}
    for place, name in enumerate(scenarios):
        case = cases[name] if mutant is None else {**cases[name], "tier_rules": MUTANTS[mutant]}
        expected, violations = simulate(case, watch=True), rows_of(game.told.violations, place)
        differs = differences(expected, game, place, known, COLUMNS, KINDS) + segments_that_differ(expected, game, place)
        differs += violations_that_differ(expected, violations)
        if breaks_nothing:
            differs += [("broken", int(row.at_round), NAMES[row.invariant], None, int(row.broker)) for row in violations]
        if differs:
            found[name] = differs[:6]
    return found


@pytest.mark.parametrize(
    ("seeds", "layered"),
    [(range(60), False), (range(100, 160), True), ((484, 550, 585), False), ((5144, 5152), False)],
    ids=["first", "more", "unanswered while building", "sent away for ever"],
)
def test_schedules(tmp_path: Path, seeds: Iterable[int], layered: bool) -> None:
    cases = {f"s{seed}": schedule(seed) for seed in seeds}
    if layered:
        cases = {name: every_other(seed, case) for seed, (name, case) in zip(seeds, cases.items(), strict=True)}
    found = differing(cases, tmp_path, breaks_nothing=True)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"


def test_periods_that_rounds_do_not_divide(tmp_path: Path) -> None:
    """Checks of retention, and tasks of the remote log manager."""
    cases = {f"s{seed}": uneven(seed, every_other(seed, schedule(seed))) for seed in range(200, 280)}
    cases |= {f"given-{seed}": uneven(seed, every_other(seed, given_schedule(seed))) for seed in range(280, 320)}
    found = differing(cases, tmp_path)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"


def test_given_states(tmp_path: Path) -> None:
    cases = {f"given-{seed}": every_other(seed, given_schedule(seed)) for seed in range(60)}
    cases |= {"out of range": out_of_range_case()}
    found = differing(cases, tmp_path)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"


def test_late_metadata_and_a_copy_under_way(tmp_path: Path) -> None:
    cases = {f"late-{seed}": every_other(seed, with_late_metadata(given_schedule(seed), seed)) for seed in range(40)}
    found = differing(cases, tmp_path)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"


OTHERWISE = {"delete-before-log-start", "size-before-remote-offset"}
"""The log start of the first rises to what is left, when nothing goes any more; in the reference one run later. The second is of
the reference only (docs/tiered_rounds.md, Invariants).
"""


@pytest.mark.parametrize("mutant", sorted(MUTANTS.keys() - OTHERWISE))
def test_mutants(tmp_path: Path, mutant: str) -> None:
    """What each does, and what it breaks first."""
    found = differing({f"s{seed}": schedule(seed, by_local_log=False) for seed in range(5)}, tmp_path, mutant=mutant)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"


def test_what_kafka_itself_was_seen_to_do(tmp_path: Path) -> None:
    cases = {f"bootstrap-{at}": bootstrap_case(leader, pending) for at, (_, leader, pending, _) in enumerate(BOOTSTRAP)}
    found = differing(cases | {"trace_e": real_case()}, tmp_path)
    assert not found, f"{len(found)} differ: {dict(list(found.items())[:3])}"
