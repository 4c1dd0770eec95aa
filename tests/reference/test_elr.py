"""Eligible leader replicas: Kafka's PartitionChangeBuilderTest, the worked examples of KIP-966, and its invariants.

Brokers of KIP-966 keep their numbers; what a table or a text says is the expected value, not what the code does.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from .broker_status import broker_rounds
from .controller import fence_and_elect
from .elr import change_isr, remove_unclean_restarts
from .kafka import Result, simulate
from .partition import NO_LEADER, Partition
from .random_scenarios import random_batch, random_case, to_toml
from .random_summary import ELR_BRANCHES, summarise
from .rules import MUTANTS
from .small_schedules import SUBJECTS, broken, has_elr, schedule

STRATEGIES = ("none", "balanced", "aggressive")
TIMEOUT = 3
RANDOM_CASES = 400
SEEDS = [seed for seed in range(750) if has_elr(seed)]


def _case(**given: Any) -> dict[str, Any]:
    return {
        "rounds": 30,
        "round_ms": 500,
        "session_timeout_rounds": TIMEOUT,
        "brokers": [1, 2, 3, 4],
        "racks": {},
        "config": {"auto.leader.rebalance.enable": False, "replica.fetch.wait.max.ms": 0},
        "topic_config": {"min.insync.replicas": 2},
        "features": {"eligible.leader.replicas.version": 1},
        "replicas": [1, 2, 3],
        "workload": [],
        "faults": [],
        "commands": [],
        **given,
    }


def _fault(kind: str, broker: int, from_round: int, to_round: int | None = None, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "broker": broker, "from_round": from_round, "to_round": to_round, **given}


def _stops(*brokers: int) -> list[dict[str, Any]]:
    """Clean stops in round 0, for good."""
    return [_fault("controlled_shutdown", broker, 0) for broker in brokers]


def _row(round_: int, records: int, acks: str = "all", to_round: int | None = None) -> dict[str, Any]:
    to_round = round_ + 1 if to_round is None else to_round
    return {"from_round": round_, "to_round": to_round, "records_per_round": records, "record_bytes": 100, "acks": acks}


def _held(result: Result, round_: int) -> tuple[int, list[int], list[int], list[int]]:
    """(leader, ISR, ELR, LK) at the end of a round."""
    row = result.trace_partitions[round_]
    return row["leader"], row["isr"], row["elr"], row["last_known_elr"]


def _broken(result: Result) -> set[str]:
    return {violation.invariant for violation in result.violations}


# PartitionChangeBuilderTest: replicas 1 to 4, min.insync.replicas 3, leader epoch 100.


def _built(
    isr: set[int], elr: set[int], last_known: set[int], strategy: str, leader: int = 1, faults: list[dict[str, Any]] | None = None
) -> Partition:
    case = _case(
        replicas=[1, 2, 3, 4],
        topic_config={"min.insync.replicas": 3, "unclean.recovery.strategy": strategy},
        initial={"leader": leader, "leader_epoch": 100, "isr": sorted(isr), "elr": sorted(elr)},
        faults=faults or [],
    )
    partition = Partition(case)
    partition.controller.last_known_elr = last_known
    return partition


def _controller(partition: Partition) -> tuple[int, int, set[int], set[int], set[int]]:
    controller = partition.controller
    return controller.leader, controller.epoch, controller.isr, controller.elr, controller.last_known_elr


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_isr_shrinks_below_the_minimum(strategy: str) -> None:
    partition = _built({1, 2, 3, 4}, set(), set(), strategy)
    change_isr(partition, {1, 2})
    assert _controller(partition) == (1, 100, {1, 2}, {3, 4}, set())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_isr_expands_to_the_minimum(strategy: str) -> None:
    partition = _built({1, 2}, {3}, {4}, strategy)
    change_isr(partition, {1, 2, 3})
    assert _controller(partition) == (1, 100, {1, 2, 3}, set(), set())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_isr_adds_a_new_member_that_is_not_in_elr(strategy: str) -> None:
    partition = _built({1}, {3}, {2}, strategy)
    change_isr(partition, {1, 4})
    assert _controller(partition) == (1, 100, {1, 4}, {3}, {2})


@pytest.mark.parametrize(("strategy", "last_known"), [("none", set()), ("balanced", {3}), ("aggressive", {3})])
def test_unclean_shutdowns_leave_elr(strategy: str, last_known: set[int]) -> None:
    """The table's LK 3 is what KIP-966 says; Kafka 4.1 has the last leader there only."""
    partition = _built({1}, {2, 3}, set(), strategy, faults=[_fault("broker_crash", 3, 0, 1), *_stops(2)])
    partition.now = TIMEOUT
    assert partition.status(3).unclean_restart
    remove_unclean_restarts(partition)
    assert _controller(partition) == (1, 100, {1}, {2}, last_known)


