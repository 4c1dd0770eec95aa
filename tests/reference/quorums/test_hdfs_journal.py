"""HDFS's quorum journal by the reference: each rule by hand, mutants, and what never breaks (docs/hdfs_journal_rounds.md).

Two edits a round: after r rounds of which nothing is missing a log has 2 r.
"""

from __future__ import annotations

import pytest

from tests.reference.quorums.cases import Case
from tests.reference.quorums.group import Group
from tests.reference.quorums.hdfs_journal import play_hdfs_journal_round
from tests.reference.quorums.hdfs_journal_cases import BY_HAND, MUTANTS
from tests.reference.quorums.play import outcomes, played
from tests.reference.quorums.schedules import random_case, without

IN_SYNC, WAITING, OUT = "in sync", "waiting", "out of sync"


def after(case: Case, rounds: int) -> Group:
    """A case after so many rounds."""
    group = Group(case)
    for _ in range(rounds):
        play_hdfs_journal_round(group)
    return group


def ends(group: Group) -> list[int]:
    """How many edits each node has."""
    return [len(server.log) for server in group.servers]


def known(group: Group, node: int, writer: int = 0) -> str:
    """What a node is for a writer."""
    one = group.servers[writer].followers[node]
    assert not (one.in_sync and one.is_waiting)
    return IN_SYNC if one.in_sync else WAITING if one.is_waiting else OUT


def known_by_round(name: str, node: int, rounds: range) -> list[str]:
    """What a node is for server 0 at the ends of these rounds."""
    return [known(after(BY_HAND[name], round_ + 1), node) for round_ in rounds]


def told(name: str, *kinds: str) -> list[tuple[int, str, int]]:
    """(round, kind, server) of a case's events of these kinds."""
    return [(e.round, e.kind, e.broker) for e in played(BY_HAND[name])[0].events if e.kind in kinds]


ENDS = ("step_down", "campaign", "election")

# Silences


def test_a_writer_that_is_isolated_for_a_round_loses_nothing() -> None:
    """The two edits of round 4 get to both nodes in round 5, with those of round 5."""
    case = BY_HAND["writer isolated for a round"]
    assert [ends(after(case, rounds)) for rounds in (5, 6)] == [[10, 8, 8], [12, 12, 12]]
    assert [after(case, rounds).counts["acked"] for rounds in (4, 5, 6)] == [8, 8, 12]
    assert known_by_round("writer isolated for a round", 1, range(40)) == [IN_SYNC] * 40
    group, _ = played(case)
    assert (group.counts["acked"], group.counts["elections"], group.events) == (80, 0, [])


def test_two_nodes_that_pause_one_after_the_other_lose_nothing() -> None:
    """Each has all in the round in which it is back; the other one makes the majority meanwhile."""
    case = BY_HAND["two pauses"]
    assert [ends(after(case, rounds)) for rounds in (6, 7, 9, 10)] == [[12, 6, 12], [14, 14, 14], [18, 18, 14], [20, 20, 20]]
    assert [after(case, rounds).counts["acked"] for rounds in range(1, 41)] == list(range(2, 82, 2))
    for node in (1, 2):
        assert known_by_round("two pauses", node, range(12)) == [IN_SYNC] * 12


def test_a_pause_beyond_the_limit_for_answers() -> None:
    """It answered last in round 3: 6 - 3 >= 3. In round 12 the next segment begins, with the 24 edits before it and two more."""
    assert known_by_round("long pause", 2, range(3, 14)) == [IN_SYNC] * 3 + [OUT] * 6 + [IN_SYNC] * 2
    assert [ends(after(BY_HAND["long pause"], rounds))[2] for rounds in (4, 9, 12, 13)] == [8, 8, 8, 26]


@pytest.mark.parametrize("name", ["short pause", "long pause without a limit", "pause without edits"])
def test_no_pause_beyond_a_limit(name: str) -> None:
    """Back in round 6, in time; no limit; and no time counts while the queue is empty: that of round 7 is the first."""
    assert known_by_round(name, 2, range(40)) == [IN_SYNC] * 40
    assert len(set(ends(after(BY_HAND[name], 40)))) == 1


def test_a_full_queue() -> None:
    """Rounds 4 and 5 put in four edits, which it holds; with those of round 6 there are six."""
    assert known_by_round("full queue", 2, range(3, 14)) == [IN_SYNC] * 3 + [OUT] * 6 + [IN_SYNC] * 2
    assert [ends(after(BY_HAND["full queue"], rounds))[2] for rounds in (4, 9, 12, 13)] == [8, 8, 8, 26]


def test_a_process_that_ends_with_something_in_its_queue() -> None:
    """The edits of round 4 wait for it when it goes in round 5, in which nobody writes; or those of round 5 are new."""
    assert known_by_round("crash with a queue", 2, range(4, 8)) == [IN_SYNC, OUT, OUT, OUT]
    assert known_by_round("crash with edits", 2, range(4, 8)) == [IN_SYNC, OUT, OUT, OUT]
    assert ends(after(BY_HAND["crash with edits"], 40)) == [80, 80, 10]


