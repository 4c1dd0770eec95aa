"""Transfer of leadership, of raft (thesis 3.10): who is told to stand at once, and what happens if it can't."""

from __future__ import annotations

import pytest

from emulator.rounds.quorums.constants import CAMPAIGN, ELECTION, STEP_DOWN
from tests.reference.quorums.cases import Case, Fault
from tests.rounds.quorums.compared import Game, differences

AWAY = (Fault("broker_crash", 4, 10, 0), Fault("broker_crash", 4, 5, 2))
"""Server 0 leads at first; from its crash on server 1 does, whose timer runs out before that of server 2."""


def told(case: Case, *kinds: int) -> list[tuple[int, int, int]]:
    """(round, kind, broker) of events behind round 20; the case is as the reference has it."""
    assert differences(case) == []
    game = Game(case)
    for _ in range(case.rounds):
        game.play_round()
    events = game.lists.events[: game.lists.filled[0].events.count]
    return [(int(e.at_round), int(e.kind), int(e.broker)) for e in events if e.kind in kinds and e.at_round > 20]


def case_of(*faults: Fault, **settings: object) -> Case:
    return Case("raft", 3, 50, timeout_rounds=4, jitter_rounds=0, faults=(*AWAY, *faults), transfers=(25,), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("delay", [0, 2])
@pytest.mark.parametrize(("pre_vote", "check_quorum"), [(False, False), (True, True)])
def test_the_first_server_leads_again(pre_vote: bool, check_quorum: bool, delay: int) -> None:
    """Asked in round 25, it is told to stand when it has the records of round 24, and leads in the next round."""
    case = case_of(pre_vote=pre_vote, check_quorum=check_quorum, delay_rounds=delay)
    events = told(case, CAMPAIGN, ELECTION, STEP_DOWN)
    assert [(round_, kind) for round_, kind, _ in events] == [(max(25, 24 + delay) + 1, kind) for kind in (STEP_DOWN, ELECTION)]
    assert events[1][2] == 0


def test_who_is_behind_catches_up_first() -> None:
    """Six entries behind, with two a round, it has all in round 27: the leader takes no records from 25 on."""
    case = case_of(max_entries=2, workload=((0, 1), (22, 4), (25, 1)))
    assert told(case, ELECTION) == [(28, ELECTION, 0)]


def test_one_that_is_not_there_is_given_up() -> None:
    """Server 0 does not hear; after an election's time the leader takes records again."""
    case = case_of(Fault("isolation", 24, 40, 0), pre_vote=True)
    assert told(case, ELECTION, STEP_DOWN) == []
    game = Game(case)
    seen = []
    for round_ in range(32):
        before = int(game.group.appended)
        game.play_round()
        seen.append((round_, int(game.group.appended) - before))
    assert [taken for round_, taken in seen if 24 <= round_ < 31] == [1, 0, 0, 0, 0, 1, 1]
