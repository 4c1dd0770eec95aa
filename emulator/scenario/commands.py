"""Commands: what an administrator does, at a round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emulator.errors import did_you_mean, listing, quoted
from emulator.scenario.config_keys import ConfigKey
from emulator.scenario.configs import find_problem
from emulator.scenario.faults import broker_ids_allowed
from emulator.scenario.globs import known_topics_listed, matching_topics
from emulator.scenario.model import Broker, Command
from emulator.scenario.places import Location, Places
from emulator.scenario.shapes import CommandShape

OF_EVERY_KIND = ("round", "kind", "name")


@dataclass(frozen=True)
class CommandKind:
    """What one kind of command is, and the keys it needs and may have."""

    meaning: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


COMMAND_KINDS: Mapping[str, CommandKind] = {
    "preferred_leader_election": CommandKind("the first replica leads, if it may", ("topic",), ("partition",)),
    "reassign": CommandKind("the partition moves to these replicas", ("topic", "partition", "replicas")),
    "cancel_reassignment": CommandKind("what a reassignment under way adds goes again", ("topic", "partition")),
    "delete_records": CommandKind("the log starts at the offset; -1: at the HW", ("topic", "partition", "offset")),
    "delete_topic": CommandKind("the topic goes, with all of its remote data", ("topic",)),
    "alter_config": CommandKind(
        "a topic's, a broker's or (with neither) every broker's config changes", ("config",), ("topic", "broker")
    ),
}


def resolve_commands(
    places: Places,
    shapes: Sequence[CommandShape],
    brokers: Sequence[Broker],
    partitions: Mapping[str, int],
    kinds: Mapping[str, CommandKind] = COMMAND_KINDS,
) -> tuple[Command, ...]:
    """Checks commands against their kinds, the brokers and the topics; returns them in file order.

    `partitions`: by topic name. `kinds`: those that the protocol has. Raises InputError for the first that is wrong.
    """
    ids = frozenset(broker.id for broker in brokers)
    return tuple(_resolve(places, ("commands", i), shape, ids, partitions, kinds) for i, shape in enumerate(shapes))


def check_config(
    places: Places,
    location: Location,
    config: Mapping[str, object],
    for_topic: bool,
    keys: Mapping[str, ConfigKey] | None = None,
) -> None:
    """Raises InputError for the first entry that is not a known key with a value of its type and range."""
    for key, value in config.items():
        found = find_problem(key, value, for_topic, keys)
        if found is not None:
            raise places.error((*location, key), *found)


def _resolve(
    places: Places,
    here: Location,
    shape: CommandShape,
    ids: frozenset[int],
    partitions: Mapping[str, int],
    kinds: Mapping[str, CommandKind],
) -> Command:
    _check_keys(places, here, shape, kinds)
    if shape.topic is not None:
        matches = matching_topics(shape.topic, partitions)
        if not matches:
            problem = f"no topic matches {quoted(shape.topic)}{did_you_mean(shape.topic, partitions)}"
            raise places.error((*here, "topic"), problem, known_topics_listed(partitions))
        limit = max(partitions[name] for name in matches)
        if shape.partition is not None and shape.partition >= limit:
            problem = f"{shape.partition} is not a partition of the topic"
            raise places.error((*here, "partition"), problem, f"0 to {limit - 1}")
    if shape.broker is not None and shape.broker not in ids:
        raise places.error((*here, "broker"), f"broker {shape.broker} does not exist", broker_ids_allowed(sorted(ids)))
    if shape.replicas is not None:
        check_replicas(places, (*here, "replicas"), shape.replicas, ids)
    if shape.config is not None:
        check_config(places, (*here, "config"), shape.config, for_topic=shape.topic is not None)
    fields = shape.model_dump(exclude={"name", "replicas"})
    return Command(replicas=None if shape.replicas is None else tuple(shape.replicas), **fields)


def check_replicas(places: Places, here: Location, replicas: Sequence[int], ids: frozenset[int]) -> None:
    """Raises InputError when a replica list names a broker twice, or one that does not exist."""
    if len(set(replicas)) < len(replicas):
        twice = next(broker for broker in replicas if replicas.count(broker) > 1)
        raise places.error(here, f"overlapping assignment: broker {twice} stands twice", "each broker once")
    for broker in replicas:
        if broker not in ids:
            raise places.error(here, f"broker {broker} does not exist", broker_ids_allowed(list(ids)))


def _check_keys(places: Places, here: Location, shape: CommandShape, kinds: Mapping[str, CommandKind]) -> None:
    kind = kinds.get(shape.kind)
    if kind is None:
        problem = f"unknown kind {quoted(shape.kind)}{did_you_mean(shape.kind, kinds)}"
        raise places.error((*here, "kind"), problem, listing(kinds))
    allowed = ["round", "kind", *kind.required, *(f"{key} (optional)" for key in (*kind.optional, "name"))]
    given = {key for key, value in shape if value is not None}
    for key in kind.required:
        if key not in given:
            raise places.error((*here, key), f"{shape.kind} needs {key}", listing(allowed))
    for key in sorted(given):
        if key not in (*OF_EVERY_KIND, *kind.required, *kind.optional):
            raise places.error((*here, key), f"{shape.kind} has no use for {key}", listing(allowed))
    if shape.kind == "alter_config" and shape.topic is not None and shape.broker is not None:
        raise places.error((*here, "broker"), "alter_config has a topic and a broker", "one of them, or neither")