@pytest.mark.parametrize(("strategy", "last_known"), [("none", set()), ("balanced", {2})])
def test_a_member_of_elr_can_be_elected(strategy: str, last_known: set[int]) -> None:
    partition = _built({1}, {3}, set(last_known), strategy, faults=_stops(1))
    fence_and_elect(partition)
    assert _controller(partition) == (3, 101, {3}, {1}, last_known)
    assert partition.ledger.counts["unclean_elections"] == 0


@pytest.mark.parametrize(("strategy", "last_known"), [("none", {1}), ("balanced", set())])
def test_isr_can_shrink_to_zero(strategy: str, last_known: set[int]) -> None:
    partition = _built({1, 2, 3, 4}, set(), set(), strategy, faults=_stops(1, 2, 3, 4))
    change_isr(partition, set())
    fence_and_elect(partition)
    assert _controller(partition) == (NO_LEADER, 101, set(), {1, 2, 3, 4}, last_known)


def test_members_that_are_fenced_together_leave_one_by_one() -> None:
    """Unlike one change to nobody: 2 leaves an ISR that is still big enough, and the leader comes last."""
    partition = _built({1, 2, 3, 4}, set(), set(), "none", faults=_stops(1, 2, 3, 4))
    fence_and_elect(partition)
    assert _controller(partition) == (NO_LEADER, 101, set(), {1, 3, 4}, {1})


def test_the_last_known_leader_is_elected() -> None:
    partition = _built(set(), set(), {1}, "none", leader=NO_LEADER)
    fence_and_elect(partition)
    assert _controller(partition) == (1, 101, {1}, set(), set())
    assert partition.ledger.counts["unclean_elections"] == 1


def test_the_last_known_leader_is_not_elected_past_elr() -> None:
    partition = _built(set(), {3}, {1}, "none", leader=NO_LEADER, faults=_stops(3))
    fence_and_elect(partition)
    assert _controller(partition) == (NO_LEADER, 100, set(), {3}, {1})


# KIP-966's examples


def _last_replica_standing(**given: Any) -> Result:
    """3 leads; 1 and then 2 are cut off; 3 loses its page cache and comes back; at last 1 and 2 do."""
    case = _case(
        replicas=[3, 1, 2],
        rounds=40,
        workload=[_row(1, 2, to_round=12)],
        faults=[_fault("isolation", 1, 3, 26), _fault("isolation", 2, 7, 26), _fault("power_loss", 3, 14, 16)],
        **given,
    )
    return simulate(case, watch=True)


def test_last_replica_standing_without_elr() -> None:
    result = _last_replica_standing(features={"eligible.leader.replicas.version": 0})
    assert [row["isr"] for row in result.trace_partitions][13:24] == [[3]] * 11
    assert result.outcomes["leader"] == 3
    assert result.outcomes["acked_lost"] == result.outcomes["acked"] == result.outcomes["committed_lost"] > 0
    assert {"LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"} <= _broken(result)


