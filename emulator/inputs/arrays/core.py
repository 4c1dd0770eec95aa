"""Whether compiled core rounds can play a scenario."""

from __future__ import annotations

from typing import Any

from emulator.bandwidth.read_budgets import limits_reading
from emulator.inputs.arrays.rules import CORE_RULES
from emulator.inputs.arrays.topics import Alterations
from emulator.inputs.storage_settings import is_ever_tiered
from emulator.scenario import Scenario

MOST_ROUNDS_PLAYED = 50_000_000
"""Replica-rounds of a scenario with remote reads up to which every round of it is played: a minute or so."""


def is_core(scenario: Scenario) -> bool:
    """Whether the core rounds have all that the scenario needs."""
    return why_not_core(scenario) is None


def why_not_core(scenario: Scenario) -> str | None:
    """What of the scenario the core rounds lack: its protocol, what brokers share out. None: nothing."""
    if scenario.protocol not in CORE_RULES:
        return f"protocol {scenario.protocol}"
    if limits_reading(scenario):
        return "remote reads share quotas, threads or fetches"
    return None


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


def needs_leaps(scenario: Scenario) -> bool:
    """Whether it takes leaps to play it, and consumers may read remotely for long, which is not leapt over."""
    replicas = sum(int((topic.assignment >= 0).sum()) for topic in scenario.topics)
    is_long = replicas * scenario.rounds > MOST_ROUNDS_PLAYED
    return is_long and bool(scenario.consumers) and tiered_topic(scenario) is not None
