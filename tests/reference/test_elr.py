"""Eligible leader replicas: the worked examples of KIP-966, stops and restarts.

Brokers of KIP-966 keep their numbers; what a table or a text says is the expected value, not what the code does.
"""

from __future__ import annotations

from typing import Any

import pytest

from .broker_status import broker_rounds
from .elr_cases import TIMEOUT, elr_case, held, row_of, stops
from .kafka import Result, simulate
from .partition import NO_LEADER
from .rules import MUTANTS
from .variant_cases import fault, invariants_of


def _last_replica_standing(**given: Any) -> Result:
    """3 leads; 1 and then 2 are cut off; 3 loses its page cache and comes back; at last 1 and 2 do."""
    case = elr_case(
        replicas=[3, 1, 2],
        rounds=40,
        workload=[row_of(1, 2, to_round=12)],
        faults=[fault("isolation", 1, 3, 26), fault("isolation", 2, 7, 26), fault("power_loss", 3, 14, 16)],
        **given,
    )
    return simulate(case, watch=True)


def test_last_replica_standing_without_elr() -> None:
    result = _last_replica_standing(features={"eligible.leader.replicas.version": 0})
    assert [row["isr"] for row in result.trace_partitions][13:24] == [[3]] * 11
    assert result.outcomes["leader"] == 3
    assert result.outcomes["acked_lost"] == result.outcomes["acked"] == result.outcomes["committed_lost"] > 0
    assert {"LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"} <= invariants_of(result)


@pytest.mark.parametrize("strategy", ["none", "balanced"])
def test_last_replica_standing_with_elr(strategy: str) -> None:
    result = _last_replica_standing(topic_config={"min.insync.replicas": 2, "unclean.recovery.strategy": strategy})
    assert held(result, 9) == (3, [2, 3], [], []), "1 was fenced in round 6"
    assert held(result, 10) == (3, [3], [2], []), "2 in round 10"
    assert held(result, 17) == (NO_LEADER, [], [2], [3]), "3 was fenced in round 17 and came back at once"
    assert held(result, 25) == held(result, 17)
    assert held(result, 26)[0] == 2
    assert result.outcomes["isr"] == [1, 2, 3]
    assert result.outcomes["unclean_elections"] == 0
    assert result.outcomes["acked"] > 0
    assert result.outcomes["acked_lost"] == result.outcomes["committed_lost"] == 0
    assert result.violations == []


def test_worked_example() -> None:
    """5.2.2: what each step leaves."""
    case = elr_case(
        config={**elr_case()["config"], "replica.lag.time.max.ms": 1000},
        workload=[row_of(0, 1, "1", to_round=10)],
        faults=[
            fault("controlled_shutdown", 2, 2),
            fault("link_cut", 3, 4, 12, peer=1),
            fault("broker_crash", 1, 9, 10),
        ],
    )
    result = simulate(case, watch=True)
    states = [held(result, round_) for round_ in range(30)]
    changes = [states[0]] + [state for before, state in zip(states[:-1], states[1:], strict=True) if before != state]
    assert changes == [
        (1, [1, 2, 3], [], []),
        (1, [1, 3], [], []),
        (1, [1], [3], []),
        (3, [3], [], []),
        (3, [1, 3], [], []),
    ]
    assert result.violations == []


def test_balanced_recovery() -> None:
    """5.3.3: power loss on all; 2 lost nothing, 3 did, 1 comes back first and is not asked."""
    logs: dict[int, dict[str, Any]] = {
        1: {"leo": 15, "hw": 10, "epochs": [[0, 0]], "flushed_offset": 15},
        2: {"leo": 12, "hw": 8, "epochs": [[0, 0]], "flushed_offset": 12},
        3: {"leo": 10, "hw": 8, "epochs": [[0, 0]], "flushed_offset": 4},
    }
    case = elr_case(
        topic_config={"min.insync.replicas": 2, "unclean.recovery.strategy": "balanced"},
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2, 3], "replicas": logs},
        faults=[fault("power_loss", 1, 0, 7), fault("power_loss", 2, 1, 9), fault("power_loss", 3, 2, 11)],
    )
    result = simulate(case, watch=True)
    assert held(result, 3) == (2, [2, 3], [], []), "1 is fenced"
    assert held(result, 4) == (3, [3], [2], []), "2 is fenced"
    assert held(result, 5) == (NO_LEADER, [], [2, 3], []), "3 is fenced"
    assert held(result, 7) == held(result, 8) == (NO_LEADER, [], [2, 3], []), "1 is back"
    assert held(result, 9) == held(result, 10) == (NO_LEADER, [], [3], [2]), "2 is back"
    assert held(result, 11) == (NO_LEADER, [], [], [2, 3]), "3 is back; 2 and 3 are asked"
    assert held(result, 12)[:2] == (2, [2])
    assert result.outcomes["unclean_elections"] == 1
    assert result.outcomes["committed_lost"] == 0
    assert result.outcomes["leo"] == 12
    assert result.outcomes["isr"] == [1, 2, 3]


