"""What configs a topic has in a run, one after the other: those of the start, then what alter_config makes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from emulator.scenario.configs import ConfigValue, effective
from emulator.scenario.model import Scenario, Topic


def configurations(scenario: Scenario, topic: Topic) -> Iterator[tuple[Mapping[str, ConfigValue], Mapping[str, ConfigValue]]]:
    """(the cluster's config, the topic's) at the start and after each alter_config that concerns all brokers or the topic."""
    cluster, own = dict(scenario.config), dict(topic.config)
    yield dict(cluster), dict(own)
    for command in sorted(scenario.commands, key=lambda command: command.round):
        concerns = command.topic is None or fnmatchcase(topic.name, command.topic)
        if command.kind == "alter_config" and command.broker is None and concerns:
            (cluster if command.topic is None else own).update(command.config or {})
            yield dict(cluster), dict(own)


def values(scenario: Scenario, topic: Topic, key: str) -> set[ConfigValue]:
    """Every value that a config key has for a topic in the run."""
    return {effective(*both, key) for both in configurations(scenario, topic)}
