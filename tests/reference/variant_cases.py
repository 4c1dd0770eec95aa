"""Cases of the protocol variants: three brokers, sessions of three rounds; and what is read from their results."""

from __future__ import annotations

from typing import Any

from .kafka import Result


def variant_case(**given: Any) -> dict[str, Any]:
    return {
        "rounds": 30,
        "round_ms": 500,
        "session_timeout_rounds": 3,
        "brokers": [1, 2, 3],
        "racks": {},
        "config": {"auto.leader.rebalance.enable": False, "replica.fetch.wait.max.ms": 0},
        "topic_config": {},
        "workload": [],
        "faults": [],
        "commands": [],
        **given,
    }


def batches_of(*batches: tuple[int, int], acks: str = "1") -> list[dict[str, Any]]:
    """Workload rows, one batch each: (round, records)."""
    return [
        {"from_round": round_, "to_round": round_ + 1, "records_per_round": records, "record_bytes": 100, "acks": acks}
        for round_, records in batches
    ]


def fault(kind: str, broker: int, from_round: int, to_round: int | None = None, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "broker": broker, "from_round": from_round, "to_round": to_round, **given}


def led_by(leader: int, epoch: int = 0, **logs: tuple[int, int, list[list[int]]]) -> dict[str, Any]:
    """Initial logs, b1=(LEO, HW, epochs) for broker 1."""
    replicas = {int(name[1:]): {"leo": leo, "hw": hw, "epochs": epochs} for name, (leo, hw, epochs) in logs.items()}
    return {"leader": leader, "leader_epoch": epoch, "isr": sorted(replicas), "replicas": replicas}


EMPTY: tuple[int, int, list[list[int]]] = (0, 0, [])


def prefer(round_: int) -> dict[str, Any]:
    return {"round": round_, "kind": "preferred_leader_election"}


def reassign(round_: int, *replicas: int) -> dict[str, Any]:
    """The same replicas in this order: the same leader in a new epoch."""
    return {"round": round_, "kind": "reassign", "replicas": list(replicas)}


def epochs_of(result: Result, broker: int) -> list[int]:
    """The epoch of each record of the replica's log at the end."""
    return [record.epoch for record in result.logs[broker].records]


def invariants_of(result: Result) -> set[str]:
    return {violation.invariant for violation in result.violations}


def first_violations(result: Result) -> tuple[int, set[str]]:
    """The first round with violations, and which."""
    round_ = result.violations[0].round
    return round_, {violation.invariant for violation in result.violations if violation.round == round_}


def fetch_states(result: Result, broker: int) -> list[str | None]:
    return [row["fetch_state"] for row in result.trace if row["broker"] == broker]


def cuts_of(result: Result, broker: int) -> list[tuple[int, int, int]]:
    """(round, from, to) of the replica's truncations."""
    events = [event for event in result.events if event.kind == "truncate" and event.broker == broker]
    return [(event.round, event.from_offset or 0, event.to_offset or 0) for event in events]
