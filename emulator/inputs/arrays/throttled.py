"""Which replicas Kafka's replication throttles are for, over time (KIP-73)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from emulator.inputs.arrays.placement import Placement
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.storage_settings import accepted
from emulator.scenario import Command, Scenario, configs
from emulator.scenario.throttles import THROTTLED_LISTS, brokers_by_partition


class ThrottledReplicas(NamedTuple):
    """`from_round`: where something changes, from round 0 on; `listed`: by it, list (leader's, follower's) and replica."""

    from_round: np.ndarray
    listed: np.ndarray

    def at(self, round_: int) -> np.ndarray:
        """In force in a round: by list and replica."""
        found: np.ndarray = self.listed[np.searchsorted(self.from_round, round_, "right") - 1]
        return found

    def of(self, replicas: np.ndarray) -> ThrottledReplicas:
        """Of these replicas only."""
        return ThrottledReplicas(self.from_round, np.ascontiguousarray(self.listed[:, :, replicas]))


def throttled_replicas(scenario: Scenario, places: TopicPlaces, ids: np.ndarray, placement: Placement) -> ThrottledReplicas:
    """Of all slots of a scenario, one partition's after the other's. `ids`: broker ids by place."""
    altered = {id(commands): commands for commands in scenario.alterations.values()}
    lists = [c for commands in altered.values() for c in commands if any(key in (c.config or {}) for key in THROTTLED_LISTS)]
    rounds = sorted({0, *(c.round for c in lists if c.round < scenario.rounds)})
    listed = np.zeros((len(rounds), len(THROTTLED_LISTS), len(placement.broker)), bool)
    slot_begin = np.append(placement.first, len(placement.broker))
    for topic, first, end in zip(scenario.topics, places.first[:-1].tolist(), places.first[1:].tolist(), strict=True):
        for at, round_ in enumerate(rounds):
            texts = _texts(dict(scenario.config), dict(topic.config), scenario.alterations[topic.name], round_)
            for number, text in enumerate(texts):
                if text.strip() == "*":
                    listed[at, number, slot_begin[first] : slot_begin[end]] = True
                for partition, brokers in brokers_by_partition(text).items():
                    if partition < end - first:
                        own = slice(slot_begin[first + partition], slot_begin[first + partition + 1])
                        listed[at, number, own] = np.isin(ids[placement.broker[own]], brokers)
    return ThrottledReplicas(np.array(rounds, np.int64), listed)


def _texts(cluster: dict[str, Any], topic: dict[str, Any], altered: Sequence[Command], round_: int) -> list[str]:
    """Both lists of a topic in a round."""

    def value(key: str) -> Any:
        return configs.effective(cluster, topic, key)

    for command in altered:
        if command.round <= round_:
            (cluster if command.topic is None else topic).update(accepted(value, command.config or {}))
    return [str(value(key)) for key in THROTTLED_LISTS]
