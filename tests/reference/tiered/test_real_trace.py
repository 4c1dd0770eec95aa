"""A real tiered cluster (Kafka 4.1.1), step by step: offsets, epochs, segments on disk, ISR, and what ListOffsets says.

A batch is ten records of 100 kB, a segment holds one batch, and every task runs every round. A step is some rounds in
which the partition settles. Some steps were looked at before that; the asserts say which part of them was not yet there.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .simulate import Result, simulate

DATA = Path(__file__).parents[2] / "data" / "tiered"
STEPS: list[dict[str, Any]] = json.loads((DATA / "trace_e.json").read_text())
NAMES = [step["step"] for step in STEPS]
ROUNDS_PER_STEP = 6
RECORD_BYTES = 100_080
SEGMENT_BYTES = 1_048_576

NOT_YET_DELETED = {("12 batches", 1)}
"""(step, broker) whose own retention check was still to come when it was looked at."""
BEFORE_THE_FOLLOWER_BUILT = ("reassign to [2,1,3] +0", "reassign to [2,1,3] +1")


def _round_of(name: str) -> int:
    """The first round of a step."""
    return NAMES.index(name) * ROUNDS_PER_STEP


def _crash(broker: int, from_step: str, to_step: str) -> dict[str, Any]:
    return {"kind": "broker_crash", "broker": broker, "from_round": _round_of(from_step), "to_round": _round_of(to_step)}


def _batches(step: str) -> list[dict[str, Any]]:
    """The batches that were produced in a step, one a round."""
    produced = STEPS[NAMES.index(step)].get("resp") or []
    row = {"records_per_round": 10, "record_bytes": RECORD_BYTES, "acks": "all"}
    first = _round_of(step)
    return [{**row, "from_round": first + i, "to_round": first + i + 1} for i in range(len(produced))]


def real_case() -> dict[str, Any]:
    """The trace as a case."""
    retention = {"retention.bytes": 6_500_000}
    return {
        "rounds": ROUNDS_PER_STEP * len(STEPS),
        "round_ms": 500,
        "session_timeout_rounds": 3,
        "brokers": [1, 2, 3],
        "racks": {},
        "config": {
            "auto.leader.rebalance.enable": False,
            "log.retention.check.interval.ms": 500,
            "remote.log.storage.system.enable": True,
            "remote.log.manager.task.interval.ms": 500,
        },
        "topic_config": {
            "remote.storage.enable": True,
            "segment.bytes": SEGMENT_BYTES,
            "local.retention.bytes": 2_500_000,
        },
        "replicas": [1, 2],
        "workload": [row for step in NAMES for row in _batches(step)],
        "faults": [
            _crash(1, "kill -9 leader 1 -> 2 leads", "restart 1"),
            _crash(2, "kill -9 leader 2", "restart 2"),
        ],
        "commands": [
            {"round": _round_of("reassign to [2,1,3] +0"), "kind": "reassign", "replicas": [2, 1, 3]},
            {"round": _round_of("retention.bytes=6.5MB +0"), "kind": "alter_config", "config": retention},
            {"round": _round_of("DeleteRecords before 95"), "kind": "delete_records", "offset": 95},
        ],
    }


@cache
def _result() -> Result:
    return simulate(real_case(), watch=True)


def _at_end_of(name: str) -> tuple[dict[str, Any], dict[int, dict[str, Any]]]:
    round_ = _round_of(name) + ROUNDS_PER_STEP - 1
    return _result().trace_partitions[round_], {row["broker"]: row for row in _result().trace if row["round"] == round_}


def test_no_invariant_is_violated() -> None:
    assert _result().violations == []


@pytest.mark.parametrize("name", NAMES)
def test_list_offsets(name: str) -> None:
    partition, rows = _at_end_of(name)
    leader = rows[partition["leader"]]
    assert STEPS[NAMES.index(name)]["offsets"] == {
        "earliest": leader["earliest_offset"],
        "earliestLocal": leader["earliest_local_offset"],
        "latestTiered": leader["latest_tiered_offset"],
        "latest": leader["latest_offset"],
    }


@pytest.mark.parametrize("name", NAMES)
def test_replicas(name: str) -> None:
    partition, rows = _at_end_of(name)
    for broker, seen in STEPS[NAMES.index(name)]["brokers"].items():
        if int(broker) not in rows:
            assert seen["leo"] == "NOT_LEADER_OR_FOLLOWER"
            continue
        if name in BEFORE_THE_FOLLOWER_BUILT and broker == "3":
            continue
        row = rows[int(broker)]
        assert row["epochs"] == seen["epochs"]
        if (name, int(broker)) not in NOT_YET_DELETED:
            assert row["local_segments"] == seen["segs"]
        if seen["state"] == "up":
            assert (row["leo"], row["hw"], row["log_start_offset"]) == (seen["leo"], seen["hw"], seen["logStart"])
        else:
            assert row["role"] == "offline"


@pytest.mark.parametrize("name", NAMES)
def test_leader_and_isr(name: str) -> None:
    seen = STEPS[NAMES.index(name)]
    partition, _ = _at_end_of(name)
    assert (partition["leader"], partition["leader_epoch"]) == (seen["leader"], seen["leaderEpoch"])
    if name not in BEFORE_THE_FOLLOWER_BUILT:
        assert partition["isr"] == sorted(seen["isr"])


def test_the_new_follower_before_it_has_built_anything() -> None:
    """The two first looks at the reassignment saw it empty; so it is here until it has built its auxiliary state."""
    first = _round_of("reassign to [2,1,3] +0")
    rows = [row for row in _result().trace if row["broker"] == 3 and first <= row["round"] < first + ROUNDS_PER_STEP]
    seen = STEPS[NAMES.index("reassign to [2,1,3] +0")]["brokers"]["3"]
    states = [row["fetch_state"] for row in rows]
    assert states[1:3] == ["moved_to_tiered_storage", "aux_state_built"]
    for row in rows[:2]:
        assert (row["leo"], row["hw"], row["epochs"]) == (seen["leo"], seen["hw"], seen["epochs"])
        assert row["local_segments"] == seen["segs"]


def test_the_new_follower_starts_at_the_leaders_local_start() -> None:
    events = [event for event in _result().events if event.kind == "aux_state_built"]
    assert [(event.broker, event.from_offset, event.to_offset) for event in events] == [(3, 0, 90)]
    built = next(row for row in _result().trace if row["broker"] == 3 and row["fetch_state"] == "aux_state_built")
    assert built["epochs"] == [[0, 0], [1, 60]]
    assert (built["log_start_offset"], built["local_log_start_offset"], built["leo"], built["hw"]) == (0, 90, 90, 90)


def test_remote_segments_after_retention_and_delete_records() -> None:
    """Retention took 0 to 59, DeleteRecords 60 to 89; the segment with 95 stays, there are 3 left of 12."""
    left = [row for row in _result().remote_segments if row["state"] == "COPY_FINISHED"]
    assert [(row["base_offset"], row["end_offset"]) for row in left] == [(90, 99), (100, 109), (110, 119)]
    assert len(_result().remote_segments) == 12
    assert all(row["in_lineage"] for row in left)


def test_log_start_rises_before_remote_segments_go() -> None:
    rises = {row["round"]: row["log_start_offset"] for row in _result().trace if row["role"] == "leader"}
    for event in _result().events:
        if event.kind == "remote_delete":
            assert event.to_offset is not None and event.to_offset <= rises[event.round]
