"""KRaft: fetches and diverging epochs by hand, and mutants that need a schedule of their own (docs/kraft_rounds.md)."""

from __future__ import annotations

from emulator.rounds.quorums.constants import INVARIANTS
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
    case = Case("kraft", 3, 40, timeout_rounds=3, jitter_rounds=2, workload=((0, 2),), faults=(Fault("isolation", 4, 20, 0),))
    assert differences(case) == []
    game = Game(case)
    for _ in range(case.rounds):
        game.play_round()
    told = game.lists.events[: game.lists.filled[0].events.count]
    cuts = [(int(event.broker), int(event.to_entry)) for event in told if event.kind == 2]
    assert cuts == [(0, 8)]
    assert violated(case) == set()


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
