"""`quorum` for all N up to 5, A and V: those with A + V > N never lose what is committed, each of the others does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.constants import INVARIANTS
from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.schedules import random_case
from tests.rounds.quorums.compared import differences, play_block

CHOICES = [(n, a, v) for n in range(1, 6) for a in range(1, n + 1) for v in range(1, n + 1)]
SAFE = [(n, a, v) for n, a, v in CHOICES if a + v > n]
UNSAFE = [(n, a, v) for n, a, v in CHOICES if a + v <= n]


def worst_case(copies: int, acks: int, compared: int) -> Case:
    """The leader and A - 1 others get four rounds of records alone; then they are gone, and the rest elects."""
    holders = range(acks)
    apart = [Fault("isolation", 0, 4, server) for server in range(acks, copies)]
    gone = [Fault("broker_crash", 4, 30, server) for server in holders]
    return Case("quorum", copies, 30, acks, compared, timeout_rounds=3, workload=((0, 2),), faults=(*apart, *gone))


@pytest.mark.parametrize("choice", UNSAFE, ids=str)
def test_an_unsafe_choice_loses(choice: tuple[int, int, int]) -> None:
    case = worst_case(*choice)
    assert differences(case) == []
    state, told = play_block([case])
    assert (state.groups[0].committed_lost, state.groups[0].acked_lost) == (8, 8)
    assert "LeaderCompleteness" in {INVARIANTS[row.invariant] for row in told.violations}


def test_a_safe_choice_never_does() -> None:
    """Random schedules and the worst one; more where rounds are compiled."""
    cases = [worst_case(*choice) for choice in SAFE]
    for n, a, v in SAFE:
        for seed in range(200 if is_compiling() else 3):
            own = random_case("quorum", 10_000 * n + 1000 * a + 100 * v + seed, rounds=50)
            faults = tuple(f for f in own.faults if (f.broker or 0) < n and (f.peer or 0) < n)
            cases.append(replace(own, copies=n, acks=a, compared=v, faults=faults))
    state, told = play_block(cases)
    assert state.groups.committed_lost.sum() == 0
    assert state.groups.acked_lost.sum() == 0
    assert [INVARIANTS[row.invariant] for row in told.violations] == []
    assert state.groups.acked.sum() > 3 * len(cases)
    assert state.groups.elections.sum() > len(cases) // 2
