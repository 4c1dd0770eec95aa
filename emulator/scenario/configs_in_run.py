"""What configs a topic has in a run, one after the other: those of the start, then what alter_config makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from emulator.scenario.config_keys import ConfigValue
from emulator.scenario.configs import effective
from emulator.scenario.model import Command, Scenario, Topic

Config = Mapping[str, ConfigValue]


def configurations(scenario: Scenario, topic_config: Config, alterations: Iterable[Command]) -> Iterator[tuple[Config, Config]]:
    """(the cluster's config, a topic's) at the start and after each of the alterations that concern it."""
    cluster, own = dict(scenario.config), dict(topic_config)
    yield dict(cluster), dict(own)
    for command in alterations:
        (cluster if command.topic is None else own).update(command.config or {})
        yield dict(cluster), dict(own)


def configurations_of(scenario: Scenario, topic: Topic) -> Iterator[tuple[Config, Config]]:
    """Those of a topic in the run."""
    return configurations(scenario, topic.config, scenario.alterations[topic.name])


def values(scenario: Scenario, topic: Topic, key: str) -> set[ConfigValue]:
    """Every value that a config key has for a topic in the run."""
    return {effective(*both, key) for both in configurations_of(scenario, topic)}