@pytest.mark.parametrize("mutant", [None, "high-watermark-over-committed-isr"])
def test_why_maximal_isr(mutant: str | None) -> None:
    """6.5.2: 3 asked to join, then hears no more; the controller lets it in only when it is back, and then elects it."""
    case = elr_case(
        replicas=[1, 3, 2],
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": {}},
        workload=[row_of(3, 10)],
        faults=[
            {"kind": "controller_loss", "from_round": 1, "to_round": 7},
            fault("link_cut", 3, 0, 1, peer=1),
            fault("link_cut", 3, 3, 20, peer=1),
            fault("controlled_shutdown", 1, 8),
        ],
        **({} if mutant is None else {"rules": MUTANTS[mutant]}),
    )
    case["initial"]["replicas"] = {
        1: {"leo": 0, "hw": 0, "epochs": [[0, 0]]},
        2: {"leo": 0, "hw": 0, "epochs": []},
        3: {"leo": 0, "hw": 0, "epochs": []},
    }
    result = simulate(case, watch=True)
    assert held(result, 6)[:2] == (1, [1, 2])
    assert held(result, 7)[:2] == (1, [1, 2, 3])
    assert held(result, 8)[:2] == (3, [2, 3])
    assert result.outcomes["committed_lost"] == (0 if mutant is None else 10)
    assert ("LeaderCompleteness" in invariants_of(result)) == (mutant is not None)


@pytest.mark.parametrize("mutant", [None, "hw-below-min-isr"])
def test_below_the_minimum_only_the_held_high_watermark_saves_elr(mutant: str | None) -> None:
    """6.5.2: ISR {1}, ELR {2}; 3 caught up, so the maximal ISR is {1, 3}; then 1 goes, and 2 is elected."""
    logs = {broker: {"leo": 0, "hw": 0, "epochs": [[0, 0]] if broker == 1 else []} for broker in (1, 2, 3)}
    case = elr_case(
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs},
        workload=[row_of(7, 5, "1")],
        faults=[
            fault("isolation", 2, 1, 15),
            fault("link_cut", 3, 0, 7, peer=1),
            {"kind": "controller_loss", "from_round": 6, "to_round": 11},
            fault("broker_crash", 1, 10),
        ],
        **({} if mutant is None else {"rules": MUTANTS[mutant]}),
    )
    result = simulate(case, watch=True)
    assert held(result, 4) == (1, [1], [2], []), "2 is fenced"
    assert held(result, 14) == (NO_LEADER, [], [1, 2], [1]), "1 is fenced"
    assert held(result, 15) == (2, [2], [1], [])
    assert result.outcomes["committed_lost"] == (0 if mutant is None else 5)
    assert ("LeaderCompleteness" in invariants_of(result)) == (mutant is not None)


_PENDING_JOIN = elr_case(
    replicas=[1, 3, 2],
    rounds=12,
    initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": {}},
    workload=[row_of(0, 1)],
    faults=[
        fault("link_cut", 3, 0, 2, peer=1),
        fault("stale_metadata", 1, 1, 6),
        fault("disk_loss", 3, 4, 5),
        fault("link_cut", 3, 4, peer=1),
        fault("controlled_shutdown", 1, 8),
    ],
)


def test_a_pending_join_does_not_outlive_a_restart() -> None:
    """3 asks to join while 1 hears nothing, loses its disk and restarts; KIP-903: the controller knows it for another."""
    result = simulate(_PENDING_JOIN, watch=True)
    assert invariants_of(result) == set()
    assert result.outcomes["committed_lost"] == 0


# Other rules of the page


