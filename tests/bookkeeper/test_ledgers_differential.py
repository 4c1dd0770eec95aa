"""The engine against the plain-Python reference on random schedules: metadata, entries, headers, clients and events.

Every schedule is looked at at the end of several rounds: each is a scenario of one run, cut off there.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.bookkeeper.by_reference import by_scenario, differences, first_few, of_engine, of_reference, run_of_cases
from tests.engine_helpers import Row, emulate
from tests.reference.bookkeeper.rules import MUTANTS, OF_DAMAGE, OF_TOPICS, REAL
from tests.reference.bookkeeper.schedules import lossy_schedule, repair_schedule, schedule
from tests.reference.bookkeeper.simulate import simulate

CUTS = (5, 12, 19, 84)
SEEDS = range(100, 130 + int(os.environ.get("FUZZ_SCHEDULES", "0")))
Tables = dict[str, dict[str, list[Row]]]
LOSSY_SEEDS, RACK_SEEDS = range(20), range(20)
REPAIR_SEEDS = range(24 + int(os.environ.get("FUZZ_SCHEDULES", "0")))
MUTANT_SEEDS = (*range(12), 16, 45, 84, 97, 136, 1282, 1293)
"""Some at random, and such as show what each mutant does (tests/reference/bookkeeper/test_schedules.py)."""


def rack_case(seed: int) -> dict[str, Any]:
    """A schedule on four racks or fewer with the rack-aware policy."""
    rng = random.Random(f"racks/{seed}")
    case = schedule(seed)
    count = rng.randint(1, 4)
    case["config"] |= {
        "minNumRacksPerWriteQuorum": rng.randint(1, 3),
        "enforceMinNumRacksPerWriteQuorum": rng.random() < 0.3,
    }
    bookies = [*case["brokers"], len(case["brokers"]) + 1, len(case["brokers"]) + 2]
    racks = {broker: (broker - 1) % count for broker in bookies}
    return case | {"placement": "rack_aware", "rack_count": count, "brokers": bookies, "racks": racks}


def assert_equal(spark: SparkSession, cases: dict[str, Any], folder: Path, protocols: dict[str, str] | None = None) -> Tables:
    """The engine ends every case as the reference does, with the same violations. Returns its tables by case."""
    tables = by_scenario(emulate(spark, run_of_cases(cases, folder / "in", protocols), folder / "out"))
    differing = {}
    for name, case in cases.items():
        expected = of_reference(simulate(case, watch=True))
        found = differences(expected, of_engine(tables[name]))
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
    return tables


@pytest.mark.parametrize("kind", ["plain", "lossy", "racks", "repair"])
def test_engine_equals_reference(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    cases = {
        "plain": {f"s{seed}": schedule(seed) for seed in SEEDS},
        "lossy": {f"s{seed}": lossy_schedule(seed, integrity_check=seed % 2 == 0) for seed in LOSSY_SEEDS},
        "racks": {f"s{seed}": rack_case(seed) for seed in RACK_SEEDS},
        "repair": {f"s{seed}": repair_schedule(seed) for seed in REPAIR_SEEDS},
    }[kind]
    cut = {f"{name}_{rounds}": {**case, "rounds": rounds} for name, case in cases.items() for rounds in CUTS}
    assert_equal(spark, cut, tmp_path)


def test_mutants_equal_reference(spark: SparkSession, tmp_path: Path) -> None:
    cases, protocols = {}, {}
    protocol_mutants = {name: rules for name, rules in MUTANTS.items() if name not in (*OF_DAMAGE, *OF_TOPICS)}
    for name, rules in {"": REAL, **protocol_mutants}.items():
        for seed in MUTANT_SEEDS:
            case = f"{name or 'real'}_{seed}"
            cases[case] = {**schedule(seed), "rules": rules}
            protocols[case] = f"bookkeeper-mutant-{name}" if name else "bookkeeper"
    tables = assert_equal(spark, cases, tmp_path, protocols)
    caught = {name.rpartition("_")[0] for name, of_case in tables.items() if of_case["violations"]}
    assert caught == set(protocol_mutants)
