"""The cases of a scenario file, for the reference: one for each scenario and topic, all of one partition."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from emulator.scenario.model import Run, Scenario, Topic

from .rules import MUTANTS

MUTANT_PREFIX = "kafka-mutant-"


def cases_of_run(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    """(scenario name, topic) -> the case as `simulate` takes it."""
    return {(scenario.name, topic.name): _case(scenario, topic) for scenario in run.scenarios for topic in scenario.topics}


def _case(scenario: Scenario, topic: Topic) -> dict[str, Any]:
    assert topic.partitions == 1, f"{topic.name} has {topic.partitions} partitions"
    replicas = [int(broker) for broker in topic.assignment[0] if broker >= 0]
    mutant = scenario.protocol.startswith(MUTANT_PREFIX)
    return {
        "protocol": "kafka" if mutant else scenario.protocol,
        **({"rules": MUTANTS[scenario.protocol.removeprefix(MUTANT_PREFIX)]} if mutant else {}),
        "rounds": scenario.rounds,
        "round_ms": scenario.round_ms,
        "session_timeout_rounds": scenario.session_timeout_rounds,
        "fetches_per_round": scenario.fetching.per_round,
        "fetch_round_trip_ms": scenario.fetching.round_trip_us / 1000,
        "fetch_bytes_per_second": scenario.fetching.bytes_per_second,
        "fetch_wait_us": _fetch_wait_us(scenario),
        "seed": scenario.seed,
        "number": [other.name for other in scenario.topics].index(topic.name),
        "brokers": [broker.id for broker in scenario.brokers],
        "racks": {broker.id: broker.rack for broker in scenario.brokers},
        "config": dict(scenario.config),
        "topic_config": dict(topic.config),
        "features": dict(scenario.features),
        "replicas": replicas,
        "workload": _of_topic(scenario.workload.to_pylist(), topic.name),
        "faults": _faults(scenario, topic.name),
        "all_faults": [{key: given for key, given in row.items() if given is not None} for row in scenario.faults.to_pylist()],
        "commands": _of_topic([vars(command) for command in scenario.commands], topic.name),
        "initial": _initial(scenario, topic.name, replicas),
    }


def _of_topic(rows: list[dict[str, Any]], topic: str) -> list[dict[str, Any]]:
    """The rows that concern the topic, without the keys that they have no use for."""
    return [
        {key: value for key, value in row.items() if value is not None and key != "topic"}
        for row in rows
        if row["topic"] is None or fnmatchcase(topic, row["topic"])
    ]


def _faults(scenario: Scenario, topic: str) -> list[dict[str, Any]]:
    """A stale_metadata without a broker becomes one for each broker."""
    rows = _of_topic(scenario.faults.to_pylist(), topic)
    everyone = [broker.id for broker in scenario.brokers]
    return [
        {**row, "broker": broker}
        for row in rows
        for broker in (everyone if row["kind"] == "stale_metadata" and "broker" not in row else [row.get("broker")])
    ]


def _initial(scenario: Scenario, topic: str, replicas: list[int]) -> dict[str, Any] | None:
    known = _of_topic(scenario.initial_partitions.to_pylist(), topic)
    logs = _of_topic(scenario.initial_replicas.to_pylist(), topic)
    if not known and not logs:
        return None
    given = {key: known[0][key] for key in ("leader", "leader_epoch", "isr", "elr") if known and key in known[0]}
    return {
        "leader": replicas[0],
        **given,
        "replicas": {
            row["broker"]: {
                **{key: value for key, value in row.items() if key not in ("broker", "partition")},
                "hw": row.get("hw", row["leo"]),
                "epochs": [[entry["epoch"], entry["start_offset"]] for entry in row.get("epochs", ())],
            }
            for row in logs
        },
    }


def _fetch_wait_us(scenario: Scenario) -> int:
    """How long a fetch waits for replica.fetch.min.bytes: of the pairs of first replicas and others, each with its fetchers."""
    min_bytes = int(scenario.config.get("replica.fetch.min.bytes", 1))
    max_us = int(scenario.config.get("replica.fetch.wait.max.ms", 500)) * 1000
    if min_bytes <= 1:
        return 0
    partitions: dict[tuple[int, int], int] = {}
    sent = 0.0
    for topic in scenario.topics:
        rows = _of_topic(scenario.workload.to_pylist(), topic.name)
        for first, *others in ([int(b) for b in replicas if b >= 0] for replicas in topic.assignment):
            for other in others:
                partitions[first, other] = partitions.get((first, other), 0) + 1
            for row in rows:
                rate = row.get("records_per_second")
                records = row["records_per_round"] * 1000 / scenario.round_ms if rate is None else rate
                rounds = max(0, min(row["to_round"], scenario.rounds) - row["from_round"])
                sent += len(others) * records * row["record_bytes"] * rounds / scenario.rounds
    fetchers = sum(min(count, int(scenario.config.get("num.replica.fetchers", 1))) for count in partitions.values())
    return max_us if not sent or not fetchers else min(max_us, int(min_bytes * 1_000_000 / (sent / fetchers)))