def test_an_unclean_broker_that_stays_in_elr_loses_committed_records() -> None:
    """The last replica standing again, but 3 is first in ELR when it comes back."""
    result = _last_replica_standing(rules=MUTANTS["unclean-kept-in-elr"])
    assert held(result, 17)[:2] == (3, [3])
    assert result.outcomes["unclean_elections"] == 0
    assert result.outcomes["acked_lost"] == result.outcomes["acked"] > 0
    assert {"LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"} <= invariants_of(result)


def _restarts(*faults: dict[str, Any]) -> list[tuple[int, bool]]:
    """Rounds of restarts of broker 1, and whether each was unclean."""
    history = broker_rounds(1, "r", faults, 30, TIMEOUT)
    assert not any(status.unclean_restart and not status.restarted for status in history)
    return [(round_, status.unclean_restart) for round_, status in enumerate(history) if status.restarted]


def test_clean_and_unclean_stops() -> None:
    stop = fault("controlled_shutdown", 1, 5, 10)
    assert _restarts(stop) == [(10, False)]
    for kind in ("broker_crash", "power_loss", "disk_loss"):
        assert _restarts(fault(kind, 1, 5, 10)) == [(10, True)]
        assert _restarts(stop, fault(kind, 1, 5, 6)) == [(10, True)], "the strongest fault of the first round"
        assert _restarts(fault(kind, 1, 4, 6), stop) == [(10, True)], "offline before"
        assert _restarts(stop, fault(kind, 1, 7, 12)) == [(12, kind == "disk_loss")], "later, while it is down"
    assert _restarts({"kind": "rack_loss", "rack": "r", "from_round": 5, "to_round": 10}) == [(10, True)]
    assert _restarts(fault("broker_pause", 1, 4, 8), stop) == [(10, False)]
    assert _restarts(fault("broker_crash", 1, 5, 10), fault("controlled_shutdown", 1, 15, 20)) == [(10, True), (20, False)]


@pytest.mark.parametrize("kind", ["controlled_shutdown", "broker_crash"])
def test_the_last_replica_comes_back(kind: str) -> None:
    """After a clean stop it is in ELR; else the partition has nobody but its last known leader."""
    result = simulate(elr_case(replicas=[1], topic_config={}, rounds=12, faults=[fault(kind, 1, 2, 8)]), watch=True)
    clean = kind == "controlled_shutdown"
    assert held(result, 7) == (NO_LEADER, [], [1], [1])
    assert held(result, 8) == (1, [1], [], [])
    assert result.outcomes["unclean_elections"] == (not clean)
    assert result.violations == []


def test_a_restart_within_the_session_is_still_unclean() -> None:
    """Fenced, out of ELR, and elected as the last known leader in the one round in which its session ends."""
    result = simulate(elr_case(replicas=[1], topic_config={}, rounds=8, faults=[fault("broker_crash", 1, 2, 3)]), watch=True)
    assert [held(result, round_) for round_ in (4, 5)] == [(1, [1], [], []), (1, [1], [], [])]
    assert (result.outcomes["unclean_elections"], result.outcomes["leader_epoch"]) == (1, 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_an_unclean_election_when_elr_is_away(enabled: bool) -> None:
    """Only ELR blocks the last known leader; a replica that was never in it may lead if the topic says so."""
    case = elr_case(
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "elr": [2], "replicas": {}},
        topic_config={"min.insync.replicas": 2, "unclean.leader.election.enable": enabled},
        faults=[*stops(1, 2), fault("link_cut", 3, 0, peer=1)],
    )
    result = simulate(case)
    assert held(result, 0) == ((3, [3], [], []) if enabled else (NO_LEADER, [], [1, 2], [1]))


