"""Writes a tiered case as a scenario file: topic `t` of one partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..scenario_toml import fetching, table, value

TOPIC = "t"


def racks(case: Mapping[str, Any]) -> list[str]:
    """The line of [cluster] that puts the brokers in racks, in turn, if they are in any."""
    return [f"racks = {case['rack_count']}"] if "rack_count" in case else []


def to_toml(case: Mapping[str, Any]) -> str:
    """The case as TOML text."""
    lines = [
        f"rounds = {case['rounds']}",
        f"round_ms = {case['round_ms']}",
        'mode = "plain"',
        "[cluster]",
        f"brokers = {max(case['brokers'])}",
        *racks(case),
        f"session_timeout_rounds = {case['session_timeout_rounds']}",
        f"config = {value(case['config'])}",
        *fetching(case),
    ]
    if "features" in case:
        lines.append(f"features = {value(case['features'])}")
    store = {key: given for key, given in case.get("remote_storage", {}).items() if given is not None}
    if store:
        lines += ["[remote_storage]", *[f"{key} = {value(given)}" for key, given in store.items()]]
    lines += table("topics", {"name": TOPIC, "assignment": [case["replicas"]], "config": case["topic_config"]})
    for row in case["workload"]:
        lines += table("workload", {"topic": TOPIC, **row})
    for fault in case["faults"]:
        lines += table("faults", {key: given for key, given in fault.items() if given is not None})
    for command in case["commands"]:
        given = {key: own for key, own in command.items() if key != "every_broker"}
        place: dict[str, Any] = {} if "broker" in command or "every_broker" in command else {"topic": TOPIC}
        if command["kind"] in ("reassign", "cancel_reassignment", "delete_records"):
            place["partition"] = 0
        lines += table("commands", {**given, **place})
    initial = case.get("initial") or {}
    where = {"topic": TOPIC, "partition": 0}
    if "leader" in initial:
        lines += table(
            "initial.partitions", {**where, **{k: initial[k] for k in ("leader", "leader_epoch", "isr", "elr") if k in initial}}
        )
    for broker, log in initial.get("replicas", {}).items():
        lines += table("initial.replicas", {**where, "broker": broker, **log})
    for row in initial.get("remote_segments", ()):
        lines += table("initial.remote_segments", {**where, **row})
    return "\n".join(lines) + "\n"