def test_a_process_that_ends_with_an_empty_queue() -> None:
    """It is in sync until it refuses the edits of round 7, since its segment is not open; it gets the next one in round 12."""
    name = "crash without a queue"
    assert known_by_round(name, 2, range(4, 13)) == [IN_SYNC] * 3 + [OUT] * 5 + [IN_SYNC]
    assert after(BY_HAND[name], 7).servers[2].leader is None
    assert [ends(after(BY_HAND[name], rounds)) for rounds in (7, 8, 13)] == [[8, 8, 8], [10, 10, 8], [20, 20, 20]]


def test_power_lost_in_a_segment() -> None:
    """Flushed is what it has, ten edits; it is back in round 7, and in sync with the segment that begins in round 8."""
    assert known_by_round("power lost in a segment", 2, range(4, 9)) == [IN_SYNC, OUT, OUT, OUT, IN_SYNC]
    assert [ends(after(BY_HAND["power lost in a segment"], rounds))[2] for rounds in (6, 8, 9)] == [10, 10, 18]


def test_an_answer_that_is_late() -> None:
    """Edits of round 4 are taken and not acknowledged; nothing more is sent before round 7, in which both is made up for."""
    case = BY_HAND["late answer"]
    seen = [(len(group.servers[2].log), group.servers[0].followers[2]) for group in (after(case, r) for r in range(4, 9))]
    assert [(end, one.match, one.took) for end, one in seen] == [(8, 8, 8), *[(10, 8, 10)] * 3, (16, 16, 16)]
    assert known_by_round("late answer", 2, range(4, 9)) == [IN_SYNC] * 5


def test_requests_under_way_to_a_node_that_pauses() -> None:
    """What is sent in rounds 3 and 4 is to arrive in 5 and 6, and does in 8; all else up to 8 is sent then, and arrives in 10."""
    case = BY_HAND["late requests"]
    assert [ends(after(case, rounds))[2] for rounds in range(5, 13)] == [6, 6, 6, 6, 10, 10, 18, 20]
    under_way = [(r.arrives, r.previous) for r in after(case, 7).under_way if r.receiver == 2]
    assert under_way == [(7, 6), (7, 8)]


def test_a_disk_that_takes_time_while_its_writer_pauses() -> None:
    """What was written in rounds 2 and 3 is to be on disk in 4 and 5, and is in 6; that of 6 in 8."""
    case = BY_HAND["late disk"]
    assert [after(case, rounds).servers[0].synced for rounds in range(4, 10)] == [4, 4, 4, 8, 8, 10]


# Segments


def test_silent_when_a_segment_starts() -> None:
    """The call of round 8 is answered in round 10, with that it has 16 edits and gets six of the new segment."""
    name = "silent at the start"
    assert known_by_round(name, 2, range(7, 11)) == [IN_SYNC, WAITING, WAITING, IN_SYNC]
    seen = [after(BY_HAND[name], rounds).servers[2] for rounds in (8, 10, 11)]
    assert [(len(server.log), server.segment, server.finalized) for server in seen] == [(16, 0, False)] * 2 + [(22, 16, False)]
    assert after(BY_HAND[name], 10).servers[1].segment == 16


def test_an_answer_to_the_start_that_is_late() -> None:
    """The node has started the segment, and gets nothing before its answer is there."""
    name = "unheard at the start"
    assert known_by_round(name, 2, range(7, 11)) == [IN_SYNC, WAITING, WAITING, IN_SYNC]
    seen = [after(BY_HAND[name], rounds).servers[2] for rounds in (9, 10, 11)]
    assert [(len(server.log), server.segment) for server in seen] == [(16, 16), (16, 16), (22, 16)]


def test_a_node_that_waits_falls_out() -> None:
    """Asked in round 8, it has not answered by 11; one whose process ends falls out with that, one that refuses as well."""
    assert known_by_round("silent at the start for too long", 2, range(8, 12)) == [WAITING] * 3 + [OUT]
    assert known_by_round("waits and goes", 2, range(8, 11)) == [WAITING, OUT, OUT]
    assert known_by_round("waits, then refuses", 2, range(8, 15)) == [WAITING] * 6 + [OUT]
    assert after(BY_HAND["waits, then refuses"], 15).servers[0].role == "leader"


def test_a_roll_that_is_put_off() -> None:
    """The edits of round 8 are committed in 11, in which no others are taken; in round 12 the segment begins behind them."""
    case = BY_HAND["roll put off"]
    seen = [(after(case, rounds), rounds) for rounds in (8, 9, 11, 12, 13)]
    assert [(len(group.servers[0].log), group.servers[0].commit) for group, _ in seen] == [
        (16, 16), (18, 16), (18, 16), (18, 18), (20, 20),
    ]  # fmt: skip
    assert [group.servers[0].segment for group, _ in seen] == [0, 0, 0, 0, 18]
    assert played(case)[0].events == []


def test_a_roll_that_is_put_off_for_too_long() -> None:
    """All is committed, but the roll of round 8 waits: since round 7, so that it ends in round 12."""
    assert told("roll put off without edits", *ENDS)[0] == (12, "step_down", 0)


