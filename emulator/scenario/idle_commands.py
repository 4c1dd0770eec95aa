"""Commands of which nothing can come, whatever happens in the run: they ask for what is so already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from emulator.errors import first_lines, listing
from emulator.scenario.config_keys import KEYS, ConfigValue
from emulator.scenario.configs import effective
from emulator.scenario.globs import matching_topics
from emulator.scenario.model import Command, Scenario

CLEARS_ELR = "min.insync.replicas"
"""A change of it empties the ELR, also one to the same value (docs/kafka_rounds.md, Eligible leader replicas)."""


def idle_commands(scenario: Scenario) -> Iterator[str]:
    """A line for each of the first: what it asks for, and why nothing comes of it; and how many more there are."""
    given = [command for command in scenario.commands if command.round < scenario.rounds]
    commands = sorted(given, key=lambda command: command.round)
    lines = [*_moves(scenario, commands), *_alterations(scenario, commands)]
    yield from first_lines(lines, "commands ask for what is so already")


def _moves(scenario: Scenario, commands: Sequence[Command]) -> Iterator[str]:
    """Reassignments to the replicas that are wanted already, and cancelled ones before there is any (KIP-455)."""
    topics = {topic.name: topic for topic in scenario.topics}
    wanted: dict[tuple[str, int], tuple[int, ...] | None] = {}
    for command in commands:
        if command.kind not in ("reassign", "cancel_reassignment") or command.topic is None or command.partition is None:
            continue
        places = [(name, command.partition) for name in matching_topics(command.topic, topics)]
        places = [place for place in places if place[1] < len(topics[place[0]].assignment)]
        what = f"{command.kind} of {command.topic} {command.partition} in round {command.round}"
        if command.kind == "cancel_reassignment":
            if not any(place in wanted for place in places):
                yield f"{what} has no effect: there is no reassign before it"
            wanted.update((place, None) for place in places if place in wanted)
        else:
            start = {name: tuple(topics[name].assignment[partition].tolist()) for name, partition in places}
            if all(wanted.get((name, partition), start[name]) == command.replicas for name, partition in places):
                yield f"{what} has no effect: these are its replicas already, or under way to be"
            wanted.update((place, command.replicas) for place in places)


def _alterations(scenario: Scenario, commands: Sequence[Command]) -> Iterator[str]:
    """Configs that are set to the value in force; not those that another alter_config of all brokers changes."""
    cluster = dict(scenario.config)
    of_topic = {topic.name: dict(topic.config) for topic in scenario.topics}
    of_broker: dict[int, dict[str, ConfigValue]] = {}
    changes = [command for command in commands if command.kind == "alter_config" and command.config]
    of_all_brokers = [change for change in changes if change.topic is None and change.broker is None]
    moving = {KEYS[key].setting for change in of_all_brokers for key in change.config or {} if key in KEYS}
    for command in changes:
        if command.topic is not None:
            scopes: list[tuple[Mapping[str, ConfigValue], dict[str, ConfigValue]]] = [
                (cluster, of_topic[name]) for name in matching_topics(command.topic, of_topic)
            ]
        elif command.broker is not None:
            own = of_broker.setdefault(command.broker, {})
            scopes = [({**cluster, **own}, own)]
        else:
            scopes = [(cluster, cluster)]
        idle = [
            f"{key} = {value}"
            for key, value in (command.config or {}).items()
            if _is_idle(scenario, key, command)
            and (command.topic is None and command.broker is None or KEYS[key].setting not in moving)
            and all(_in_force(outer, own, key, command.topic is not None) == value for outer, own in scopes)
        ]
        for _, own in scopes:
            own.update(command.config or {})
        if idle:
            broker = "" if command.broker is None else f" of broker {command.broker}"
            whose = f" of {command.topic}" if command.topic else broker
            yield f"alter_config{whose} in round {command.round} has no effect: {listing(idle)} is in force already"


def _is_idle(scenario: Scenario, key: str, command: Command) -> bool:
    """Whether the same value again may have no effect: a key of that name, in its setting's own unit, that has one elsewhere."""
    if key not in KEYS or not KEYS[key].effect or KEYS[key].factor != 1:
        return False
    return not (key == CLEARS_ELR and scenario.features.get("eligible.leader.replicas.version") and command.broker is None)


def _in_force(outer: Mapping[str, ConfigValue], own: Mapping[str, ConfigValue], key: str, is_of_topic: bool) -> ConfigValue:
    return effective(outer, own if is_of_topic else {}, key)
