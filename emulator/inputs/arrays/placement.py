"""Who holds which partition: the slots of all partitions of a scenario, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emulator.inputs.arrays.topics import TopicPlaces
from emulator.rounds.slots import MAX_SLOTS
from emulator.scenario import Scenario


@dataclass(frozen=True, eq=False)
class Placement:
    """`broker`: by place, slot after slot, the broker's place among the sorted ids; `first`, `slots`: by partition_id, where its
    slots begin and how many there are; `replicas`: how many of them are replicas at the start.
    """

    broker: np.ndarray
    first: np.ndarray
    slots: np.ndarray
    replicas: np.ndarray

    def slot_of(self, partition: np.ndarray, broker: np.ndarray) -> np.ndarray:
        """The slots of brokers (places) in partitions, -1 for who has none."""
        slot = np.full(len(partition), -1, np.int64)
        first, slots = self.first[partition], self.slots[partition]
        last = len(self.broker) - 1
        for candidate in range(int(slots.max(initial=0))):
            found = (candidate < slots) & (self.broker[np.minimum(first + candidate, last)] == broker)
            slot[found] = candidate
        return slot


def place_replicas(
    scenario: Scenario, places: TopicPlaces, ids: np.ndarray, moves: Mapping[int, Sequence[int]]
) -> tuple[Placement, dict[int, list[int]]]:
    """(the placement, of partitions in `moves` the brokers by slot). `moves`: partition_id -> brokers that it will have.

    Slots are the replicas in their order, then further brokers in the order of `moves`. Raises ValueError for too many.
    """
    widths = [topic.assignment.shape[1] for topic in scenario.topics]
    table = np.full((places.partition_count, max(widths, default=1)), -1, np.int32)
    for topic, begin, width in zip(scenario.topics, places.first[:-1].tolist(), widths, strict=True):
        table[begin : begin + topic.partitions, :width] = topic.assignment
    replicas = (table >= 0).sum(axis=1)
    further: dict[int, list[int]] = {}
    slots: dict[int, list[int]] = {}
    for at, brokers in moves.items():
        assigned = [b for b in table[at].tolist() if b >= 0]
        further[at] = [b for b in dict.fromkeys(brokers) if b not in assigned]
        slots[at] = assigned + further[at]
        if len(slots[at]) > MAX_SLOTS:
            raise ValueError(f"{_name(places, at)}: more than {MAX_SLOTS} brokers over its reassignments")
    counts = replicas.astype(np.int64)
    wider = max((len(brokers) for brokers in slots.values()), default=0)
    if wider > table.shape[1]:
        table = np.pad(table, ((0, 0), (0, wider - table.shape[1])), constant_values=-1)
    for at, brokers in slots.items():
        table[at, : len(brokers)] = brokers
        counts[at] = len(brokers)
    broker = np.searchsorted(ids, table[table >= 0]).astype(np.int32)
    return Placement(broker, np.cumsum(counts) - counts, counts, replicas.astype(np.int64)), slots


def _name(places: TopicPlaces, at: int) -> str:
    index = int(np.searchsorted(places.first, at, "right")) - 1
    return f"{places.names[index]}-{at - int(places.first[index])}"
