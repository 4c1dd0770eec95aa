"""Writes a case with consumers as a scenario file: topic `t` of one partition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..scenario_toml import table
from ..tiered import scenario_file
from .settings import BROKER_DEFAULTS

CLUSTER = "[cluster]\n"


def write_scenario(case: Mapping[str, Any], path: Path) -> None:
    """The case as a TOML file, and its brokers with their racks as a table beside it."""
    config = {key: given for key, given in case["config"].items() if key not in BROKER_DEFAULTS or given is not None}
    text = scenario_file.to_toml({**case, "config": config})
    racks = [f"{broker},{case['racks'].get(broker, '')}" for broker in case["brokers"]]
    brokers = path.with_suffix(".csv")
    brokers.write_text("\n".join(["broker,rack", *racks]) + "\n")
    lines = [f'brokers_file = "{brokers.name}"']
    if case.get("page_cache_bytes") is not None:
        lines.append(f"page_cache_bytes = {case['page_cache_bytes']}")
    text = text.replace(f"brokers = {max(case['brokers'])}\n", "\n".join(lines) + "\n", 1)
    for row in case["consumers"]:
        given = {key: value for key, value in row.items() if value is not None}
        text += "\n".join(table("consumers", {"topic": scenario_file.TOPIC, **given})) + "\n"
    path.write_text(text)
