"""Tiered storage without one of its guards: each mutant breaks an invariant in a case in which Kafka breaks none.

Random schedules of the reference and the cases that were made for mutants, as scenarios of one run, each by the protocols of
`CAUGHT` that it is for, and by Kafka itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emulator.scenario import Run
from emulator.scenario.protocols import KAFKA_PROTOCOLS, TIER_GUARDS, TIERED_PROTOCOLS
from tests.engine_helpers import emulate
from tests.reference.tiered.chosen_cases import CAUGHT_BY_CASES
from tests.reference.tiered.rules import MUTANTS
from tests.reference.tiered.schedules import schedule
from tests.test_tiered_differential import as_run

CAUGHT: dict[str, tuple[str, tuple[int, ...]]] = {
    "copy-above-last-stable": ("RemoteBelowLastStable", (5, 6)),
    "copy-without-lag": ("CopyWaitsForItsLag", (5,)),
    "started-counts-as-copied": ("NoLocalDeleteBeforeCopy", (4, 5)),
    "delete-before-copy": ("NoLocalDeleteBeforeCopy", (4, 5)),
    "delete-before-log-start": ("NoGapBetweenTiers", (4, 6)),
    "follower-without-epochs": ("LeaderCandidateCompleteness", (76, 114)),
    "follower-keeps-log": ("LocalLogIsWhole", (40, 47)),
}
"""Mutant -> the invariant that it breaks, and schedules of which at least one shows it."""

NOT_ON_THE_ENGINE = {"size-before-remote-offset"}
"""What it breaks (RetainedLogIsKept) Kafka itself breaks in other ways; so no invariant of a run could tell it."""

MUTANT_PREFIX = "kafka-mutant-"


def _cases() -> dict[str, tuple[str, dict[str, Any]]]:
    """Name -> protocol and case."""
    every: dict[str, dict[str, Any]] = {}
    told: dict[str, tuple[str, dict[str, Any]]] = {}
    for mutant, (_, seeds) in CAUGHT.items():
        for seed in seeds:
            every[f"s{seed}"] = schedule(seed, by_local_log=False)
            told[f"s{seed}_{mutant}"] = (MUTANT_PREFIX + mutant, every[f"s{seed}"])
    for mutant, (_, case) in CAUGHT_BY_CASES.items():
        if mutant not in NOT_ON_THE_ENGINE:
            every[f"made_for_{mutant}"] = case
            told[f"made_for_{mutant}_{mutant}"] = (MUTANT_PREFIX + mutant, case)
    return told | {f"{name}_kafka": ("kafka", case) for name, case in every.items()}


def test_every_guard_has_its_mutant() -> None:
    lacking = {guard: [name for name, rules in KAFKA_PROTOCOLS.items() if rules.get(guard) == 0] for guard in TIER_GUARDS}
    assert all(len(names) == 1 for names in lacking.values())
    mutants = {names[0].removeprefix(MUTANT_PREFIX) for names in lacking.values()}
    assert mutants == {*CAUGHT, *CAUGHT_BY_CASES} - NOT_ON_THE_ENGINE
    assert {*MUTANTS} <= mutants | NOT_ON_THE_ENGINE
    assert {*TIERED_PROTOCOLS} == {"kafka", *(MUTANT_PREFIX + name for name in mutants)}


def test_mutants_are_caught_and_kafka_is_not(spark: SparkSession, tmp_path: Path) -> None:
    cases = _cases()
    run = as_run({name: case for name, (_, case) in cases.items()}, tmp_path)
    scenarios = tuple(replace(s, protocol=cases[s.name][0]) for s in run.scenarios)
    tables = emulate(spark, Run(run.path, "", run.name, 0, "leap", scenarios), tmp_path / "out", trace="none")
    names = {row["scenario_id"]: row["name"] for row in tables["scenarios"]}
    broken: dict[str, set[str]] = {}
    for row in tables["violations"]:
        suspect = "" if row["kind"] == "violation" else " is suspect"
        broken.setdefault(names[row["scenario_id"]].rpartition("_")[2], set()).add(row["invariant"] + suspect)
    assert broken.get("kafka", set()) == set()
    expected = {mutant: name for mutant, (name, _) in [*CAUGHT.items(), *CAUGHT_BY_CASES.items()]}
    missed = {mutant: name for mutant, name in expected.items() if name not in broken.get(mutant, set())}
    assert missed.keys() == NOT_ON_THE_ENGINE
