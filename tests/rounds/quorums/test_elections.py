"""Elections as in the papers, by hand: votes that are split, a server that starves the others, leases that run out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.rounds.quorums.constants import ELECTION, INVARIANTS, STEP_DOWN
from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.schedules import without
from tests.rounds.quorums.compared import Game, differences, play_block


def played(case: Case) -> Game:
    """A case at its end; it is as the reference has it."""
    assert differences(case) == []
    game = Game(case)
    for _ in range(case.rounds):
        game.play_round()
    return game


def rounds_of(game: Game, kind: int) -> list[int]:
    """The rounds of events of a kind."""
    events = game.lists.events[: game.lists.filled[0].events.count]
    return [int(event.at_round) for event in events if event.kind == kind]


def test_votes_are_split() -> None:
    """Raft 5.2: two servers whose timers run out together have a vote each, every four rounds anew; drawn timers end that."""
    case = Case("raft", 3, 60, timeout_rounds=4, jitter_rounds=0, faults=(Fault("broker_crash", 4, 60, 0),))
    counted = played(case).outcomes()
    assert (counted["elections"], counted["campaigns"]) == (0, 2 * len(range(7, 60, 4)))
    drawn = played(replace(case, jitter_rounds=4)).outcomes()
    assert drawn["elections"] == 1
    assert drawn["leaderless_rounds"] < 12


HEARS_NOBODY = (Fault("link_cut", 5, 60, 0, 2, "out"), Fault("link_cut", 5, 60, 1, 2, "out"))
"""Nothing gets to server 2, which all hear."""


@pytest.mark.parametrize(("pre_vote", "check_quorum"), [(False, False), (True, False), (False, True)])
def test_the_disruptive_server(pre_vote: bool, check_quorum: bool) -> None:
    """Thesis 4.2.3, 9.6: it asks for votes of newer terms, and whoever leads steps down; with either of both nobody does."""
    case = Case(
        "raft", 3, 60, timeout_rounds=4, jitter_rounds=4, pre_vote=pre_vote, check_quorum=check_quorum, faults=HEARS_NOBODY
    )
    game = played(case)
    if pre_vote or check_quorum:
        assert rounds_of(game, STEP_DOWN) == rounds_of(game, ELECTION) == []
        assert game.outcomes()["acked"] == 60
    else:
        assert len(rounds_of(game, STEP_DOWN)) > 3
        assert game.outcomes()["leaderless_rounds"] > 3


@pytest.mark.parametrize("pre_vote", [False, True])
def test_a_term_that_grew_in_isolation(pre_vote: bool) -> None:
    """Back after 30 rounds a server has a newer term for each time it stood, and the leader takes it; with pre-vote none."""
    case = Case("raft", 3, 60, timeout_rounds=4, jitter_rounds=0, pre_vote=pre_vote, faults=(Fault("isolation", 5, 35, 2),))
    game = Game(case)
    for _ in range(35):
        game.play_round()
    assert int(game.lists.servers[2].term) == (1 if pre_vote else 1 + len(range(8, 35, 4)))
    assert rounds_of(played(case), STEP_DOWN) == ([] if pre_vote else [35])


def test_a_lease_runs_out() -> None:
    """PacificA 2.3: cut off in round 5, the primary's last beacon that was answered is of round 4; its lease of four ends in 8.

    Its secondaries have waited for as long then. With a lease longer than their grace period two are primaries at once.
    """
    case = Case("pacifica", 3, 20, timeout_rounds=4, lease_rounds=4, faults=(Fault("isolation", 5, 20, 0),))
    game = played(case)
    assert (rounds_of(game, STEP_DOWN), rounds_of(game, ELECTION)) == ([8], [8])
    assert len(play_block([case])[1].violations) == 0
    longer = replace(case, lease_rounds=6)
    assert rounds_of(played(longer), STEP_DOWN) == [10]
    for broken in (longer, without(case, "leases_expire")):
        told = play_block([broken])[1].violations
        assert "PrimaryInvariant" in {INVARIANTS[row.invariant] for row in told}
