"""Zab: what each phase does, by hand, and mutants that need a schedule of their own (docs/zab_rounds.md)."""

from __future__ import annotations

import pytest

from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, INVARIANTS, LEADER
from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.schedules import random_case, without
from tests.rounds.quorums.compared import Game, differences, play_block


def violated(case: Case) -> set[str]:
    """Names of the invariants that broke."""
    return {INVARIANTS[row.invariant] for row in play_block([case])[1].violations}


def after(case: Case, rounds: int) -> Game:
    """A case after so many rounds."""
    game = Game(case)
    for _ in range(rounds):
        game.play_round()
    return game


def states(game: Game) -> list[tuple[int, int, int]]:
    """(role, f.p, f.a) of each server."""
    servers = game.lists.servers[: game.case.copies]
    return [(int(server.role), int(server.term), int(server.log_term)) for server in servers]


def test_a_phase_a_round() -> None:
    """Server 0 loses its power in round 4; they look in round 7, (7 mod 3) = 1 leads in epoch 2; its history in round 8."""
    case = Case("zab", 3, 20, timeout_rounds=4, workload=((0, 2),), faults=(Fault("power_loss", 4, 30, 0),))
    seen = [states(after(case, n)) for n in (7, 8, 9)]
    assert seen[0][1:] == [(FOLLOWER, 1, 1), (FOLLOWER, 1, 1)]
    assert seen[1][1:] == [(CANDIDATE, 2, 2), (FOLLOWER, 2, 1)]
    assert seen[2][1:] == [(LEADER, 2, 2), (FOLLOWER, 2, 2)]
    game = after(case, 9)
    assert game.log(1) == [(1, 0)] * 8 + [(2, 1)] * 2
    assert int(game.lists.servers[1].commit) == 10
    assert differences(case) == []


@pytest.mark.parametrize(("kind", "elected"), [("broker_crash", 5), ("disk_loss", 5), ("power_loss", 24), ("isolation", 24)])
def test_who_is_gone_is_seen_at_once(kind: str, elected: int) -> None:
    """A process that ends in round 4 leaves closed connections; without power, or out of reach, it is silent."""
    case = Case("zab", 3, 40, timeout_rounds=20, workload=((0, 2),), faults=(Fault(kind, 4, 40, 0),))
    assert differences(case) == []
    leading = [n for n in range(40) if any(state[:2] == (LEADER, 2) for state in states(after(case, n + 1)))]
    assert leading[0] == elected


def test_a_leader_whose_followers_are_gone_gives_up() -> None:
    """Both crash in round 4, and it steps down in it; with cuts on their way to it not before they are silent for too long."""
    crashes = tuple(Fault("broker_crash", 4, 40, server) for server in (1, 2))
    cuts = tuple(Fault("link_cut", 4, 40, server, 0, "out") for server in (1, 2))
    for faults, last in ((crashes, 3), ((*crashes, *cuts), 22)):
        case = Case("zab", 3, 40, timeout_rounds=20, workload=((0, 2),), faults=faults)
        assert differences(case) == []
        leading = [n for n in range(40) if states(after(case, n + 1))[0][0] == LEADER]
        assert leading[-1] == last


def test_what_a_leader_had_alone_is_cut() -> None:
    """Isolated, server 0 takes records for two rounds more; when it is back its history becomes that of epoch 2 (TRUNC, DIFF)."""
    case = Case("zab", 3, 30, timeout_rounds=3, workload=((0, 2),), faults=(Fault("isolation", 4, 15, 0),))
    assert differences(case) == []
    game = after(case, 30)
    assert game.log(0) == game.log(1) == game.log(2)
    assert int(game.group.truncated) == 4
    assert violated(case) == set()


def test_a_promise_outlives_a_restart() -> None:
    """1 promises epoch 2 to server 0, restarts, and follows server 2 in an epoch of its own; then it is with 0 again."""
    faults = (
        *(Fault("broker_crash", 2, 3, server) for server in range(3)),
        Fault("isolation", 3, 5, 2),
        Fault("broker_crash", 4, 5, 1),
        Fault("isolation", 4, 8, 0),
        Fault("broker_crash", 7, 8, 1),
        Fault("isolation", 7, 30, 2),
    )
    case = Case("zab", 3, 20, timeout_rounds=10, faults=faults)
    assert violated(case) == set()
    assert "Leadership2" in violated(without(case, "keep_vote"))
    assert differences(case) == differences(without(case, "keep_vote")) == []


def test_an_older_leader_is_not_heard() -> None:
    """1 and 2 restart and have a new leader before 0, which was isolated for three rounds, thinks that it lost them."""
    faults = (Fault("isolation", 5, 8, 0), Fault("broker_crash", 5, 6, 1), Fault("broker_crash", 5, 6, 2))
    case = Case("zab", 3, 20, timeout_rounds=6, workload=((0, 2),), faults=faults)
    assert violated(case) == set()
    assert "PrefixConsistency" in violated(without(case, "refuse_older_term"))


def test_the_epoch_last_taken_comes_before_the_zxid() -> None:
    """A schedule in which the longest history is of an epoch that a later one, without transactions, has done away with."""
    case = random_case("zab", 975, rounds=60)
    assert violated(case) == set()
    assert violated(without(case, "current_epoch_first")) == {"PrimaryIntegrity", "PrefixConsistency"}
