"""Whether compiled core rounds can play a scenario."""

from __future__ import annotations

from typing import Any

from emulator.inputs.arrays.rules import CORE_RULES
from emulator.inputs.arrays.topics import Alterations
from emulator.inputs.storage_settings import is_ever_tiered
from emulator.scenario import Scenario


def is_core(scenario: Scenario) -> bool:
    """Whether the core rounds have all that the scenario needs."""
    return why_not_core(scenario) is None


def why_not_core(scenario: Scenario) -> str | None:
    """What of the scenario the core rounds lack: its protocol. None: nothing."""
    return None if scenario.protocol in CORE_RULES else f"protocol {scenario.protocol}"


def tiered_topic(scenario: Scenario) -> str | None:
    """The first topic that has remote storage in some round."""
    alterations = Alterations(scenario)
    known: dict[Any, bool] = {}
    for topic in scenario.topics:
        altered = alterations.key(topic.name)
        key = (tuple(sorted(topic.config.items())), altered)
        if key not in known:
            known[key] = is_ever_tiered(scenario, topic.config, alterations.of(altered))
        if known[key]:
            return topic.name
    return None
