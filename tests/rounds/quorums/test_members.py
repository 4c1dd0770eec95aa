"""Members of raft and kraft: joint consensus, one server at a time and what goes wrong there, servers that have left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.constants import CAMPAIGN, CONFIGURATION, INVARIANTS, LEADER, REASSIGNMENT_COMPLETED, STEP_DOWN
from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.schedules import random_case, without
from tests.rounds.quorums.compared import Game, differences, play_block

QUIET = Case("raft", 5, 30, timeout_rounds=4, jitter_rounds=4, check_quorum=True, first_members=3)


def violated(case: Case) -> set[str]:
    """Names of the invariants that broke."""
    return {INVARIANTS[row.invariant] for row in play_block([case])[1].violations}


def played(case: Case) -> Game:
    """A case at its end."""
    game = Game(case)
    for _ in range(case.rounds):
        game.play_round()
    return game


def told(game: Game, *kinds: int) -> list[tuple[int, int, int]]:
    """(round, kind, broker) of events of these kinds."""
    events = game.lists.events[: game.lists.filled[0].events.count]
    return [(int(e.at_round), int(e.kind), int(e.broker)) for e in events if e.kind in kinds]


def test_a_joint_configuration_and_the_new_one() -> None:
    """Asked in round 5: new servers catch up in it, C_old,new in 6, C_new in 7, whose leader is not a member and steps down."""
    case = replace(QUIET, changes=((5, (2, 3, 4)),))
    assert differences(case) == []
    game = Game(case)
    seen = []
    for _ in range(8):
        game.play_round()
        seen.append([game.voters(slot) for slot in (0, 1, 3)])
    old, both, new = ([0, 1, 2], [0, 1, 2]), ([0, 1, 2], [2, 3, 4]), ([2, 3, 4], [2, 3, 4])
    assert seen[5:] == [[old] * 3, [both] * 3, [new, both, new]]
    assert told(game, CONFIGURATION, REASSIGNMENT_COMPLETED, STEP_DOWN) == [
        (6, CONFIGURATION, 0), (7, CONFIGURATION, 0), (7, REASSIGNMENT_COMPLETED, 0), (7, STEP_DOWN, 0),
    ]  # fmt: skip
    end = played(case)
    leads = [slot for slot in range(5) if end.lists.servers[slot].role == LEADER]
    assert len(leads) == 1
    assert leads[0] in (2, 3, 4)
    assert violated(case) == set()


def test_one_at_a_time() -> None:
    """To replace one of three there are two configurations, of four and of three."""
    case = replace(QUIET, changes=((5, (0, 1, 3)),), one_at_a_time=True)
    assert differences(case) == []
    game = played(case)
    assert [round_ for round_, kind, _ in told(game, CONFIGURATION, REASSIGNMENT_COMPLETED) if kind == CONFIGURATION] == [6, 7]
    assert game.voters(0) == ([0, 1, 3], [0, 1, 3])
    assert game.outcomes()["acked"] == 30


def test_a_new_server_catches_up_first() -> None:
    """With two entries a round it takes a server of a log of 40 records and one more each round until it counts."""
    case = replace(QUIET, changes=((20, (0, 1, 2, 3)),), max_entries=3, workload=((0, 2),), rounds=60)
    assert differences(case) == []
    game = Game(case)
    while not told(game, CONFIGURATION):
        assert game.voters(0) == ([0, 1, 2], [0, 1, 2])
        game.play_round()
    missing = int(game.lists.servers[0].end) - int(game.lists.servers[3].end)
    assert told(game, CONFIGURATION)[0][0] > 20
    assert missing <= 2 * 4


def raft_dev(protocol: str) -> Case:
    """The schedule of the post: S1 to S4, one added by S1 alone and S1 removed by S2 alone; numbers are one less here.

    Server 0 gets the configuration with 4 to that one only; 1, elected by 1, 2 and 3 for term 2, takes out 0, which 1 and 2 have;
    0 is elected by 0, 3 and 4.
    """
    gone, apart = (14, 14) if protocol == "raft" else (15, 16)
    faults = (
        *(Fault("link_cut", 6, apart, 0, server) for server in (1, 2, 3)),
        *(Fault("link_cut", 6, apart, 4, server) for server in (1, 2, 3)),
        Fault("broker_crash", 6, 8, 2),
        Fault("broker_crash", 6, 8, 3),
        Fault("slow_link", 6, 60, 1, 3, rounds=1),
        Fault("link_cut", 10, 60, 1, 3),
        Fault("broker_crash", gone, 60, 1),
        Fault("broker_crash", gone, 60, 2),
    )
    return Case(
        protocol, 5, 60, timeout_rounds=4, jitter_rounds=0, workload=((0, 1), (5, 0)), faults=faults,
        first_members=4, changes=((5, (0, 1, 2, 3, 4)), (7, (1, 2, 3))), one_at_a_time=True,
    )  # fmt: skip


@pytest.mark.parametrize("protocol", ["raft", "kraft"])
def test_the_bug_of_one_at_a_time(protocol: str) -> None:
    case = raft_dev(protocol)
    assert violated(case) == set()
    assert "LeaderCompleteness" in violated(without(case, "own_term_first"))
    assert differences(case) == differences(without(case, "own_term_first")) == []


def test_joint_consensus_does_not_have_it() -> None:
    assert violated(replace(without(raft_dev("raft"), "own_term_first"), one_at_a_time=False)) == set()


def test_who_leaves_kraft_fetches_on() -> None:
    """Voters that are taken out follow the log as observers: nobody stands, and the leader stays."""
    case = replace(QUIET, protocol="kraft", first_members=5, changes=((5, (0, 1, 2)),), one_at_a_time=True, rounds=40)
    assert differences(case) == []
    game = played(case)
    assert [round_ for round_, kind, _ in told(game, CONFIGURATION, REASSIGNMENT_COMPLETED) if kind == CONFIGURATION] == [5, 7]
    assert told(game, STEP_DOWN, CAMPAIGN) == []
    assert [game.voters(slot) for slot in (0, 3, 4)] == [([0, 1, 2], [0, 1, 2])] * 3
    assert int(game.lists.servers[4].end) == int(game.lists.servers[0].end)


@pytest.mark.skipif(not is_compiling(), reason="a thousand schedules as ordinary Python")
@pytest.mark.parametrize(
    ("protocol", "guard"), [("raft", "both_majorities"), ("raft", "wait_for_change"), ("kraft", "wait_for_change")]
)
def test_a_mutant_is_caught(protocol: str, guard: str) -> None:
    cases = [case for seed in range(3000) if (case := random_case(protocol, seed, rounds=60)).changes]
    told_of = play_block([without(case, guard) for case in cases])[1].violations
    assert "LeaderCompleteness" in {INVARIANTS[row.invariant] for row in told_of}


@pytest.mark.parametrize(("pre_vote", "check_quorum"), [(False, False), (True, False), (False, True)])
def test_servers_that_have_left(pre_vote: bool, check_quorum: bool) -> None:
    """Who is not told that it left stands again and again; with either of both it makes nobody step down."""
    case = replace(QUIET, pre_vote=pre_vote, check_quorum=check_quorum, first_members=5, changes=((5, (0, 1, 2)),), rounds=80)
    assert differences(case) == []
    assert (told(played(case), STEP_DOWN) == []) == (pre_vote or check_quorum)
