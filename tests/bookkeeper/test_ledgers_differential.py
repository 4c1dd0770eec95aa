"""The engine against the plain-Python reference on random schedules: metadata, entries, headers, clients and events as tables.

Every schedule is looked at at the end of two rounds: each is a scenario of one run, cut off there. More seeds and rounds of every
kind, and of mutants, are played without Spark (tests/rounds/bookkeeper/test_against_reference.py).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.bookkeeper.by_reference import by_scenario, differences, first_few, of_engine, of_reference, run_of_cases
from tests.engine_helpers import Row, emulate
from tests.reference.bookkeeper.rules import MUTANTS, OF_DAMAGE, OF_TOPICS
from tests.reference.bookkeeper.schedules import schedule
from tests.reference.bookkeeper.simulate import simulate
from tests.rounds.bookkeeper.test_against_reference import SCHEDULES

CUTS = (19, 84)
SEEDS = range(100, 104 + int(os.environ.get("FUZZ_SCHEDULES", "0")))
SHOWN_BY = {
    "ack-quorum-as-fence-quorum": 380,
    "close-at-lac": 4,
    "no-lac-floor": 97,
    "no-such-entry-as-unknown": 2,
    "recovery-reads-do-not-fence": 1282,
    "unknown-as-no-such-entry": 16,
}
"""By mutant a schedule that shows it."""
Tables = dict[str, dict[str, list[Row]]]


def assert_equal(spark: SparkSession, cases: dict[str, Any], folder: Path, protocols: dict[str, str] | None = None) -> Tables:
    """The engine ends every case as the reference does, with the same violations. Returns its tables by case."""
    tables = by_scenario(emulate(spark, run_of_cases(cases, folder / "in", protocols), folder / "out"))
    differing = {}
    for name, case in cases.items():
        expected = of_reference(simulate(case, watch=True, trace=False))
        found = differences(expected, of_engine(tables[name]))
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
    return tables


def test_engine_equals_reference(spark: SparkSession, tmp_path: Path) -> None:
    cases = {
        f"{kind}_{seed}_{end}": {**make(seed), "rounds": end}
        for kind, make in SCHEDULES.items()
        for seed in SEEDS
        for end in CUTS
    }
    assert_equal(spark, cases, tmp_path)


def test_mutants_equal_reference(spark: SparkSession, tmp_path: Path) -> None:
    mutants = {name: MUTANTS[name] for name in SHOWN_BY}
    assert mutants.keys() == MUTANTS.keys() - {*OF_DAMAGE, *OF_TOPICS}
    cases: dict[str, Any] = {name: {**schedule(SHOWN_BY[name]), "rules": rules} for name, rules in mutants.items()}
    tables = assert_equal(spark, cases, tmp_path, {name: f"bookkeeper-mutant-{name}" for name in mutants})
    assert {name for name, of_case in tables.items() if of_case["violations"]} == set(mutants)