@pytest.mark.parametrize("strategy", ["none", "balanced"])
def test_last_replica_standing_with_elr(strategy: str) -> None:
    result = _last_replica_standing(topic_config={"min.insync.replicas": 2, "unclean.recovery.strategy": strategy})
    assert _held(result, 9) == (3, [2, 3], [], []), "1 was fenced in round 6"
    assert _held(result, 10) == (3, [3], [2], []), "2 in round 10"
    assert _held(result, 17) == (NO_LEADER, [], [2], [3]), "3 was fenced in round 17 and came back at once"
    assert _held(result, 25) == _held(result, 17)
    assert _held(result, 26)[0] == 2
    assert result.outcomes["isr"] == [1, 2, 3]
    assert result.outcomes["unclean_elections"] == 0
    assert result.outcomes["acked"] > 0
    assert result.outcomes["acked_lost"] == result.outcomes["committed_lost"] == 0
    assert result.violations == []


def test_worked_example() -> None:
    """5.2.2: what each step leaves."""
    case = _case(
        config={**_case()["config"], "replica.lag.time.max.ms": 1000},
        workload=[_row(0, 1, "1", to_round=10)],
        faults=[
            _fault("controlled_shutdown", 2, 2),
            _fault("link_cut", 3, 4, 12, peer=1),
            _fault("broker_crash", 1, 9, 10),
        ],
    )
    result = simulate(case, watch=True)
    states = [_held(result, round_) for round_ in range(30)]
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
    case = _case(
        topic_config={"min.insync.replicas": 2, "unclean.recovery.strategy": "balanced"},
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2, 3], "replicas": logs},
        faults=[_fault("power_loss", 1, 0, 7), _fault("power_loss", 2, 1, 9), _fault("power_loss", 3, 2, 11)],
    )
    result = simulate(case, watch=True)
    assert _held(result, 3) == (2, [2, 3], [], []), "1 is fenced"
    assert _held(result, 4) == (3, [3], [2], []), "2 is fenced"
    assert _held(result, 5) == (NO_LEADER, [], [2, 3], []), "3 is fenced"
    assert _held(result, 7) == _held(result, 8) == (NO_LEADER, [], [2, 3], []), "1 is back"
    assert _held(result, 9) == _held(result, 10) == (NO_LEADER, [], [3], [2]), "2 is back"
    assert _held(result, 11) == (NO_LEADER, [], [], [2, 3]), "3 is back; 2 and 3 are asked"
    assert _held(result, 12)[:2] == (2, [2])
    assert result.outcomes["unclean_elections"] == 1
    assert result.outcomes["committed_lost"] == 0
    assert result.outcomes["leo"] == 12
    assert result.outcomes["isr"] == [1, 2, 3]


@pytest.mark.parametrize("mutant", [None, "high-watermark-over-committed-isr"])
def test_why_maximal_isr(mutant: str | None) -> None:
    """6.5.2: 3 asked to join, then hears no more; the controller lets it in only when it is back, and then elects it."""
    case = _case(
        replicas=[1, 3, 2],
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": {}},
        workload=[_row(3, 10)],
        faults=[
            {"kind": "controller_loss", "from_round": 1, "to_round": 7},
            _fault("link_cut", 3, 0, 1, peer=1),
            _fault("link_cut", 3, 3, 20, peer=1),
            _fault("controlled_shutdown", 1, 8),
        ],
        **({} if mutant is None else {"rules": MUTANTS[mutant]}),
    )
    case["initial"]["replicas"] = {
        1: {"leo": 0, "hw": 0, "epochs": [[0, 0]]},
        2: {"leo": 0, "hw": 0, "epochs": []},
        3: {"leo": 0, "hw": 0, "epochs": []},
    }
    result = simulate(case, watch=True)
    assert _held(result, 6)[:2] == (1, [1, 2])
    assert _held(result, 7)[:2] == (1, [1, 2, 3])
    assert _held(result, 8)[:2] == (3, [2, 3])
    assert result.outcomes["committed_lost"] == (0 if mutant is None else 10)
    assert ("LeaderCompleteness" in _broken(result)) == (mutant is not None)


