"""Compiled rounds against the plain-Python reference on random schedules: metadata, entries, clients, events. No Spark."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from emulator.rounds.bookkeeper.invariants import NAMES
from emulator.scenario import Scenario
from tests.bookkeeper.by_reference import first_few, of_reference, run_of_cases
from tests.reference.bookkeeper.further_schedules import further_schedule
from tests.reference.bookkeeper.placed_schedules import placed_schedule
from tests.reference.bookkeeper.rules import MUTANTS, OF_DAMAGE, OF_TOPICS, REAL
from tests.reference.bookkeeper.schedules import lossy_schedule, paced_schedule, repair_schedule, schedule, uneven
from tests.reference.bookkeeper.simulate import simulate
from tests.reference.bookkeeper.slow_schedules import slow_schedule
from tests.rounds.bookkeeper.compared import Played, differences, of_rounds, played

CUTS = (5, 12, 19, 84)
"""Each schedule is looked at at the end of so many rounds."""
MORE = int(os.environ.get("FUZZ_SCHEDULES", "0"))
SEEDS, PLAIN_SEEDS, FURTHER_SEEDS = range(100 + MORE), range(130 + MORE), range(24 + MORE)
MUTANT_SEEDS = (*range(12), 16, 45, 84, 97, 136, 380, 1282, 1293)
"""Some at random, and such as show what each mutant does (tests/reference/bookkeeper/test_schedules.py)."""
CAUGHT = {
    "ack-quorum-as-fence-quorum": "RecoveredLacCoversAcked",  # bookkeeper-mutant-ack-quorum-as-fence-quorum, and so on
    "close-at-lac": "RecoveredLacCoversAcked",
    "no-lac-floor": "OnlyValidFragments",
    "no-such-entry-as-unknown": "RecoveryEnds",
    "recovery-reads-do-not-fence": "NoDivergenceBetweenClientAndMetaData",
    "unknown-as-no-such-entry": "AllAckedEntriesAreReadable",
}
"""An invariant that each mutant of a single ledger's protocol breaks."""

Case = Mapping[str, Any]


def rack_schedule(seed: int) -> Case:
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


def assert_equal(cases: Mapping[str, Case], scenarios: Sequence[Scenario]) -> Played:
    """The rounds end every case as the reference does, with the same violations; `scenarios`: of the cases, in their order."""
    game = played(scenarios)
    differing = {}
    for place, (name, case) in enumerate(cases.items()):
        expected = of_reference(simulate(case, watch=True, trace=False))
        found = differences(expected, of_rounds(game, place))
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
    return game


SCHEDULES: dict[str, Callable[[int], Case]] = {
    "plain": schedule,
    "lossy": lambda seed: lossy_schedule(seed, integrity_check=seed % 2 == 0),
    "racks": rack_schedule,
    "repair": repair_schedule,
    "paced": paced_schedule,
    "placed": placed_schedule,
    "slow": slow_schedule,
    "further": further_schedule,
    "uneven": lambda seed: uneven(seed, schedule(seed) if seed % 2 else lossy_schedule(seed, integrity_check=seed % 4 == 0)),
}


@pytest.mark.parametrize("kind", SCHEDULES)
def test_equals_reference(tmp_path: Path, kind: str) -> None:
    """What a schedule's scenario says is the same for every number of rounds: it is read once."""
    seeds = {"plain": PLAIN_SEEDS, "further": FURTHER_SEEDS}.get(kind, SEEDS)
    cases = {f"s{seed}": SCHEDULES[kind](seed) | {"rounds": CUTS[-1]} for seed in seeds}
    cut = [replace(s, rounds=rounds) for s in run_of_cases(cases, tmp_path).scenarios for rounds in CUTS]
    game = assert_equal(
        {f"{name}_{rounds}": {**case, "rounds": rounds} for name, case in cases.items() for rounds in CUTS},
        [replace(scenario, scenario_id=at) for at, scenario in enumerate(cut)],
    )
    assert max(game.state.ledgers["refused_fenced"]) > 0


def test_mutants_equal_reference(tmp_path: Path) -> None:
    """Every mutant of a single ledger's protocol is caught by an invariant, and BookKeeper itself by none."""
    cases, protocols = {}, {}
    mutants = {name: rules for name, rules in MUTANTS.items() if name not in (*OF_DAMAGE, *OF_TOPICS)}
    for name, rules in {"": REAL, **mutants}.items():
        for seed in MUTANT_SEEDS:
            case = f"{name or 'real'}_{seed}"
            cases[case] = {**schedule(seed), "rules": rules}
            protocols[case] = f"bookkeeper-mutant-{name}" if name else "bookkeeper"
    game = assert_equal(cases, run_of_cases(cases, tmp_path, protocols).scenarios)
    names = list(cases)
    caught: dict[str, set[str]] = {}
    for violation in game.told.violations:
        caught.setdefault(names[violation.ledger].rpartition("_")[0], set()).add(NAMES[violation.invariant])
    assert caught.keys() == CAUGHT.keys() == mutants.keys()
    assert not {name: CAUGHT[name] for name in CAUGHT if CAUGHT[name] not in caught[name]}


@pytest.mark.parametrize("name", OF_DAMAGE)
def test_mutants_of_damage_equal_reference(tmp_path: Path, name: str) -> None:
    cases = {f"s{seed}": {**lossy_schedule(seed, integrity_check=True), "rules": MUTANTS[name]} for seed in range(60)}
    protocols = dict.fromkeys(cases, f"bookkeeper-mutant-{name}")
    assert_equal(cases, run_of_cases(cases, tmp_path, protocols).scenarios)
