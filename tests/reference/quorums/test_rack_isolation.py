"""A rack that is cut off, by hand: its servers have each other, and nobody else (docs/quorum_rounds.md, 1. Inputs).

Two records a round: after r rounds in which a majority was there 2 r are acknowledged. Rack a is cut in rounds 10 to 29.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.reference.quorums.cases import Case, Fault
from tests.reference.quorums.group import Group
from tests.reference.quorums.play import ROUNDS
from tests.reference.quorums.schedules import random_case

CUT = Fault("rack_isolation", 10, 30, rack="a")
THREE_OF_FIVE = ("a", "a", "a", "b", "b")
TWO_OF_FIVE = ("a", "a", "b", "b", "b")


def raft(racks: tuple[str, ...], *faults: Fault, **settings: Any) -> Case:
    """Five servers; who hears nothing for four rounds asks for votes first, and disturbs nobody without them."""
    case = Case("raft", 5, 40, timeout_rounds=4, jitter_rounds=0, pre_vote=True, workload=((0, 2),), faults=faults, racks=racks)
    return replace(case, **settings)


def after(case: Case, rounds: int) -> Group:
    """A case after so many rounds."""
    group = Group(case)
    for _ in range(rounds):
        ROUNDS[case.protocol](group)
    return group


def acked(case: Case, *rounds: int) -> list[int]:
    """How many records are acknowledged after so many rounds."""
    return [after(case, number).counts["acked"] for number in rounds]


def ends(group: Group) -> list[int]:
    """How many entries each server has."""
    return [len(server.log) for server in group.servers]


def told(group: Group, *kinds: str) -> list[tuple[int, str, int, int | None]]:
    """(round, kind, server, cause) of events of these kinds."""
    return [(e.round, e.kind, e.broker, e.cause) for e in group.events if e.kind in kinds]


def test_a_majority_in_the_rack_goes_on() -> None:
    """Servers 0, 1 and 2 are three of five. The others have what they had in round 9, and the rest in round 30."""
    case = raft(THREE_OF_FIVE, CUT)
    assert acked(case, 10, 11, 30, 40) == [20, 22, 60, 80]
    assert ends(after(case, 30)) == [60, 60, 60, 20, 20]
    assert ends(after(case, 31)) == [62] * 5
    assert told(after(case, 40), "election", "leader_lost", "truncate") == []


def test_isolated_one_by_one_they_do_not() -> None:
    """No server of the rack reaches another one: what 0 takes is acknowledged when they are back."""
    case = raft((), *(Fault("isolation", 10, 30, server) for server in range(3)))
    assert acked(case, 10, 11, 30, 31) == [20, 20, 20, 62]
    assert ends(after(case, 30)) == [60, 20, 20, 20, 20]


def test_a_leader_with_a_minority_in_the_rack() -> None:
    """It has two of five. What it takes in rounds 10 to 12, 1 has as well, and nobody is told of; 2 leads in round 13, by an
    elector, for three whose timers end at once elect none.

    After that 0 leads an older term, and gets nothing of clients. In round 30 both cut six, and have all of 2's log: 20, its
    empty entry, and two for each round from 13 on.
    """
    case = raft(TWO_OF_FIVE, CUT, protocol="quorum", acks=3, compared=3)
    assert acked(case, 10, 13, 14, 40) == [20, 20, 22, 74]
    assert ends(after(case, 13)) == [26, 26, 20, 20, 20]
    assert ends(after(case, 30)) == [26, 26, *[55] * 3]
    group = after(case, 40)
    assert told(group, "election", "truncate") == [(13, "election", 2, 0), (30, "truncate", 0, 0), (30, "truncate", 1, 0)]
    assert (group.counts["truncated"], group.violations) == (12, [])


def test_without_clients_the_majority_has_nothing_to_do() -> None:
    case = raft(THREE_OF_FIVE, CUT._replace(clients=True))
    assert acked(case, 10, 30, 31) == [20, 20, 22]
    assert after(case, 40).counts["leaderless_rounds"] == 20


def test_a_server_isolated_by_itself_within_the_rack() -> None:
    """Without 2, in rounds 15 to 19, they are two of five; in 20 it has all that it lacks."""
    case = raft(THREE_OF_FIVE, CUT, Fault("isolation", 15, 20, 2))
    assert acked(case, 15, 20, 21) == [30, 30, 42]
    assert ends(after(case, 20)) == [40, 40, 30, 20, 20]


@pytest.mark.parametrize(("racks", "has"), [(("a", "a", "a", "b", "b"), 60), (("a", "a", "b", "b", "b"), 20)])
def test_two_racks_at_once(racks: tuple[str, ...], has: int) -> None:
    """Those of b have each other as well; of two cut racks the one with three servers goes on if the leader is in it."""
    case = raft(racks, CUT, CUT._replace(rack="b"), timeout_rounds=100)
    assert acked(case, 10, 30) == [20, has]


def test_a_cut_link_in_the_rack_is_cut() -> None:
    """0 reaches 1 only, and gets no answer of it."""
    links = (Fault("link_cut", 10, 30, 0, 2), Fault("link_cut", 10, 30, 1, 0, "out"))
    case = raft(THREE_OF_FIVE, CUT, *links, timeout_rounds=100)
    assert acked(case, 10, 30, 31) == [20, 20, 62]
    assert ends(after(case, 30)) == [60, 60, 20, 20, 20]


def test_causes_are_as_of_an_isolation() -> None:
    """The first row of equals, stronger than a link, weaker than a pause."""
    faults = (Fault("link_cut", 1, 30, 0, 3), CUT, Fault("isolation", 9, 12, 0), Fault("broker_pause", 14, 15, 0))
    case = raft(THREE_OF_FIVE, *faults, timeout_rounds=100)
    causes = [after(case, number + 1).servers[0].cause for number in (0, 1, 9, 10, 14, 15, 30)]
    assert causes == [None, 0, 2, 1, 3, 1, 1]
    assert after(case, 40).servers[3].cause == 0


def test_an_elector_hears_nobody_of_the_rack() -> None:
    """The one of `quorum` is outside: from 2 on around, for term 2, it hears server 3 first, which leads in round 13."""
    case = Case("quorum", 5, 40, acks=2, compared=2, timeout_rounds=4, workload=((0, 2),), faults=(CUT,), racks=THREE_OF_FIVE)
    assert told(after(case, 20), "election") == [(13, "election", 3, 0)]


def test_who_is_closed_is_seen_in_the_rack() -> None:
    """Zab: 0 ends in round 12. Its rack-mates see that at once; the others, from which it is isolated, wait in vain."""
    crash = Fault("broker_crash", 12, 40, 0)
    case = Case("zab", 5, 40, timeout_rounds=20, workload=((0, 2),), faults=(CUT, crash), racks=THREE_OF_FIVE)
    assert [server.leader for server in after(case, 13).servers] == [None, None, None, 0, 0]
    alone = tuple(Fault("isolation", 10, 30, server) for server in range(3))
    apart = replace(case, faults=(*alone, crash))
    assert [server.leader for server in after(apart, 13).servers] == [None, 0, 0, 0, 0]


def test_a_rack_mate_is_fenced() -> None:
    """HDFS's journal: 0 pauses from round 4 on, 1 has the lock in 6. In 8, when 0 is back, their rack is cut, and 1 ends it."""
    pause, cut = Fault("broker_pause", 4, 8, 0), Fault("rack_isolation", 8, 30, rack="a")
    case = Case("hdfs-journal", 3, 20, timeout_rounds=3, workload=((0, 2),), faults=(pause, cut), racks=("a", "a", "b"))
    assert told(after(case, 9), "step_down") == [(8, "step_down", 0, 1)]
    alone = tuple(Fault("isolation", 8, 30, server) for server in (0, 1))
    assert told(after(replace(case, faults=(pause, *alone)), 16), "step_down") == []


def test_random_cases_have_rack_mates() -> None:
    """Of 400 cases some have a leader in a cut rack that others are in, and nothing breaks."""
    goes_on = 0
    for seed in range(400):
        case = random_case("raft", seed, rounds=45)
        if not case.racks:
            continue
        group = Group(case)
        for _ in range(case.rounds):
            before = group.counts["acked"]
            ROUNDS["raft"](group)
            leader = group.leader_of_clients()
            goes_on += leader is not None and leader.is_cut_off_with_rack and group.counts["acked"] > before
        assert group.violations == []
    assert goes_on > 50
