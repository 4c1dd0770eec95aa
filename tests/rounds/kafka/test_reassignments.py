"""Reassignments as the controller does them: several in one round, one while another is under way, cancelled ones; by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.reference.kafka import Result, simulate
from tests.reference.random_scenarios import cases_of, random_batch, to_toml
from tests.rounds.kafka.compared import all_known, differences, played, scenarios_of
from tests.rounds.kafka.test_against_reference import assert_equal

ROUNDS = 30
CRASHES = {"kind": "broker_crash", "broker": 3, "from_round": 2}


def to(round_: int, *replicas: int) -> dict[str, Any]:
    return {"round": round_, "kind": "reassign", "replicas": list(replicas)}


def cancel(round_: int) -> dict[str, Any]:
    return {"round": round_, "kind": "cancel_reassignment"}


def both(folder: Path, commands: Sequence[Any], faults: Sequence[Any] = (), **topic_config: Any) -> Result:
    """What the reference makes of a partition of brokers 1, 2 and 3, after the rounds made the same of it."""
    cluster = {"rounds": ROUNDS, "round_ms": 1000, "session_timeout_rounds": 3, "config": {}, "faults": []}
    workload = [{"records_per_round": 5, "record_bytes": 100, "acks": "all", "from_round": 0, "to_round": ROUNDS}]
    case = {"topic": "t0", "brokers": [1, 2, 3, 4, 5, 6], "replicas": [1, 2, 3], "workload": workload, "initial": None}
    case |= {"commands": list(commands), "faults": list(faults), "topic_config": topic_config}
    batch = {"seed": 0, "cluster": cluster, "cases": [case]}
    game = played(scenarios_of(to_toml(batch), folder).scenarios)
    result = simulate(cases_of(batch)[0])
    assert differences(result, game, 0, all_known(game)) == []
    assert not len(game.told.violations)  # also where a cancelled one makes the ISR (PartitionReassignmentRevert)
    return result


def elected(result: Result) -> list[tuple[int, int, int]]:
    return [(e.round, e.broker, e.leader_epoch) for e in result.events if "election" in e.kind]


def brokers(result: Result, round_: int = ROUNDS - 1) -> list[int]:
    """Who has a log then."""
    return sorted(row["broker"] for row in result.trace if row["round"] == round_)


def test_the_later_takes_the_place_of_the_earlier(tmp_path: Path) -> None:
    """To 4 and to 5 in one round: 4 is added by the first, and goes only with 3 when 5 is in the ISR."""
    result = both(tmp_path, [to(5, 1, 2, 4), to(5, 1, 2, 5)])
    assert brokers(result, 5) == [1, 2, 3, 4, 5]
    assert brokers(result) == result.outcomes["isr"] == [1, 2, 5]
    assert [epoch for *_, epoch in elected(result)] == [1]


def test_the_first_of_two_may_come_to_its_end_before_the_second(tmp_path: Path) -> None:
    """3 goes at once, as 1 and 2 are in the ISR, and comes again with an empty log."""
    result = both(tmp_path, [to(10, 1, 2), to(10, 1, 2, 3)])
    log = {row["round"]: row["leo"] for row in result.trace if row["broker"] == 3}
    assert (log[9], log[10]) == (50, 0)
    assert elected(result) == [(10, 1, 1)]
    assert result.outcomes["isr"] == [1, 2, 3]


def test_it_waits_for_all_who_stay(tmp_path: Path) -> None:
    """3, which is down, stays in the list: 4 joins the ISR, and 2 does not go (KAFKA-15665)."""
    result = both(tmp_path, [to(8, 1, 3, 4)], [CRASHES])
    assert brokers(result) == [1, 2, 3, 4]
    assert result.outcomes["isr"] == [1, 2, 4]
    assert elected(result) == []


def test_another_order_holds_at_once_without_the_isr(tmp_path: Path) -> None:
    result = both(tmp_path, [to(8, 2, 1, 3), {"round": 9, "kind": "preferred_leader_election"}], [CRASHES])
    assert elected(result) == [(9, 2, 1)]


def test_whom_nobody_is_to_go_for_goes_after_all(tmp_path: Path) -> None:
    """1 is to go for 4, and a list of all four takes nobody away: the builder begins with whom the first took away."""
    result = both(tmp_path, [to(8, 4, 2, 3), to(8, 4, 2, 3, 1)])
    assert brokers(result) == [2, 3, 4]


def test_a_cancelled_one_leaves_what_was_there(tmp_path: Path) -> None:
    result = both(tmp_path, [to(8, 4, 5, 6), cancel(9)])
    assert brokers(result, 8) == [1, 2, 3, 4, 5, 6]
    assert brokers(result, 9) == result.outcomes["isr"] == [1, 2, 3]
    assert elected(result) == [(9, 1, 1)]


def test_nothing_comes_of_cancelling_nothing(tmp_path: Path) -> None:
    result = both(tmp_path, [cancel(5), to(8, 3, 2, 1), cancel(9)])
    assert elected(result) == []
    assert brokers(result) == [1, 2, 3]


@pytest.mark.parametrize("allowed", [False, True])
def test_cancelling_may_need_an_unclean_election(tmp_path: Path, allowed: bool) -> None:
    """Only 4, which was added, is left in the ISR; the first of the others is not elected but uncleanly."""
    faults: list[Any] = [{"kind": "broker_crash", "broker": broker, "from_round": 12, "to_round": 18} for broker in (1, 2)]
    faults += [CRASHES, {"kind": "broker_crash", "broker": 5, "from_round": 2}]
    result = both(
        tmp_path, [to(5, 4, 5), cancel(18)], faults, **{"unclean.leader.election.enable": allowed, "min.insync.replicas": 1}
    )
    assert [(e.round, e.broker) for e in result.events if e.kind == "unclean_election"] == ([(18, 1)] if allowed else [])
    assert (4 in brokers(result)) is not allowed


def test_whom_a_cancelled_one_makes_the_isr_gives_up_what_it_lacks(tmp_path: Path) -> None:
    """4, elected uncleanly as it is added, writes in rounds 15 and 16. Then 1 is the ISR, and is back in round 20: no invariant
    misses the 10 records of 4 (PartitionReassignmentRevert: unclean).
    """
    down = [{"kind": "broker_crash", "broker": broker, "from_round": 8, "to_round": 20} for broker in (1, 2, 3)]
    faults = [*down, {"kind": "broker_crash", "broker": 4, "from_round": 17}]
    unclean = {"unclean.leader.election.enable": True}
    result = both(tmp_path, [to(14, 1, 2, 3, 4), cancel(18)], faults, **unclean)
    assert [(e.kind, e.round, e.broker) for e in result.events if "election" in e.kind] == [
        ("unclean_election", 15, 4), ("election", 20, 1),
    ]  # fmt: skip
    assert result.outcomes["acked_lost"] == 10


def test_a_leader_that_goes_without_an_heir_is_missed_at_the_next_election(tmp_path: Path) -> None:
    """4 leads alone in rounds 15 and 16, and goes with what it wrote then while nobody else is there: 1 is back in round 18."""
    faults: list[Any] = [{"kind": "broker_crash", "broker": broker, "from_round": 12, "to_round": 18} for broker in (1, 2)]
    faults += [CRASHES, {"kind": "broker_crash", "broker": 5, "from_round": 2}]
    result = both(
        tmp_path, [to(5, 4, 5), cancel(17)], faults, **{"unclean.leader.election.enable": True, "min.insync.replicas": 1}
    )
    assert elected(result) == [(15, 4, 1), (18, 1, 3)]
    lost = [(e.round, e.broker, e.leader_epoch, e.from_offset, e.to_offset) for e in result.events if e.kind == "acked_lost"]
    assert lost == [(18, 1, 1, 60, 70)]
    assert result.outcomes["acked_lost"] == 10


def test_who_is_added_may_lead_at_once(tmp_path: Path) -> None:
    """4 is added by the first, 5 by the second, which the cancellation takes back: of those who are left only 4 is there."""
    faults = [CRASHES, *({"kind": "broker_crash", "broker": broker, "from_round": 2} for broker in (1, 2))]
    commands = [to(10, 1, 2, 3, 4), to(10, 5, 4, 1, 2, 3), cancel(10)]
    result = both(tmp_path, commands, faults, **{"unclean.leader.election.enable": True})
    assert [(e.round, e.broker, e.from_offset) for e in result.events if e.kind == "unclean_election"] == [(10, 4, 0)]
    assert [row["hw"] for row in result.trace if row["broker"] == 4][:3] == [5, 10, 15]


def test_a_leader_that_goes_on_answers_who_waited(tmp_path: Path) -> None:
    """What is written in round 9 is committed in epoch 1, and the same broker answers its producers."""
    result = both(tmp_path, [to(10, 1, 2)])
    assert elected(result) == [(10, 1, 1)]
    assert [result.outcomes[name] for name in ("appended", "hw", "acked")] == [150, 145, 145]
    known = {row["round"]: row["remote_leo"] for row in result.trace if row["broker"] == 2}
    assert (known[9], known[10], known[11]) == (45, 45, 50)


@pytest.mark.parametrize("kind", ["broker_crash", "broker_pause"])
def test_one_that_led_no_more_in_between_answers_nobody(tmp_path: Path, kind: str) -> None:
    """20 records of rounds 9 to 12 wait for an ISR of two; 1 comes back as the leader that it was, and owes nothing."""
    faults: list[Any] = [{"kind": "broker_crash", "broker": 2, "from_round": 10, "to_round": 24}]
    faults += [{"kind": kind, "broker": 1, "from_round": 14, "to_round": 19}, CRASHES]
    result = both(tmp_path, [to(4, 1, 2)], faults, **{"min.insync.replicas": 2})
    assert [(r, b) for r, b, _ in elected(result) if r > 5] == [(19, 1)]
    assert result.outcomes["committed_lost"] == 0
    assert result.outcomes["hw"] - result.outcomes["acked"] == 20


@pytest.mark.parametrize(
    ("seed", "knows"),
    [
        (700, {}),
        (701, {"elr": True}),
        (703, {"elr": True, "late_news": True}),
        (712, {"late_news": True}),
        (902, {}),  # who is elected and dropped in one round is who leads no more
    ],
)
def test_random_ones(tmp_path: Path, seed: int, knows: dict[str, bool]) -> None:
    assert_equal(tmp_path, random_batch(seed, 60, reassigned=True, **knows))