@pytest.mark.parametrize(("strategy", "leader"), [("aggressive", 3), ("balanced", NO_LEADER), ("none", NO_LEADER)])
def test_aggressive_recovery_does_not_wait_for_elr(strategy: str, leader: int) -> None:
    """3 and 4 answer in the round in which the leader is lost; the last epoch counts before the LEO."""
    logs = {
        1: {"leo": 9, "hw": 2, "epochs": [[0, 0], [2, 2]]},
        2: {"leo": 9, "hw": 2, "epochs": [[0, 0], [2, 2]]},
        3: {"leo": 4, "hw": 2, "epochs": [[0, 0], [1, 3]]},
        4: {"leo": 5, "hw": 2, "epochs": [[0, 0]]},
    }
    case = elr_case(
        replicas=[1, 2, 4, 3],
        initial={"leader": 1, "leader_epoch": 2, "isr": [1, 2], "replicas": logs},
        topic_config={
            "min.insync.replicas": 2,
            "unclean.recovery.strategy": strategy,
            "unclean.leader.election.enable": strategy != "none",
        },
        faults=stops(1, 2),
        rounds=3,
    )
    result = simulate(case)
    elr, last_known = [1, 2], [1] if strategy == "none" else []
    assert held(result, 0) == (NO_LEADER, [], elr, last_known)
    assert held(result, 1) == ((3, [3], [], []) if leader == 3 else (NO_LEADER, [], elr, last_known))


def test_what_aggressive_recovery_asked_balanced_recovery_waits_with() -> None:
    """Both of ELR are away, and the strategy is another when the answers are there: of ELR nobody is given up."""
    given: dict[str, Any] = {"initial": {"leader": 1, "leader_epoch": 2, "isr": [1, 2], "replicas": {}}, "faults": stops(1, 2)}
    commands = [{"round": 1, "kind": "alter_config", "config": {"unclean.recovery.strategy": "balanced"}}]
    topic_config = {"min.insync.replicas": 2, "unclean.recovery.strategy": "aggressive"}
    result = simulate(elr_case(topic_config=topic_config, commands=commands, rounds=3, **given))
    assert held(result, 2) == (NO_LEADER, [], [1, 2], [])
    assert held(simulate(elr_case(topic_config=topic_config, rounds=3, **given)), 2)[0] == 3


def test_equal_answers_go_by_replica_order() -> None:
    case = elr_case(
        replicas=[1, 3, 2, 4],
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "replicas": {}},
        topic_config={"min.insync.replicas": 2, "unclean.recovery.strategy": "aggressive"},
        faults=[*stops(1), *[fault("link_cut", broker, 0, peer=1) for broker in (2, 3, 4)]],
        rounds=2,
    )
    assert held(simulate(case), 1)[:2] == (3, [3])


def test_a_change_of_the_minimum_isr_forgets_elr() -> None:
    case = elr_case(
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "elr": [2], "replicas": {}},
        faults=[*stops(2, 3)],
        commands=[
            {"round": 2, "kind": "alter_config", "broker": 1, "config": {"replica.fetch.max.bytes": 1}},
            {"round": 4, "kind": "alter_config", "config": {"min.insync.replicas": 2}},
        ],
        rounds=6,
    )
    result = simulate(case)
    assert [held(result, round_)[2] for round_ in range(6)] == [[2]] * 4 + [[]] * 2


def test_a_reassignment_keeps_elr_within_the_replicas() -> None:
    """To 1 and 3 it does not come to its end, as 3 is not in the ISR; to 1 alone it does."""
    case = elr_case(
        topic_config={"min.insync.replicas": 3},
        faults=[fault("controlled_shutdown", 2, 1), fault("controlled_shutdown", 3, 2)],
        commands=[{"round": 4, "kind": "reassign", "replicas": [1, 3]}, {"round": 5, "kind": "reassign", "replicas": [1]}],
        rounds=7,
    )
    result = simulate(case, watch=True)
    assert held(result, 3) == (1, [1], [2, 3], [])
    assert held(result, 4) == (1, [1], [2, 3], [])
    assert held(result, 5) == (1, [1], [], [])
    assert result.violations == []


def test_an_initial_partition_without_anybody() -> None:
    """The ISR may be empty at the start."""
    case = elr_case(initial={"leader": NO_LEADER, "leader_epoch": 4, "isr": [], "elr": [2], "replicas": {}}, rounds=4)
    result = simulate(case, watch=True)
    assert held(result, 0)[:2] == (2, [2])
    assert result.outcomes["isr"] == [1, 2, 3]
    assert result.outcomes["elr"] == []


def test_without_the_feature_nothing_is_eligible() -> None:
    case = elr_case(
        features={"eligible.leader.replicas.version": 0},
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "elr": [2], "replicas": {}},
        faults=stops(1, 2, 3),
        rounds=2,
    )
    assert held(simulate(case), 1) == (NO_LEADER, [1], [], [])
