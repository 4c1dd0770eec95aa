"""What configs a topic has in a run, one after the other: those of the start, then what alter_config makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from emulator.scenario.configs import ConfigValue, effective
from emulator.scenario.model import Command, Scenario, Topic

Config = Mapping[str, ConfigValue]


def alterations_of(scenario: Scenario, topic: str) -> list[Command]:
    """The alter_config commands that concern a topic, those of all brokers included, by round."""
    every = (c for c in scenario.commands if c.kind == "alter_config" and c.broker is None)
    return sorted((c for c in every if c.topic is None or fnmatchcase(topic, c.topic)), key=lambda c: c.round)


def configurations(scenario: Scenario, topic_config: Config, alterations: Iterable[Command]) -> Iterator[tuple[Config, Config]]:
    """(the cluster's config, a topic's) at the start and after each of the alterations that concern it."""
    cluster, own = dict(scenario.config), dict(topic_config)
    yield dict(cluster), dict(own)
    for command in alterations:
        (cluster if command.topic is None else own).update(command.config or {})
        yield dict(cluster), dict(own)


def configurations_of(scenario: Scenario, topic: Topic) -> Iterator[tuple[Config, Config]]:
    """Those of a topic in the run."""
    return configurations(scenario, topic.config, alterations_of(scenario, topic.name))


def values(scenario: Scenario, topic: Topic, key: str) -> set[ConfigValue]:
    """Every value that a config key has for a topic in the run."""
    return {effective(*both, key) for both in configurations_of(scenario, topic)}
