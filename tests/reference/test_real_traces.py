"""The reference against traces of real Kafka 4.1.1 brokers: `data/` holds what was seen after every step.

A step of trace_steps.json is some rounds in which the partition settles; a step of fetch_rounds.json is one round in
which only one follower, or none, reaches the leader.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .kafka import Result, simulate

DATA = Path(__file__).parent / "data"
RECORD_BYTES = 100


def _case(replicas: list[int], **given: Any) -> dict[str, Any]:
    return {
        "round_ms": 500,
        "session_timeout_rounds": 3,
        "brokers": [1, 2, 3],
        "racks": {},
        "config": {"auto.leader.rebalance.enable": False},
        "topic_config": {},
        "replicas": replicas,
        "faults": [],
        "commands": [],
        **given,
    }


def _produce(round_: int, records: int, acks: str = "all") -> dict[str, Any]:
    return {
        "from_round": round_,
        "to_round": round_ + 1,
        "records_per_round": records,
        "record_bytes": RECORD_BYTES,
        "acks": acks,
    }


def _fault(kind: str, broker: int, from_round: int, to_round: int | None = None) -> dict[str, Any]:
    return {"kind": kind, "broker": broker, "from_round": from_round, "to_round": to_round}


def _at(result: Result, round_: int) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    rows = {row["broker"]: row for row in result.trace if row["round"] == round_}
    return result.trace_partitions[round_], rows


# The steps' first rounds; a step has settled in the round before the next one.
SCENARIOS: dict[str, tuple[str, str, list[int], dict[str, Any]]] = {
    "a": (
        "a",
        "a",
        [8 * step for step in range(13)],
        _case(
            [1, 2, 3],
            workload=[
                _produce(8, 5),
                _produce(16, 5),
                _produce(32, 4),
                _produce(48, 1),
                _produce(64, 2),
                _produce(80, 1, "1"),
            ],
            faults=[_fault("broker_crash", 1, 24, 40), _fault("controlled_shutdown", 1, 72, 88)],
            commands=[{"round": 56, "kind": "preferred_leader_election"}],
        ),
    ),
    "b": (
        "b",
        "b",
        [0, 4, 8, 12, 16, 34, 44, 50, 60],
        _case(
            [1, 2],
            session_timeout_rounds=18,
            workload=[_produce(0, 10), _produce(8, 7, "1"), _produce(12, 2), _produce(44, 3, "1")],
            faults=[_fault("broker_pause", 2, 4, 16), _fault("broker_crash", 1, 16, 50)],
        ),
    ),
    "b2": (
        "b",
        "b2",
        [0, 4, 10, 28, 34, 42, 52],
        _case(
            [1, 2, 3],
            session_timeout_rounds=18,
            workload=[_produce(0, 5), _produce(5, 4, "1"), _produce(34, 2)],
            faults=[
                _fault("broker_pause", 2, 4, 10),
                _fault("broker_pause", 3, 4, 10),
                _fault("broker_pause", 1, 10, 42),
            ],
        ),
    ),
    "c": (
        "c",
        "c",
        [8 * step for step in range(12)],
        _case(
            [1, 2],
            topic_config={"unclean.leader.election.enable": True},
            workload=[_produce(0, 10), _produce(16, 6), _produce(40, 4), _produce(64, 2), _produce(80, 1)],
            faults=[
                _fault("broker_crash", 2, 8, 32),
                _fault("broker_crash", 1, 24, 56),
                _fault("broker_crash", 2, 48, 72),
            ],
        ),
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_steps_of_a_real_cluster(name: str) -> None:
    trace, topic, starts, case = SCENARIOS[name]
    steps = json.loads((DATA / "trace_steps.json").read_text())[trace]
    steps = [step for step in steps if step["topic"] == topic]
    assert len(steps) == len(starts) - 1
    result = simulate({**case, "rounds": starts[-1]})
    for step, next_start in zip(steps, starts[1:], strict=True):
        partition, rows = _at(result, next_start - 1)
        seen = {key: partition[key] for key in ("leader", "leader_epoch", "isr")}
        assert seen == {key: step[key] for key in seen}, step["step"]
        for broker, expected in step["brokers"].items():
            row = rows[int(broker)]
            assert {key: row[key] for key in expected} == expected, (step["step"], broker)


@pytest.mark.parametrize("index", [0, 1])
def test_fetch_rounds_of_a_real_cluster(index: int) -> None:
    topic = json.loads((DATA / "fetch_rounds.json").read_text())["topics"][index]
    workload, faults, commands = [], [], []
    for round_, (fetching, records, *_) in enumerate(topic["steps"]):
        if not fetching:
            workload.append(_produce(round_, records))
        else:
            size = {"replica.fetch.max.bytes": max(records, 1) * RECORD_BYTES}
            commands.append({"round": round_, "kind": "alter_config", "broker": fetching, "config": size})
        for follower in {2, 3} - {fetching}:
            faults.append({**_fault("link_cut", follower, round_, round_ + 1), "peer": 1, "direction": "both"})
    result = simulate(
        _case(
            [1, 2, 3],
            rounds=len(topic["steps"]),
            config={
                "auto.leader.rebalance.enable": False,
                "replica.lag.time.max.ms": 10_000_000,
                "replica.fetch.wait.max.ms": 0,
            },
            topic_config={"min.insync.replicas": topic["min_insync_replicas"]},
            workload=workload,
            faults=faults,
            commands=commands,
        )
    )
    for round_, (*_, leo, hw, leo_2, hw_2, leo_3, hw_3) in enumerate(topic["steps"]):
        _, rows = _at(result, round_)
        seen = [(rows[broker]["leo"], rows[broker]["hw"]) for broker in (1, 2, 3)]
        assert seen == [(leo, hw), (leo_2, hw_2), (leo_3, hw_3)], f"step {round_}"
