"""Reads a scenario file (design.md section 5) of ledgers into cases for the simulator: those parts that the tests use."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import tomli


def read_scenario(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """One case for every ledger of the file, by topic and partition. Variants are left out."""
    scenario = tomli.loads(path.read_text())
    cluster = scenario["cluster"]
    brokers = list(range(1, cluster["brokers"] + 1))
    racks = cluster.get("racks")
    cases = {}
    for topic in scenario["topics"]:
        for partition, ensemble in enumerate(topic["assignment"]):
            cases[topic["name"], partition] = {
                "rounds": scenario["rounds"],
                "round_ms": scenario.get("round_ms", 500),
                "brokers": brokers,
                "racks": {} if racks is None else {broker: (broker - 1) % racks for broker in brokers},
                "session_timeout_rounds": cluster.get("session_timeout_rounds", -(-9_000 // scenario.get("round_ms", 500))),
                "config": cluster.get("config", {}),
                "topic_config": topic.get("config", {}),
                "placement": topic.get("placement", "lowest_free_id"),
                "replicas": ensemble,
                **{
                    table: [row for row in scenario.get(table, []) if _concerns(row, topic["name"], partition)]
                    for table in ("workload", "faults", "commands")
                },
            }
    return cases


def _concerns(row: dict[str, Any], topic: str, partition: int) -> bool:
    return fnmatchcase(topic, row.get("topic", "*")) and row.get("partition", partition) == partition
