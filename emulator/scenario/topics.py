"""Topics: who holds which partition, and each topic's config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emulator.errors import did_you_mean, quoted
from emulator.placement.assignments import Assignment
from emulator.scenario.commands import check_config, check_replicas
from emulator.scenario.config_keys import ConfigKey, ConfigValue
from emulator.scenario.configs import effective
from emulator.scenario.model import Broker, Topic
from emulator.scenario.placements import PLACEMENT_KEYS, check_placement, place
from emulator.scenario.places import Location, Places
from emulator.scenario.shapes import MAX_PARTITIONS, TopicShape

NO_REPLICA = -1
PARTITIONS_ALLOWED = "partitions and replication_factor, or assignment"
MIN_ISR = "min.insync.replicas"


def resolve_topics(
    places: Places,
    shapes: Sequence[TopicShape],
    brokers: Sequence[Broker],
    cluster_config: Mapping[str, ConfigValue],
    imported: Sequence[Topic],
    seed: int,
    keys: Mapping[str, ConfigKey] | None = None,
) -> tuple[Topic, ...]:
    """Places the topics of the file and adds them to the imported ones, whose config they may change.

    `keys`: those that their config may have, None: Kafka's.

    Raises InputError for the first topic with a name that is taken, without partitions or with two sorts of them, with
    a replica on no broker or twice on one, with unknown config, or with more min.insync.replicas than replicas.
    """
    topics = {topic.name: topic for topic in imported}
    ids = sorted(broker.id for broker in brokers)
    seen: set[str] = set()
    for index, shape in enumerate(shapes):
        here: Location = ("topics", index)
        if shape.name in seen:
            raise places.error((*here, "name"), f'the name "{shape.name}" is taken', "a name of its own")
        seen.add(shape.name)
        check_placement(places, here, shape)
        check_config(places, (*here, "config"), shape.config, for_topic=True, keys=keys)
        if shape.name in topics:
            topics[shape.name] = _configure_imported(places, here, shape, topics[shape.name])
            continue
        if shape.assignment is None and shape.partitions is None:
            problem = missing_partitions(places, here, shape.name, [topic.name for topic in imported])
            raise places.error((*here, "partitions"), problem, PARTITIONS_ALLOWED)
        assignment = _assignment(places, here, shape, brokers, frozenset(ids), seed)
        topics[shape.name] = Topic(shape.name, assignment, dict(shape.config))
        if keys is None:
            _check_min_isr(places, here, topics[shape.name], cluster_config)
    total = sum(topic.partitions for topic in topics.values())
    if not 0 < total <= MAX_PARTITIONS:
        problem = "there are no topics" if total == 0 else f"there are {total} partitions in all"
        raise places.error(("topics",), problem, f"1 to {MAX_PARTITIONS} partitions in all, by [[topics]] or cluster.import")
    return tuple(topics.values())


def pad_replicas(lists: Sequence[Sequence[int]]) -> Assignment:
    """Returns replica lists as an int32 array (partitions, most replicas), padded with -1."""
    padded = np.full((len(lists), max(map(len, lists))), NO_REPLICA, np.int32)
    for partition, replicas in enumerate(lists):
        padded[partition, : len(replicas)] = replicas
    return padded


@dataclass(frozen=True)
class Layout:
    """All partitions of a scenario in one array: `keys` of (topic, partition) pairs are its row numbers."""

    first: Mapping[str, int]
    replicas: Assignment

    @classmethod
    def of(cls, topics: Sequence[Topic]) -> Layout:
        """Lays the topics' assignments one below the other."""
        first, rows = {}, 0
        width = max((topic.assignment.shape[1] for topic in topics), default=0)
        for topic in topics:
            first[topic.name] = rows
            rows += topic.partitions
        replicas = np.full((rows, width), NO_REPLICA, np.int32)
        for topic in topics:
            start = first[topic.name]
            replicas[start : start + topic.partitions, : topic.assignment.shape[1]] = topic.assignment
        return cls(first, replicas)

    def keys(self, topic_column: Any, partition_column: Any) -> np.ndarray:
        """Returns the row number of each (topic, partition); both columns without nulls, of known partitions."""
        encoded = topic_column.combine_chunks().dictionary_encode()
        first = np.array([self.first[name] for name in encoded.dictionary.to_pylist()], np.int64)
        return first[encoded.indices.to_numpy()] + partition_column.to_numpy()

    def holds(self, keys: np.ndarray, brokers: np.ndarray) -> np.ndarray:
        """Says for each row whether its broker is a replica of its partition."""
        return (self.replicas[keys] == brokers[:, None]).any(axis=1)


def missing_partitions(places: Places, here: Location, name: str, imported: Sequence[str]) -> str:
    """What is wrong with a topic without partitions, by which a variant may have meant one that the base has."""
    if not places.is_added(here):
        return "is missing"
    listed = enumerate(places.data["topics"])
    names = [topic["name"] for index, topic in listed if not places.is_added(("topics", index))]
    meant = did_you_mean(name, [*imported, *names])
    return f"no topic of the base is called {quoted(name)}{meant}, and a new one needs partitions"


def _configure_imported(places: Places, here: Location, shape: TopicShape, topic: Topic) -> Topic:
    for key in ("partitions", "replication_factor", *PLACEMENT_KEYS, "assignment"):
        if getattr(shape, key) is not None:
            raise places.error((*here, key), "the topic is imported, with its partitions", "name, config")
    return Topic(topic.name, topic.assignment, {**topic.config, **shape.config})


def _assignment(
    places: Places, here: Location, shape: TopicShape, brokers: Sequence[Broker], ids: frozenset[int], seed: int
) -> Assignment:
    if shape.assignment is not None:
        for key in ("partitions", "replication_factor", *PLACEMENT_KEYS):
            if getattr(shape, key) is not None:
                raise places.error((*here, key), "stands beside assignment", "either assignment or partitions and placement")
        for partition, replicas in enumerate(shape.assignment):
            check_replicas(places, (*here, "assignment", partition), replicas, ids)
        return pad_replicas(shape.assignment)
    if shape.replication_factor is None:
        raise places.error((*here, "replication_factor"), "is missing", PARTITIONS_ALLOWED)
    return place(places, here, shape, brokers, seed)


def _check_min_isr(places: Places, here: Location, topic: Topic, cluster_config: Mapping[str, ConfigValue]) -> None:
    least = int((topic.assignment != NO_REPLICA).sum(axis=1).min())
    min_isr = effective(cluster_config, topic.config, MIN_ISR)
    if isinstance(min_isr, int) and min_isr > least:
        where = (*here, "config", MIN_ISR) if MIN_ISR in topic.config else ("cluster", "config", MIN_ISR)
        problem = f"{min_isr} is more than the {least} replicas of topic {topic.name}"
        raise places.error(where, problem, f"1 to {least}, the replication factor")
