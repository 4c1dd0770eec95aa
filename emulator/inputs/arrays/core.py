"""Whether compiled core rounds can play a scenario."""

from __future__ import annotations

from typing import Any

from emulator.inputs.arrays.rules import CORE_RULES
from emulator.inputs.arrays.topics import Alterations, Globs
from emulator.inputs.storage_settings import is_ever_tiered
from emulator.scenario import Scenario


def is_core(scenario: Scenario) -> bool:
    """Whether the core rounds have all that the scenario needs."""
    return why_not_core(scenario) is None


def why_not_core(scenario: Scenario) -> str | None:
    """What of the scenario the core rounds lack: its protocol, consumers, storage. None: nothing."""
    if scenario.protocol not in CORE_RULES:
        return f"protocol {scenario.protocol}"
    if scenario.consumers:
        return "consumers read"
    return _storage(scenario)


def _storage(scenario: Scenario) -> str | None:
    """A topic with remote storage, or one that goes."""
    alterations = Alterations(scenario)
    goes = Globs(c.topic for c in scenario.commands if c.kind == "delete_topic")
    known: dict[Any, bool] = {}
    for topic in scenario.topics:
        if goes.matching(topic.name):
            return f"topic {topic.name} is deleted"
        altered = alterations.key(topic.name)
        key = (tuple(sorted(topic.config.items())), altered)
        if key not in known:
            known[key] = is_ever_tiered(scenario, topic.config, alterations.of(altered))
        if known[key]:
            return f"topic {topic.name} has remote storage"
    return None
