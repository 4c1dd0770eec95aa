"""KIP-1303: elections prefer who has enough of the log itself."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import RECORD_BYTES, at, fault, given_log, produce, remote, tiered_case
from .election import LocalLog, is_enough, preferred_first
from .partition import TieredPartition
from .simulate import Result, simulate

BYTES = "leader.election.eligible.local.log.bytes"
MS = "leader.election.eligible.local.log.ms"


def _case(topic_config: dict[str, Any], **given: Any) -> dict[str, Any]:
    """1 has 10 records itself, 2, which leads, 80, 3 has 50; five more a round, and nothing is copied or deleted."""
    logs = {1: 90, 2: 20, 3: 50}
    initial = {
        "leader": 2,
        "leader_epoch": 0,
        "isr": [1, 2, 3],
        "replicas": {broker: given_log(100, [[0, 0]], local=local) for broker, local in logs.items()},
        "remote_segments": [remote(0, 89, [[0, 0]])],
    }
    workload = [produce(0, 40, 5)]
    return tiered_case(
        topic_config=topic_config, **{"replicas": [1, 2, 3], "initial": initial, "workload": workload, "rounds": 30, **given}
    )


def _leaders(result: Result) -> list[int]:
    return [row["leader"] for row in result.trace_partitions]


LEADER_DIES = [fault("broker_crash", 2, broker=2)]


@pytest.mark.parametrize(
    ("records", "leader"),
    [(-1, 1), (20, 1), (21, 3), (60, 3), (61, 1)],
    ids=["off", "all have it", "one has it not", "one just has it", "nobody has it"],
)
def test_who_leads_after_the_leader(records: int, leader: int) -> None:
    """2 dies in round 2 and is fenced in round 4; by the end of round 3 the logs of 1 and 3 have not grown in rounds 2, 3."""
    bytes_ = records * RECORD_BYTES if records > 0 else records
    result = simulate(_case({BYTES: bytes_}, faults=LEADER_DIES), watch=True)
    assert [at(result, 3, broker)["local_bytes"] for broker in (1, 3)] == [20 * RECORD_BYTES, 60 * RECORD_BYTES]
    assert _leaders(result)[3:5] == [2, leader]
    assert result.trace_partitions[4]["isr"] == [1, 3]
    assert result.violations == []


def test_the_preferred_leader_waits_until_it_has_enough() -> None:
    """1 has 10 + 5 (r + 1) records at the end of round r: 40 in round 5, which the controller knows in round 6."""
    for round_, leader in ((5, 2), (6, 1)):
        command = {"round": round_, "kind": "preferred_leader_election"}
        result = simulate(_case({BYTES: 40 * RECORD_BYTES}, commands=[command]), watch=True)
        assert at(result, 5, 1)["local_bytes"] == 40 * RECORD_BYTES
        assert set(_leaders(result)[:round_]) == {2}
        assert set(_leaders(result)[round_:]) == {leader}


def test_while_the_controller_is_away_it_hears_nothing() -> None:
    """It is back in round 8 and knows of round 3, when 1 had 30 records; in round 9 it knows of round 8."""
    for round_, leader in ((8, 2), (9, 1)):
        command = {"round": round_, "kind": "preferred_leader_election"}
        faults = [fault("controller_loss", 4, 8)]
        result = simulate(_case({BYTES: 40 * RECORD_BYTES}, commands=[command], faults=faults), watch=True)
        assert _leaders(result)[-1] == leader


def test_automatic_rebalancing_waits_too() -> None:
    config = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 1}
    result = simulate(_case({BYTES: 40 * RECORD_BYTES}, config=config), watch=True)
    assert _leaders(result)[:8] == [2, 2, 2, 2, 2, 2, 1, 1]


def test_the_first_replica_leads_when_the_leader_has_not_enough_either() -> None:
    command = {"round": 2, "kind": "preferred_leader_election"}
    result = simulate(_case({BYTES: 10_000 * RECORD_BYTES}, commands=[command]))
    assert _leaders(result)[:3] == [2, 2, 1]


def test_a_reassignment_without_the_leader() -> None:
    command = {"round": 1, "kind": "reassign", "replicas": [1, 3]}
    leaders = [_leaders(simulate(_case({BYTES: size * RECORD_BYTES}, commands=[command])))[1] for size in (-1, 30)]
    assert leaders == [1, 3]


def test_eligible_leader_replicas() -> None:
    case = _case({BYTES: 30 * RECORD_BYTES, "min.insync.replicas": 3}, features={"eligible.leader.replicas.version": 1})
    case["initial"] = {**case["initial"], "leader": -1, "isr": [], "elr": [1, 3]}
    case["faults"] = [fault("broker_crash", 0, broker=2)]
    assert _leaders(simulate(case))[0] == 3
    case["topic_config"] = {**case["topic_config"], BYTES: -1}
    assert _leaders(simulate(case))[0] == 1


def test_an_unclean_election_goes_by_the_order_of_replicas() -> None:
    case = _case({BYTES: 30 * RECORD_BYTES, "unclean.leader.election.enable": True}, faults=LEADER_DIES)
    case["initial"] = {**case["initial"], "isr": [2]}
    cut = [fault("link_cut", 0, 9, broker=2, peer=peer) for peer in (1, 3)]
    case["faults"] = [*LEADER_DIES, *cut]
    assert _leaders(simulate(case))[4] == 1


def test_a_new_follower_behind_the_upload() -> None:
    """1 is added in round 30 by KIP-1023 and has what was not copied yet: few rounds when 2 dies in round 36."""
    config = {"segment.bytes": 5 * RECORD_BYTES, "local.retention.ms": 10_000}
    given: dict[str, Any] = {
        "replicas": [2, 3],
        "rounds": 60,
        "config": {"follower.fetch.last.tiered.offset.enable": True},
        "workload": [produce(0, 60, 5)],
        "commands": [
            {"round": 30, "kind": "reassign", "replicas": [1, 2, 3]},
            {"round": 45, "kind": "preferred_leader_election"},
        ],
        "faults": [fault("broker_crash", 36, broker=2)],
    }
    off = simulate(tiered_case(topic_config=config, **given), watch=True)
    on = simulate(tiered_case(topic_config={**config, MS: 5_000}, **given), watch=True)
    assert at(on, 37, 1)["local_log_start_offset"] > at(on, 37, 3)["local_log_start_offset"] > 0
    assert [row["isr"] for row in on.trace_partitions[:45]] == [row["isr"] for row in off.trace_partitions[:45]]
    assert (_leaders(off)[38], _leaders(on)[38]) == (1, 3)
    assert _leaders(on)[44:46] == [3, 1]
    assert on.violations == off.violations == []


THRESHOLDS: list[tuple[dict[str, int], list[int]]] = [
    ({}, [1, 2, 3, 4]),
    ({MS: 1000}, [2, 4, 1, 3]),
    ({BYTES: 1000}, [3, 4, 1, 2]),
    ({MS: 1000, BYTES: 1000}, [2, 3, 4, 1]),  # the one or the other
    ({MS: 1001, BYTES: 0}, [4, 1, 2, 3]),
    ({MS: 1, BYTES: 1}, [1, 2, 3, 4]),
]


@pytest.mark.parametrize(("config", "order"), THRESHOLDS, ids=[str(config) for config, _ in THRESHOLDS])
def test_the_order(config: dict[str, int], order: list[int]) -> None:
    """4 has little, but all that there is."""
    partition = TieredPartition(_case(config))
    logs = {
        1: LocalLog(500, 500, False),
        2: LocalLog(1000, 500, False),
        3: LocalLog(500, 1000, False),
        4: LocalLog(500, 500, True),
    }
    partition.has_enough = {broker: is_enough(partition.settings, log) for broker, log in logs.items()}
    assert preferred_first(partition, [1, 2, 3, 4]) == order


@pytest.mark.parametrize("key", [MS, BYTES])
def test_where_everybody_has_all_nothing_changes(key: str) -> None:
    case = tiered_case(
        replicas=[1, 2, 3], topic_config={}, workload=[produce(0, 20)], faults=[fault("broker_crash", 3, 9, broker=1)], rounds=25
    )
    case["commands"] = [{"round": 15, "kind": "preferred_leader_election"}]
    off = simulate(case)
    on = simulate({**case, "topic_config": {**case["topic_config"], key: 1_000_000}})
    assert off.trace == on.trace and off.trace_partitions == on.trace_partitions and off.events == on.events