# Who stops, and who gets the lock


def test_a_writer_whose_edits_no_majority_has() -> None:
    """Its commit moved last in round 3: 8 - 3 >= 5. In round 10 controllers hear nobody but itself, who finds no majority."""
    assert told("no majority for too long", *ENDS)[:2] == [(8, "step_down", 0), (10, "campaign", 0)]
    assert after(BY_HAND["no majority for too long"], 8).servers[0].role == "leader"


def test_who_stopped_as_a_new_writer_keeps_the_lock_for_a_session() -> None:
    """Heard in 10 as a new writer, then in 13, 16 and 19: three rounds each. In round 19 they hear nobody else yet."""
    campaigns = [round_ for round_, _, _ in told("no majority for too long", "campaign")]
    assert campaigns[:4] == [10, 13, 16, 19]


@pytest.mark.parametrize(
    ("name", "round_"),
    [("no majority left", 6), ("ended, and seen a round later", 5), ("ended, and seen late", 10)],
)
def test_a_writer_that_ended_gives_up_its_lock(name: str, round_: int) -> None:
    """Both nodes go in round 4, and with that the writer; whoever is next takes over two rounds later, or one, or six."""
    assert told(name, *ENDS) == [(4, "step_down", 0), (round_ + 3, "election", 1)]
    assert after(BY_HAND[name], round_ + 1).primary == 1
    assert after(BY_HAND[name], round_).primary == 0


def test_a_crash_is_no_end_that_they_see() -> None:
    """Heard in round 3; the machine takes no connection for a NameNode, which needs no time."""
    assert told("crash of the writer", *ENDS) == [(9, "election", 1)]
    assert [after(BY_HAND["crash of the writer"], rounds).servers[1].term for rounds in (6, 7)] == [1, 2]


# Fencing


@pytest.mark.parametrize(
    ("name", "first_call"),
    [("paused writer", 16), ("isolated writer", 86), ("writer without power", 10)],
)
def test_how_long_fencing_takes(name: str, first_call: int) -> None:
    """Server 1 has the lock in round 6; 5 s are 10 rounds, twice 20 s 80, twice two rounds four."""
    case = BY_HAND[name]
    assert after(case, 7).primary == 1
    seen = [after(case, rounds).servers[1] for rounds in (7, first_call, first_call + 1)]
    assert [(server.role, server.term, server.has_fenced) for server in seen] == [
        ("candidate", 1, False), ("candidate", 1, False), ("candidate", 2, True),
    ]  # fmt: skip
    assert told(name, "election") == [(first_call + 3, "election", 1)]


@pytest.mark.parametrize("name", ["paused writer, heard again", "isolated writer, heard again"])
def test_fencing_ends_who_is_heard_again(name: str) -> None:
    """In round 10 the old writer is there, and stops; the first call is in that round."""
    assert told(name, *ENDS) == [(10, "step_down", 0), (13, "election", 1)]
    assert [after(BY_HAND[name], rounds).servers[1].term for rounds in (10, 11)] == [1, 2]


def test_what_could_not_be_reached_then_has_the_longer_time() -> None:
    """Isolated when the lock was got in round 6, it only pauses later: two times six rounds, not two."""
    assert told("isolated, then paused", "election") == [(6 + 12 + 3, "election", 1)]


def test_fencing_is_handed_on() -> None:
    """Server 1, heard in 7, had not done with server 0; server 2 gets the lock in 10, fences 0 until 20, writes in 23."""
    group = after(BY_HAND["fencing handed on"], 11)
    assert (group.primary, group.servers[2].fences, group.servers[2].has_fenced) == (2, 0, False)
    assert told("fencing handed on", *ENDS) == [(23, "election", 2)]


def test_who_is_back_without_the_lock_stops() -> None:
    """Fenced in 8, and cut off from the new writer in 20: its controller ends it, in the round in which there are any."""
    assert told("back without the lock", *ENDS) == [(11, "election", 1), (20, "step_down", 0)]
    assert told("back without controllers", *ENDS) == [(11, "election", 1), (25, "step_down", 0)]


# What never breaks, and what does without a rule


@pytest.mark.parametrize("name", BY_HAND)
def test_nothing_breaks_by_hand(name: str) -> None:
    group, _ = played(BY_HAND[name])
    assert group.violations == []
    assert outcomes(group)["acked_lost"] == outcomes(group)["committed_lost"] == 0


@pytest.mark.parametrize("guard", MUTANTS)
def test_a_mutant_is_caught(guard: str) -> None:
    case, invariant = MUTANTS[guard]
    assert played(case)[0].violations == []
    assert invariant in {violation.invariant for violation in played(without(case, guard))[0].violations}


def test_nothing_breaks_at_random() -> None:
    """Silences, ends and small limits; 3,000 of them were played once when the rules were written."""
    for seed in range(60):
        group, _ = played(random_case("hdfs-journal", seed, rounds=60))
        assert (seed, group.violations, outcomes(group)["committed_lost"]) == (seed, [], 0)
