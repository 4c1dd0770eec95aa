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
