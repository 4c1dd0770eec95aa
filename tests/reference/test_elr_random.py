"""Eligible leader replicas in random cases and schedules: invariants are kept, mutants break them."""

from __future__ import annotations

from collections import Counter

import pytest

from .kafka import simulate
from .partition import Partition
from .random_scenarios import random_batch, random_case, to_toml
from .random_summary import ELR_BRANCHES, summarise
from .small_schedules import SUBJECTS, broken, has_elr, schedule

RANDOM_CASES = 400
SEEDS = [seed for seed in range(750) if has_elr(seed)]


def test_random_cases_keep_the_invariants_and_reach_rare_branches() -> None:
    reached: Counter[str] = Counter()
    for seed in range(RANDOM_CASES):
        reached.update(simulate(random_case(seed, elr=True)).coverage)
    assert {branch for branch in ELR_BRANCHES if reached[branch] < 3} == set(), summarise(reached, ELR_BRANCHES)


def test_the_scenario_file_has_what_elr_needs() -> None:
    text = to_toml(random_batch(1, 60, elr=True))
    assert 'features = { "eligible.leader.replicas.version" = 1 }' in text
    assert any(line.startswith("elr = [") and line != "elr = []" for line in text.splitlines())


def _bad(name: str, seeds: list[int]) -> set[str]:
    return {invariant for invariant, found in broken(SUBJECTS[name], seeds).items() if found}


def test_kafka_breaks_nothing() -> None:
    assert _bad("kafka", SEEDS) == set()


def test_one_unclean_stop_takes_no_unclean_election() -> None:
    """The promise of KIP-966: with min.insync.replicas 2 one of ISR and ELR is left."""
    checked = 0
    for case in map(schedule, SEEDS):
        stops = sum(status.unclean_restart for history in Partition(case).history.values() for status in history)
        if stops <= 1 and case["topic_config"]["unclean.recovery.strategy"] != "aggressive":
            assert simulate(case).outcomes["unclean_elections"] == 0
            checked += 1
    assert checked > len(SEEDS) / 4


@pytest.mark.parametrize("name", ["unclean-kept-in-elr", "hw-below-min-isr"])
def test_random_schedules_break_what_elr_needs(name: str) -> None:
    lost = {"LeaderCandidateCompleteness", "LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"}
    assert lost <= _bad(name, SEEDS)