@pytest.mark.parametrize("mutant", [None, "hw-below-min-isr"])
def test_below_the_minimum_only_the_held_high_watermark_saves_elr(mutant: str | None) -> None:
    """6.5.2: ISR {1}, ELR {2}; 3 caught up, so the maximal ISR is {1, 3}; then 1 goes, and 2 is elected."""
    logs = {broker: {"leo": 0, "hw": 0, "epochs": [[0, 0]] if broker == 1 else []} for broker in (1, 2, 3)}
    case = _case(
        initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": logs},
        workload=[_row(7, 5, "1")],
        faults=[
            _fault("isolation", 2, 1, 15),
            _fault("link_cut", 3, 0, 7, peer=1),
            {"kind": "controller_loss", "from_round": 6, "to_round": 11},
            _fault("broker_crash", 1, 10),
        ],
        **({} if mutant is None else {"rules": MUTANTS[mutant]}),
    )
    result = simulate(case, watch=True)
    assert _held(result, 4) == (1, [1], [2], []), "2 is fenced"
    assert _held(result, 14) == (NO_LEADER, [], [1, 2], [1]), "1 is fenced"
    assert _held(result, 15) == (2, [2], [1], [])
    assert result.outcomes["committed_lost"] == (0 if mutant is None else 5)
    assert ("LeaderCompleteness" in _broken(result)) == (mutant is not None)


_PENDING_JOIN = _case(
    replicas=[1, 3, 2],
    rounds=12,
    initial={"leader": 1, "leader_epoch": 0, "isr": [1, 2], "replicas": {}},
    workload=[_row(0, 1)],
    faults=[
        _fault("link_cut", 3, 0, 2, peer=1),
        _fault("stale_metadata", 1, 1, 6),
        _fault("disk_loss", 3, 4, 5),
        _fault("link_cut", 3, 4, peer=1),
        _fault("controlled_shutdown", 1, 8),
    ],
)


def test_a_pending_join_does_not_outlive_a_restart() -> None:
    """3 asks to join while 1 hears nothing, loses its disk and restarts; KIP-903: the controller knows it for another."""
    result = simulate(_PENDING_JOIN, watch=True)
    assert _broken(result) == set()
    assert result.outcomes["committed_lost"] == 0


# Other rules of the page


def test_an_unclean_broker_that_stays_in_elr_loses_committed_records() -> None:
    """The last replica standing again, but 3 is first in ELR when it comes back."""
    result = _last_replica_standing(rules=MUTANTS["unclean-kept-in-elr"])
    assert _held(result, 17)[:2] == (3, [3])
    assert result.outcomes["unclean_elections"] == 0
    assert result.outcomes["acked_lost"] == result.outcomes["acked"] > 0
    assert {"LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"} <= _broken(result)


def _restarts(*faults: dict[str, Any]) -> list[tuple[int, bool]]:
    """Rounds of restarts of broker 1, and whether each was unclean."""
    history = broker_rounds(1, "r", faults, 30, TIMEOUT)
    assert not any(status.unclean_restart and not status.restarted for status in history)
    return [(round_, status.unclean_restart) for round_, status in enumerate(history) if status.restarted]


def test_clean_and_unclean_stops() -> None:
    stop = _fault("controlled_shutdown", 1, 5, 10)
    assert _restarts(stop) == [(10, False)]
    for kind in ("broker_crash", "power_loss", "disk_loss"):
        assert _restarts(_fault(kind, 1, 5, 10)) == [(10, True)]
        assert _restarts(stop, _fault(kind, 1, 5, 6)) == [(10, True)], "the strongest fault of the first round"
        assert _restarts(_fault(kind, 1, 4, 6), stop) == [(10, True)], "offline before"
        assert _restarts(stop, _fault(kind, 1, 7, 12)) == [(12, kind == "disk_loss")], "later, while it is down"
    assert _restarts({"kind": "rack_loss", "rack": "r", "from_round": 5, "to_round": 10}) == [(10, True)]
    assert _restarts(_fault("broker_pause", 1, 4, 8), stop) == [(10, False)]
    assert _restarts(_fault("broker_crash", 1, 5, 10), _fault("controlled_shutdown", 1, 15, 20)) == [(10, True), (20, False)]


