"""Which scenarios have remote storage."""

from __future__ import annotations

from typing import Any

from emulator.inputs.storage_settings import is_ever_tiered
from emulator.scenario import Scenario


def tiered_topic(scenario: Scenario) -> str | None:
    """The first topic that has remote storage in some round."""
    known: dict[Any, bool] = {}
    for topic in scenario.topics:
        altered = scenario.alterations[topic.name]
        key = (tuple(sorted(topic.config.items())), id(altered))
        if key not in known:
            known[key] = is_ever_tiered(scenario, topic.config, altered)
        if known[key]:
            return topic.name
    return None
