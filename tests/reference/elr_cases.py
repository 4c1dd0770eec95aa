"""Cases of eligible leader replicas: replicas 1 to 3 of four brokers, min.insync.replicas 2, sessions of three rounds."""

from __future__ import annotations

from typing import Any

from .kafka import Result
from .variant_cases import fault

TIMEOUT = 3


def elr_case(**given: Any) -> dict[str, Any]:
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


def stops(*brokers: int) -> list[dict[str, Any]]:
    """Clean stops in round 0, for good."""
    return [fault("controlled_shutdown", broker, 0) for broker in brokers]


def row_of(round_: int, records: int, acks: str = "all", to_round: int | None = None) -> dict[str, Any]:
    to_round = round_ + 1 if to_round is None else to_round
    return {"from_round": round_, "to_round": to_round, "records_per_round": records, "record_bytes": 100, "acks": acks}


def held(result: Result, round_: int) -> tuple[int, list[int], list[int], list[int]]:
    """(leader, ISR, ELR, LK) at the end of a round."""
    row = result.trace_partitions[round_]
    return row["leader"], row["isr"], row["elr"], row["last_known_elr"]


# PartitionChangeBuilderTest: replicas 1 to 4, min.insync.replicas 3, leader epoch 100.