@pytest.mark.parametrize("kind", ["controlled_shutdown", "broker_crash"])
def test_the_last_replica_comes_back(kind: str) -> None:
    """After a clean stop it is in ELR; else the partition has nobody but its last known leader."""
    result = simulate(_case(replicas=[1], topic_config={}, rounds=12, faults=[_fault(kind, 1, 2, 8)]), watch=True)
    clean = kind == "controlled_shutdown"
    assert _held(result, 7) == (NO_LEADER, [], [1], [1])
    assert _held(result, 8) == (1, [1], [], [])
    assert result.outcomes["unclean_elections"] == (not clean)
    assert result.violations == []


def test_a_restart_within_the_session_is_still_unclean() -> None:
    """Fenced, out of ELR, and elected as the last known leader in the one round in which its session ends."""
    result = simulate(_case(replicas=[1], topic_config={}, rounds=8, faults=[_fault("broker_crash", 1, 2, 3)]), watch=True)
    assert [_held(result, round_) for round_ in (4, 5)] == [(1, [1], [], []), (1, [1], [], [])]
    assert (result.outcomes["unclean_elections"], result.outcomes["leader_epoch"]) == (1, 2)


@pytest.mark.parametrize("enabled", [True, False])
def test_an_unclean_election_when_elr_is_away(enabled: bool) -> None:
    """Only ELR blocks the last known leader; a replica that was never in it may lead if the topic says so."""
    case = _case(
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "elr": [2], "replicas": {}},
        topic_config={"min.insync.replicas": 2, "unclean.leader.election.enable": enabled},
        faults=[*_stops(1, 2), _fault("link_cut", 3, 0, peer=1)],
    )
    result = simulate(case)
    assert _held(result, 0) == ((3, [3], [], []) if enabled else (NO_LEADER, [], [1, 2], [1]))


@pytest.mark.parametrize(("strategy", "leader"), [("aggressive", 3), ("balanced", NO_LEADER), ("none", NO_LEADER)])
def test_aggressive_recovery_does_not_wait_for_elr(strategy: str, leader: int) -> None:
    """3 and 4 answer in the round in which the leader is lost; the last epoch counts before the LEO."""
    logs = {
        1: {"leo": 9, "hw": 2, "epochs": [[0, 0], [2, 2]]},
        2: {"leo": 9, "hw": 2, "epochs": [[0, 0], [2, 2]]},
        3: {"leo": 4, "hw": 2, "epochs": [[0, 0], [1, 3]]},
        4: {"leo": 5, "hw": 2, "epochs": [[0, 0]]},
    }
    case = _case(
        replicas=[1, 2, 4, 3],
        initial={"leader": 1, "leader_epoch": 2, "isr": [1, 2], "replicas": logs},
        topic_config={
            "min.insync.replicas": 2,
            "unclean.recovery.strategy": strategy,
            "unclean.leader.election.enable": strategy != "none",
        },
        faults=_stops(1, 2),
        rounds=3,
    )
    result = simulate(case)
    elr, last_known = [1, 2], [1] if strategy == "none" else []
    assert _held(result, 0) == (NO_LEADER, [], elr, last_known)
    assert _held(result, 1) == ((3, [3], [], []) if leader == 3 else (NO_LEADER, [], elr, last_known))


def test_equal_answers_go_by_replica_order() -> None:
    case = _case(
        replicas=[1, 3, 2, 4],
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "replicas": {}},
        topic_config={"min.insync.replicas": 2, "unclean.recovery.strategy": "aggressive"},
        faults=[*_stops(1), *[_fault("link_cut", broker, 0, peer=1) for broker in (2, 3, 4)]],
        rounds=2,
    )
    assert _held(simulate(case), 1)[:2] == (3, [3])


