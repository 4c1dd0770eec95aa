"""Writes a random batch as one scenario file (design.md section 5)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

BROKERS_PER_CASE = 10
RACKS = 3
SESSION = "broker.session.timeout.ms"
"""Where the cluster's config has it, it says how long sessions are, not `session_timeout_rounds`."""


def to_toml(batch: Mapping[str, Any]) -> str:
    """The batch as TOML text: every case a topic of one partition; faults and workload in the order of the cases."""
    cluster, cases = batch["cluster"], batch["cases"]
    lines = [
        f'name = "random-{batch["seed"]}"',
        'protocol = "kafka"',
        f"rounds = {cluster['rounds']}",
        f"round_ms = {cluster['round_ms']}",
        f"seed = {batch['seed']}",
        'mode = "plain"',
        "[cluster]",
        f"brokers = {BROKERS_PER_CASE * len(cases)}",
        f"racks = {RACKS}",
        *([] if SESSION in cluster["config"] else [f"session_timeout_rounds = {cluster['session_timeout_rounds']}"]),
        f"config = {value(cluster['config'])}",
        *fetching(cluster),
    ]
    if "features" in cluster:
        lines.append(f"features = {value(cluster['features'])}")
    for fault in cluster["faults"]:
        lines += table("faults", fault)
    for case in cases:
        lines += _case_tables(case)
    for command in cluster.get("commands", ()):
        lines += table("commands", {key: given for key, given in command.items() if key != "every_broker"})
    return "\n".join(lines) + "\n"


FETCHING = ("fetches_per_round", "fetch_round_trip_ms", "fetch_bytes_per_second")


def fetching(case: Mapping[str, Any]) -> list[str]:
    """The lines of [cluster] that say how many fetches a round holds; a case that says nothing of it is of one."""
    given = {key: case[key] for key in FETCHING if case.get(key) is not None}
    return [f"{key} = {number}" for key, number in (given or {"fetches_per_round": 1}).items()]


def _case_tables(case: Mapping[str, Any]) -> list[str]:
    topic = case["topic"]
    lines = table("topics", {"name": topic, "assignment": [case["replicas"]], "config": case["topic_config"]})
    for row in case["workload"]:
        lines += table("workload", {"topic": topic, **row})
    for fault in case["faults"]:
        lines += table("faults", fault)
    for command in case["commands"]:
        place = {} if "broker" in command else {"topic": topic}
        if command["kind"] in ("reassign", "cancel_reassignment", "delete_records"):
            place = {"topic": topic, "partition": 0}
        lines += table("commands", {**command, **place})
    initial = case["initial"] or {}
    if "leader" in initial:
        known = {key: initial[key] for key in ("leader", "leader_epoch", "isr", "elr") if key in initial}
        lines += table("initial.partitions", {"topic": topic, "partition": 0, **known})
    for broker, log in initial.get("replicas", {}).items():
        lines += table("initial.replicas", {"topic": topic, "partition": 0, "broker": broker, **log})
    return lines


def table(name: str, row: Mapping[str, Any]) -> list[str]:
    """An entry of a list of tables as lines."""
    return [f"[[{name}]]", *[f"{key} = {value(one)}" for key, one in row.items()]]


def value(given: Any) -> str:
    """A TOML value; strings, numbers, booleans and lists of them are written as in JSON."""
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f'"{key}" = {value(one)}' for key, one in given.items()) + " }"
    return json.dumps(given)


def to_tables(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """Rows, each with the name of its list of tables, as TOML text."""
    return "\n".join(line for name, row in rows for line in table(name, row)) + "\n"
