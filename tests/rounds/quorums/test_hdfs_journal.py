"""HDFS's quorum journal: schedules by hand and mutants, as the reference has them (docs/hdfs_journal_rounds.md).

What is so in these schedules tests/reference/quorums/test_hdfs_journal.py says.
"""

from __future__ import annotations

import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, INVARIANTS, LEADER, NOBODY
from tests.reference.quorums.cases import Case
from tests.reference.quorums.hdfs_journal_cases import BY_HAND, MUTANTS
from tests.reference.quorums.schedules import random_case, without
from tests.rounds.quorums.compared import Game, differences, play_block


def violated(*cases: Case) -> set[str]:
    """Names of the invariants that broke."""
    return {INVARIANTS[row.invariant] for row in play_block(cases)[1].violations}


def after(case: Case, rounds: int) -> Game:
    """A case after so many rounds."""
    game = Game(case)
    for _ in range(rounds):
        game.play_round()
    return game


def node(game: Game, slot: int) -> tuple[int, ...]:
    """(role, promise, writer's epoch, first edit of the last segment, whether that is finalized, epoch accepted) of a node."""
    server = game.lists.servers[slot]
    return tuple(int(server[name]) for name in ("role", "term", "log_term", "segment", "finalized", "accepted"))


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    case = BY_HAND[name]
    assert differences(case) == []
    assert violated(case) == set()


def test_a_call_a_round() -> None:
    """Server 0 goes in round 4; server 1 has the lock in 6, and makes a call a round; in round 9 it writes."""
    case = BY_HAND["crash of the writer"]
    seen = [[node(after(case, rounds), slot) for slot in (1, 2)] for rounds in (6, 7, 8, 9, 10)]
    assert seen[0] == [(FOLLOWER, 1, 1, 0, 0, 0)] * 2
    assert seen[1] == seen[2] == [(CANDIDATE, 2, 1, 0, 0, 0), (FOLLOWER, 2, 1, 0, 0, 0)]
    assert seen[3] == [(CANDIDATE, 2, 1, 0, 0, 2), (FOLLOWER, 2, 1, 0, 0, 2)]
    assert seen[4] == [(LEADER, 2, 2, 8, 0, 0), (FOLLOWER, 2, 2, 8, 0, 0)]
    assert after(case, 10).log(1) == [(1, 0)] * 8 + [(2, 1)] * 2


def test_who_was_silent_has_all_at_once() -> None:
    """Server 0 is isolated in round 4 alone: what it has of it gets to the others with the edits of round 5."""
    game = after(BY_HAND["writer isolated for a round"], 5)
    assert [len(game.log(slot)) for slot in range(3)] == [10, 8, 8]
    game.play_round()
    assert [len(game.log(slot)) for slot in range(3)] == [12, 12, 12]


def test_who_restarts_has_no_segment_open() -> None:
    """Nothing is written while node 2 restarts, and still it takes no edits before the next segment."""
    case = BY_HAND["crash without a queue"]
    game = after(case, 8)
    assert [len(game.log(slot)) for slot in range(3)] == [10, 10, 8]
    assert int(game.lists.servers[2].leader) == NOBODY
    assert [len(after(case, 13).log(slot)) for slot in range(3)] == [20, 20, 20]


def test_edits_of_a_writer_that_was_cut_off_are_cut() -> None:
    """Server 0 is isolated in round 4 with four edits of its own before its segment is to end; server 1 writes others."""
    game = after(BY_HAND["cut off, others write"], 40)
    assert int(game.group.truncated) == 4
    assert game.log(0) == game.log(1) == game.log(2)


def test_a_segment_without_edits_is_not_finalized() -> None:
    """Server 0 puts its next roll off; the segment that server 1 closes then begins where it writes later."""
    case = BY_HAND["a segment without edits"]
    assert node(after(case, 6), 0) == (LEADER, 1, 1, 0, 0, 0)
    game = after(case, 40)
    assert game.log(0) == game.log(1) == game.log(2) != []


def test_nodes_fence_the_old_writer() -> None:
    """Server 0 sleeps while server 1 takes over, and gets edits while 1 is cut off: nobody takes them."""
    case, _ = MUTANTS["refuse_older_term"]
    assert int(after(case, 13).group.acked) == 8
    assert int(after(without(case, "refuse_older_term"), 13).group.acked) == 10


@pytest.mark.parametrize("guard", MUTANTS)
def test_a_mutant_is_caught(guard: str) -> None:
    case, invariant = MUTANTS[guard]
    assert violated(case) == set()
    assert invariant in violated(without(case, guard))
    assert differences(case) == differences(without(case, guard)) == []


def test_nothing_breaks() -> None:
    cases = [random_case("hdfs-journal", seed, rounds=60) for seed in range(3000 if is_compiling() else 100)]
    state, told = play_block(cases)
    assert len(told.violations) == 0
    assert state.groups.committed_lost.sum() == 0
    assert state.groups.elections.sum() > len(cases) // 2