def test_a_change_of_the_minimum_isr_forgets_elr() -> None:
    case = _case(
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "elr": [2], "replicas": {}},
        faults=[*_stops(2, 3)],
        commands=[
            {"round": 2, "kind": "alter_config", "broker": 1, "config": {"replica.fetch.max.bytes": 1}},
            {"round": 4, "kind": "alter_config", "config": {"min.insync.replicas": 2}},
        ],
        rounds=6,
    )
    result = simulate(case)
    assert [_held(result, round_)[2] for round_ in range(6)] == [[2]] * 4 + [[]] * 2


def test_a_reassignment_keeps_elr_within_the_replicas() -> None:
    case = _case(
        topic_config={"min.insync.replicas": 3},
        faults=[_fault("controlled_shutdown", 2, 1), _fault("controlled_shutdown", 3, 2)],
        commands=[{"round": 4, "kind": "reassign", "replicas": [1, 3]}],
        rounds=6,
    )
    result = simulate(case, watch=True)
    assert _held(result, 3) == (1, [1], [2, 3], [])
    assert _held(result, 4) == (1, [1], [3], [])
    assert result.violations == []


def test_an_initial_partition_without_anybody() -> None:
    """The ISR may be empty at the start."""
    case = _case(initial={"leader": NO_LEADER, "leader_epoch": 4, "isr": [], "elr": [2], "replicas": {}}, rounds=4)
    result = simulate(case, watch=True)
    assert _held(result, 0)[:2] == (2, [2])
    assert result.outcomes["isr"] == [1, 2, 3]
    assert result.outcomes["elr"] == []


def test_without_the_feature_nothing_is_eligible() -> None:
    case = _case(
        features={"eligible.leader.replicas.version": 0},
        initial={"leader": 1, "leader_epoch": 0, "isr": [1], "elr": [2], "replicas": {}},
        faults=_stops(1, 2, 3),
        rounds=2,
    )
    assert _held(simulate(case), 1) == (NO_LEADER, [1], [], [])


def test_random_cases_keep_the_invariants_and_reach_rare_branches() -> None:
    reached: Counter[str] = Counter()
    for seed in range(RANDOM_CASES):
        reached.update(simulate(random_case(seed, elr=True)).coverage)
    assert {branch for branch in ELR_BRANCHES if reached[branch] < 3} == set(), summarise(reached, ELR_BRANCHES)


def test_the_scenario_file_has_what_elr_needs() -> None:
    text = to_toml(random_batch(1, 60, elr=True))
    assert 'features = { "eligible.leader.replicas.version" = 1 }' in text
    assert any(line.startswith("elr = [") and line != "elr = []" for line in text.splitlines())


def _bad(name: str, seeds: list[int]) -> set[str]:
    return {invariant for invariant, found in broken(SUBJECTS[name], seeds).items() if found}


def test_kafka_breaks_nothing() -> None:
    assert _bad("kafka", SEEDS) == set()


def test_one_unclean_stop_takes_no_unclean_election() -> None:
    """The promise of KIP-966: with min.insync.replicas 2 one of ISR and ELR is left."""
    checked = 0
    for case in map(schedule, SEEDS):
        stops = sum(status.unclean_restart for history in Partition(case).history.values() for status in history)
        if stops <= 1 and case["topic_config"]["unclean.recovery.strategy"] != "aggressive":
            assert simulate(case).outcomes["unclean_elections"] == 0
            checked += 1
    assert checked > len(SEEDS) / 4


@pytest.mark.parametrize("name", ["unclean-kept-in-elr", "hw-below-min-isr"])
def test_random_schedules_break_what_elr_needs(name: str) -> None:
    lost = {"LeaderCandidateCompleteness", "LeaderCompleteness", "NoCommittedRecordLost", "NoAckedRecordLost"}
    assert lost <= _bad(name, SEEDS)
