"""HDFS's quorum journal: what each call does, by hand, and each mutant in a schedule of its own (docs/hdfs_journal_rounds.md)."""

from __future__ import annotations

import pytest

from emulator.rounds.compiled import is_compiling
from emulator.rounds.quorums.constants import CANDIDATE, FOLLOWER, INVARIANTS, LEADER, NOBODY
from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.schedules import random_case, without
from tests.rounds.quorums.compared import Game, differences, play_block


def case_of(*faults: Fault, workload: tuple[tuple[int, int], ...] = ((0, 2),), roll: int = 240, delay: int = 0) -> Case:
    """Three nodes; the controllers wait for three rounds."""
    return Case("hdfs-journal", 3, 40, timeout_rounds=3, workload=workload, faults=faults, roll_rounds=roll, delay_rounds=delay)


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


GONE = Fault("broker_crash", 4, 40, 0)


def test_a_call_a_round() -> None:
    """Server 0 goes in round 4; server 1 has the lock in 6, and makes a call a round; in round 9 it writes."""
    case = case_of(GONE)
    seen = [[node(after(case, rounds), slot) for slot in (1, 2)] for rounds in (6, 7, 8, 9, 10)]
    assert seen[0] == [(FOLLOWER, 1, 1, 0, 0, 0)] * 2
    assert seen[1] == seen[2] == [(CANDIDATE, 2, 1, 0, 0, 0), (FOLLOWER, 2, 1, 0, 0, 0)]
    assert seen[3] == [(CANDIDATE, 2, 1, 0, 0, 2), (FOLLOWER, 2, 1, 0, 0, 2)]
    assert seen[4] == [(LEADER, 2, 2, 8, 0, 0), (FOLLOWER, 2, 2, 8, 0, 0)]
    assert after(case, 10).log(1) == [(1, 0)] * 8 + [(2, 1)] * 2
    assert differences(case) == []
    assert violated(case) == set()


def test_who_missed_edits_is_out_until_the_next_segment() -> None:
    """Node 2 misses round 3 alone; it gets nothing more before the segment that begins in round 8, and has all before it then."""
    case = case_of(Fault("link_cut", 3, 4, 0, 2), roll=8)
    assert [len(after(case, rounds).log(2)) for rounds in (3, 4, 8, 9)] == [6, 6, 6, 18]
    game = after(case, 9)
    assert [node(game, slot)[3] for slot in range(3)] == [16, 16, 16]
    assert game.log(2) == game.log(0)
    assert differences(case) == []


def test_who_restarts_has_no_segment_open() -> None:
    """Nothing is written while node 2 restarts, and still it takes no edits before the next segment."""
    case = case_of(Fault("broker_crash", 5, 6, 2), workload=((0, 2), (4, 0), (7, 2)), roll=12)
    game = after(case, 8)
    assert [len(game.log(slot)) for slot in range(3)] == [10, 10, 8]
    assert int(game.lists.servers[2].leader) == NOBODY
    assert [len(after(case, 13).log(slot)) for slot in range(3)] == [20, 20, 20]
    assert differences(case) == []


def test_a_writer_without_a_majority_ends() -> None:
    """Server 0 is cut off in round 4 with two edits of its own; server 1 writes others in their place, and they are cut later."""
    case = case_of(Fault("isolation", 4, 12, 0), roll=6)
    assert node(after(case, 5), 0)[0] == FOLLOWER
    game = after(case, 40)
    assert int(game.group.truncated) == 2
    assert game.log(0) == game.log(1) == game.log(2)
    assert differences(case) == []
    assert violated(case) == set()


def test_a_segment_without_edits_is_not_finalized() -> None:
    """Cut off, server 0 ends at its next roll; the segment that it closes then begins where server 1 writes later."""
    case = case_of(Fault("isolation", 3, 12, 0), workload=((0, 0), (12, 2)), roll=2)
    assert node(after(case, 6), 0) == (FOLLOWER, 1, 1, 0, 0, 0)
    game = after(case, 40)
    assert game.log(0) == game.log(1) == game.log(2) != []
    assert differences(case) == []
    assert violated(case) == set()


def test_the_old_writer_is_fenced() -> None:
    """Server 0 sleeps while server 1 takes over, and gets edits while 1 is cut off: nobody takes them."""
    faults = (Fault("broker_pause", 4, 12, 0), Fault("isolation", 12, 14, 1, clients=True))
    case = case_of(*faults, workload=((0, 2), (4, 0), (12, 2)))
    assert int(after(case, 13).group.acked) == 8
    assert int(after(without(case, "refuse_older_term"), 13).group.acked) == 10
    assert differences(case) == differences(without(case, "refuse_older_term")) == []


LONE_EDITS = (Fault("isolation", 4, 12, 0),)
"""Server 0 ends with two edits that nobody else has; servers 1 and 2 are left."""
REPEATED = (
    *(Fault("link_cut", 5, 6, 0, other) for other in (1, 2)),
    Fault("isolation", 6, 14, 0),
    Fault("broker_crash", 12, 40, 1),
)
"""Server 0 ends with edits in a segment that all have, without edits; server 1 writes others into it, then ends."""
MUTANTS = {
    "refuse_older_term": (
        case_of(Fault("broker_pause", 4, 12, 0), Fault("isolation", 12, 14, 1, clients=True), workload=((0, 2), (4, 0), (12, 2))),
        "LeaderCompleteness",
    ),
    "keep_vote": (
        case_of(Fault("broker_crash", 4, 8, 0), Fault("broker_pause", 7, 10, 1), Fault("broker_crash", 7, 9, 2)),
        "ElectionSafety",
    ),
    "compare_logs": (
        case_of(Fault("link_cut", 3, 4, 0, 1), GONE),
        "LeaderCompleteness",
    ),
    "accepted_counts": (
        case_of(*LONE_EDITS, Fault("isolation", 9, 10, 2), Fault("isolation", 10, 15, 1)),
        "FinalizedSegments",
    ),
    "acks_of_new_leader": (
        case_of(*LONE_EDITS, Fault("isolation", 8, 10, 2), Fault("isolation", 10, 15, 1)),
        "FinalizedSegments",
    ),
    "current_epoch_first": (
        case_of(*REPEATED, workload=((0, 2), (4, 0), (5, 4), (6, 0), (11, 2)), roll=4),
        "LeaderCompleteness",
    ),
    "same_content": (
        case_of(*REPEATED, workload=((0, 2), (4, 0), (5, 2), (6, 0), (11, 2)), roll=4),
        "FinalizedSegments",
    ),
    "finalize_first": (
        case_of(GONE._replace(to_round=14), Fault("broker_crash", 13, 40, 1), roll=3, delay=2),
        "LeaderCompleteness",
    ),
}
"""Guard -> a schedule and what breaks in it without the guard."""


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
