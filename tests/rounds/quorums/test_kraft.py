"""KRaft: fetches and diverging epochs by hand, and mutants that need a schedule of their own (docs/kraft_rounds.md)."""

from __future__ import annotations

import pytest

from emulator.rounds.quorums.constants import ELECTION, INVARIANTS
from emulator.rounds.quorums.kraft.fetch import truncate_to
from tests.reference.quorums.cases import VOTER_RESTARTS, Case, Fault
from tests.reference.quorums.schedules import without
from tests.rounds.quorums.compared import Game, differences, play_block


def violated(case: Case) -> set[str]:
    """Names of the invariants that broke."""
    return {INVARIANTS[row.invariant] for row in play_block([case])[1].violations}


def test_a_commit_is_known_a_fetch_later() -> None:
    """A record appended in round 0 is fetched in it, acknowledged with the fetch of round 1, known to followers in round 2."""
    game = Game(Case("kraft", 3, 10, workload=((0, 1), (1, 0))))
    seen = []
    for _ in range(3):
        game.play_round()
        servers = game.lists.servers
        seen.append((int(game.group.acked), [int(server.end) for server in servers[:3]], int(servers[1].commit)))
    assert seen == [(0, [1, 1, 1], 0), (1, [1, 1, 1], 0), (1, [1, 1, 1], 1)]


def test_a_diverging_epoch_cuts_once() -> None:
    """Back from an isolation with records that nobody else has, the old leader cuts at the end of epoch 1 in one fetch."""
    fault = Fault("isolation", 4, 20, 0)
    case = Case("kraft", 3, 40, timeout_rounds=3, jitter_rounds=2, pre_vote=True, workload=((0, 2),), faults=(fault,))
    assert differences(case) == []
    game = Game(case)
    for _ in range(case.rounds):
        game.play_round()
    told = game.lists.events[: game.lists.filled[0].events.count]
    cuts = [(int(event.broker), int(event.to_entry)) for event in told if event.kind == 2]
    assert cuts == [(0, 8)]
    assert violated(case) == set()


def elections(case: Case) -> list[tuple[int, int]]:
    """(round, server) of each election; the reference says the same."""
    assert differences(case) == []
    game = Game(case)
    for _ in range(case.rounds):
        game.play_round()
    told = game.lists.events[: game.lists.filled[0].events.count]
    return [(int(event.at_round), int(event.broker)) for event in told if event.kind == ELECTION]


@pytest.mark.parametrize("jitter", [0, 20])
@pytest.mark.parametrize(
    ("copies", "pre_vote", "to_round", "elected"),
    [
        (3, False, 100, (69, 1)),  # 19 rounds after the last fetch's answer in 49; 69 mod 3 is 0, and 0 is away
        (3, True, 100, (69, 2)),  # 1 asks 2, which still follows; then 2 asks 1, which does not
        (5, False, 100, (69, 4)),
        (5, True, 100, (69, 2)),  # 4 has one other that follows nobody, itself counted 2 of 5 with 1; then 2 has three
        (3, False, 60, (60, 1)),  # back with the epoch that it led: EndQuorumEpoch
        (3, True, 60, (60, 1)),
    ],
)
def test_followers_draw_nothing(jitter: int, copies: int, pre_vote: bool, to_round: int, elected: tuple[int, int]) -> None:
    """The timers of all run out in the same round after a crash in round 50, and one is elected in it."""
    crash = Fault("broker_crash", 50, to_round, 0)
    case = Case("kraft", copies, 90, timeout_rounds=20, jitter_rounds=jitter, pre_vote=pre_vote, faults=(crash,))
    assert elections(case) == [elected]


@pytest.mark.parametrize("pre_vote", [False, True])
def test_a_leader_that_is_taken_out_says_so(pre_vote: bool) -> None:
    """The change is committed in round 61, and in 62 another one leads."""
    changes = ((60, (1, 2, 3)),)
    case = Case("kraft", 4, 90, timeout_rounds=20, jitter_rounds=20, pre_vote=pre_vote, one_at_a_time=True, changes=changes)
    [(round_, server)] = elections(case)
    assert round_ == 62
    assert server in (1, 2, 3)


def test_truncate_to_the_end_of_an_older_epoch() -> None:
    """Where a follower has no record of the epoch that it is told, its log ends with what it has of older ones."""
    game = Game(Case("kraft", 3, 10, workload=((0, 2), (2, 0))))
    game.play_round()
    assert game.log(1) == [(1, 0)] * 2
    truncate_to(game.lists, game.group, 1, 0, 1, 1)
    assert game.log(1) == [(1, 0)]
    truncate_to(game.lists, game.group, 1, 0, 0, 0)
    assert game.log(1) == []


def test_a_high_watermark_at_the_epochs_start() -> None:
    """KAFKA-12619: 1 fetches all of epoch 1 from 0, which leads again, but nothing of its new epoch; 2, with epoch 2, is next.

    The fetch from the start of 0's epoch gets to it, its answer is lost: to count that would commit what 2 lacks.
    """
    faults = (
        Fault("link_cut", 2, 9, 0, 1),
        Fault("link_cut", 2, 9, 0, 2),
        Fault("broker_crash", 1, 4, 1),
        Fault("broker_crash", 6, 16, 2),
        Fault("link_cut", 15, 16, 0, 1, "out"),
        Fault("broker_crash", 16, 40, 0),
    )
    case = Case("kraft", 3, 40, timeout_rounds=4, jitter_rounds=0, max_entries=1, faults=faults)
    assert violated(case) == set()
    assert "LeaderCompleteness" in violated(without(case, "beyond_epoch_start"))
    assert differences(case) == differences(without(case, "beyond_epoch_start")) == []


def test_a_vote_outlives_a_restart() -> None:
    """Server 1 leads epoch 2 by the vote of server 2, which restarts without its quorum-state and is asked by 0 for epoch 2."""
    case = Case("kraft", 3, 20, timeout_rounds=4, jitter_rounds=0, max_entries=1, faults=VOTER_RESTARTS)
    assert violated(case) == set()
    assert "SingleLeader" in violated(without(case, "keep_vote"))
    assert differences(case) == differences(without(case, "keep_vote")) == []
