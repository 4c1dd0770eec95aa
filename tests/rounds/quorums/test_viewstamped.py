"""Viewstamped replication: views in turn, recovery and its limit, mutants (docs/viewstamped_rounds.md)."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, INVARIANTS, LEADER, RECOVERING
from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.schedules import random_case, without
from tests.rounds.quorums.compared import Game, differences, play_block

CAUGHT = {
    "compare_logs": "LeaderCompleteness",
    "current_epoch_first": "LeaderCompleteness",
    "quorum_of_changes": "LeaderCompleteness",
    "refuse_older_term": "NoLogDivergence",
    "recover_first": "LeaderCompleteness",
    "quorum_of_answers": "NoLogDivergence",
}
"""Guard -> an invariant that some of 3,000 schedules break without it."""


def roles(game: Game) -> list[tuple[int, int]]:
    """(role, view) of each server."""
    return [(int(server.role), int(server.term)) for server in game.lists.servers[: game.case.copies]]


def test_views_come_in_turn() -> None:
    """Server 0 is cut off at round 3; view 2 is server 1's, in the round in which both backups' timers run out."""
    game = Game(Case("viewstamped", 3, 20, timeout_rounds=4, faults=(Fault("isolation", 3, 12, 0),)))
    for _ in range(7):
        game.play_round()
    assert roles(game) == [(LEADER, 1), (LEADER, 2), (FOLLOWER, 2)]
    for _ in range(6):
        game.play_round()
    assert roles(game) == [(FOLLOWER, 2), (LEADER, 2), (FOLLOWER, 2)]
    assert game.log(0) == game.log(1)


def test_a_view_without_its_primary_is_left() -> None:
    """Of five, servers 0 and 1 are cut off: view 2 is nobody's, view 3 is server 2's, one timeout later."""
    faults = (Fault("isolation", 3, 30, 0), Fault("isolation", 3, 30, 1))
    game = Game(Case("viewstamped", 5, 20, timeout_rounds=4, faults=faults))
    seen = []
    for _ in range(11):
        game.play_round()
        seen.append(roles(game)[2])
    assert seen[5:] == [(CANDIDATE, 2)] * 4 + [(LEADER, 3)] * 2 or seen[6:] == [(CANDIDATE, 2)] * 4 + [(LEADER, 3)]


def test_who_is_back_recovers() -> None:
    """With nothing on a disk server 2 takes the primary's log in the round in which it is back."""
    game = Game(Case("viewstamped", 3, 20, workload=((0, 2),), faults=(Fault("broker_crash", 3, 6, 2),)))
    for _ in range(5):
        game.play_round()
    assert (roles(game)[2], game.log(2)) == ((RECOVERING, 0), [])
    for _ in range(2):
        game.play_round()
    assert (roles(game)[2], game.log(2)) == ((FOLLOWER, 1), game.log(0))


@pytest.mark.parametrize("kind", ["broker_crash", "power_loss"])
def test_more_than_f_lose_everything(kind: str) -> None:
    """Both backups of three are down at once: they ask for ever, nothing commits any more, and no promise is broken."""
    case = Case("viewstamped", 3, 40, workload=((0, 2),), faults=(Fault(kind, 5, 8, 1), Fault(kind, 6, 9, 2)))
    assert differences(case) == []
    state, told = play_block([case])
    assert (int(state.groups[0].acked), int(state.groups[0].damaged)) == (12, 1)
    assert len(told.violations) == 0
    assert [int(server.role) for server in state.servers] == [LEADER, RECOVERING, RECOVERING]


def test_nothing_breaks_within_f() -> None:
    cases = [random_case("viewstamped", seed, rounds=60) for seed in range(3000 if is_compiling() else 100)]
    state, told = play_block(cases)
    assert len(told.violations) == 0
    whole = np.asarray(state.groups.damaged) == 0
    assert whole.sum() > len(cases) // 4
    assert np.asarray(state.groups.committed_lost)[whole].sum() == 0
    assert np.asarray(state.groups.elections)[whole].sum() > whole.sum()


@pytest.mark.skipif(not is_compiling(), reason="minutes as ordinary Python")
@pytest.mark.parametrize("guard", CAUGHT)
def test_a_mutant_is_caught(guard: str) -> None:
    cases = [without(random_case("viewstamped", seed, rounds=60), guard) for seed in range(3000)]
    assert CAUGHT[guard] in {INVARIANTS[row.invariant] for row in play_block(cases)[1].violations}
