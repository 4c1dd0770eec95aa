"""Pieces of cases for the tests of tiered storage."""

from __future__ import annotations

from typing import Any

from .simulate import Result

RECORD_BYTES = 100
ROUND_MS = 500
EVERY_ROUND = {
    "log.retention.check.interval.ms": ROUND_MS,
    "remote.log.manager.task.interval.ms": ROUND_MS,
    "remote.log.storage.system.enable": True,
    "auto.leader.rebalance.enable": False,
    "replica.fetch.backoff.ms": ROUND_MS,
}
KEEP_ALL = {"retention.ms": -1, "retention.bytes": -1}


def tiered_case(config: dict[str, Any] | None = None, topic_config: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """A case of a tiered topic whose tasks run every round, and that keeps everything."""
    return {
        "rounds": 20,
        "round_ms": ROUND_MS,
        "session_timeout_rounds": 2,
        "brokers": [1, 2, 3],
        "racks": {},
        "config": {**EVERY_ROUND, **(config or {})},
        "topic_config": {"remote.storage.enable": True, **KEEP_ALL, **(topic_config or {})},
        "replicas": [1, 2],
        "workload": [],
        "faults": [],
        "commands": [],
        **given,
    }


def shorter_follower(topic_config: dict[str, Any], **given: Any) -> dict[str, Any]:
    """Kafka's 99 -> 79: the leader, 1, has 120 records, of which 100 are copied, and 2, which may lead uncleanly, 80 of them."""
    epochs = [[0, 0]]
    initial = {
        "leader": 1,
        "leader_epoch": 0,
        "isr": [1],
        "replicas": {
            1: given_log(120, epochs, segments=[20, 40, 60, 80, 100]),
            2: given_log(80, epochs, segments=[20, 40, 60]),
        },
        "remote_segments": [remote(base, base + 19, epochs) for base in range(0, 100, 20)],
    }
    unclean = {"segment.bytes": 20 * RECORD_BYTES, "unclean.leader.election.enable": True}
    workload = [produce(6, 9, 20, "1")]
    return tiered_case(topic_config={**unclean, **topic_config}, **{"initial": initial, "workload": workload, **given})


def produce(from_round: int, to_round: int | None = None, records: int = 1, acks: str = "all") -> dict[str, Any]:
    """Records in each of some rounds, one round if the end is not given."""
    return {
        "from_round": from_round,
        "to_round": from_round + 1 if to_round is None else to_round,
        "records_per_round": records,
        "record_bytes": RECORD_BYTES,
        "acks": acks,
    }


def fault(kind: str, from_round: int, to_round: int | None = None, **given: Any) -> dict[str, Any]:
    return {"kind": kind, "from_round": from_round, "to_round": to_round, **given}


def alter(round_: int, **config: Any) -> dict[str, Any]:
    """An alter_config of the topic; `_` in keys is written for `.`."""
    return {"round": round_, "kind": "alter_config", "config": {key.replace("_", "."): value for key, value in config.items()}}


def given_log(leo: int, epochs: list[list[int]], local: int = 0, log_start: int = 0, **given: Any) -> dict[str, Any]:
    """A replica of `initial`, all of it committed."""
    return {
        "log_start_offset": log_start,
        "local_log_start_offset": local,
        "leo": leo,
        "hw": leo,
        "epochs": epochs,
        "record_bytes": RECORD_BYTES,
        **given,
    }


def remote(base: int, end: int, epochs: list[list[int]] | None = None) -> dict[str, Any]:
    """A remote segment of `initial`; `epochs` are all of its log up to its end."""
    row: dict[str, Any] = {"base_offset": base, "end_offset": end, "bytes": (end - base + 1) * RECORD_BYTES}
    return row if epochs is None else {**row, "epochs": epochs}


def at(result: Result, round_: int, broker: int) -> dict[str, Any]:
    """The replica's row at the end of a round."""
    return next(row for row in result.trace if (row["round"], row["broker"]) == (round_, broker))


def states(result: Result, broker: int) -> list[str | None]:
    """The replica's fetch states, round by round."""
    return [row["fetch_state"] for row in result.trace if row["broker"] == broker]


def copied(result: Result) -> list[tuple[int, int]]:
    """What is in remote storage at the end, as (base, end) in order of copying."""
    return [(row["base_offset"], row["end_offset"]) for row in result.remote_segments if row["state"] == "COPY_FINISHED"]


def happened(result: Result, kind: str) -> list[tuple[int, int, int | None, int | None]]:
    """The events of a kind: (round, broker, from, to)."""
    found = [event for event in result.events if event.kind == kind]
    return [(event.round, event.broker, event.from_offset, event.to_offset) for event in found]
