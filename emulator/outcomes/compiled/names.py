"""What a block's partitions are called, and their slots' brokers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.blocks import Block
from emulator.outcomes.compiled.columns import lists_of
from emulator.rounds.records import field_of
from emulator.rounds.slots import MAX_SLOTS, ORDER_BITS, ORDER_MASK
from emulator.table_columns.arrow_columns import arrow_schema

NO_BROKER = -1


class Names:
    """Scenario, topic and number of a block's partitions, and broker ids by slot. The block is one that was not played yet."""

    def __init__(self, block: Block) -> None:
        state = block.state
        self.scenario_id, self._partition = block.scenario_id, block.partition
        scenario = field_of(state.partitions, "scenario")
        self.scenario_ids = np.full(len(block.inputs.scenarios), -1, np.int64)
        """By place of the scenario in the block; -1: no partition of it is there."""
        self.scenario_ids[scenario] = block.scenario_id
        self.first_broker, self.broker_place = block.first_broker, block.broker_place
        """By place of the scenario its first broker in the block; by broker its place among the scenario's."""
        topics = np.array([len(names) for names in block.topic_names], np.int64)
        self._topics = pa.array([name for names in block.topic_names for name in names], pa.string())
        self.topic_count = len(self._topics)
        self.topic_place = (np.cumsum(topics) - topics)[scenario] + block.topic_index
        """By partition its topic's place among those of all scenarios."""
        self.event_kinds = block.event_kinds[scenario]
        """By partition, which kinds of events are written: bits of scenario.event_kinds.PARTITION_EVENTS."""
        groups = np.array([len(names) for names in block.group_names], np.int64)
        self._groups = tuple(name for names in block.group_names for name in names)
        self._first_group = (np.cumsum(groups) - groups)[scenario]
        slots = field_of(state.partitions, "slots")
        first = field_of(state.partitions, "first_replica")
        self.partition_of = np.repeat(np.arange(len(slots)), slots)
        """By place of a replica in the block its partition's place."""
        self.slot_of = np.arange(len(state.replicas)) - first[self.partition_of]
        """By place of a replica its slot."""
        self.brokers = np.full((len(slots), max(1, int(slots.max(initial=0)))), NO_BROKER, np.int64)
        """Broker ids by partition and slot; behind the last slot NO_BROKER."""
        self.brokers[self.partition_of, self.slot_of] = field_of(state.replicas, "broker")
        self._slots_by_id = np.argsort(np.where(self.brokers < 0, np.iinfo(np.int64).max, self.brokers), axis=1, kind="stable")

    def ids(self, places: np.ndarray) -> dict[str, Any]:
        """Columns scenario_id, topic and partition of rows about the partitions at these places."""
        return {
            "scenario_id": self.scenario_id[places],
            "topic": self._topics.take(pa.array(self.topic_place[places])),
            "partition": self._partition[places],
        }

    def groups(self, places: np.ndarray, numbers: np.ndarray) -> pa.Array:
        """Names of consumer groups, by their numbers in the scenarios of the partitions at these places."""
        return pa.array(self._groups, pa.string()).take(pa.array(self._first_group[places] + numbers))

    def group(self, place: int, number: int) -> str:
        """The name of one."""
        return self._groups[int(self._first_group[place]) + number]

    def broker_at(self, places: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """The broker id of each partition's slot; slot -1: NO_BROKER."""
        return np.where(slots < 0, NO_BROKER, self.brokers[places, np.maximum(slots, 0)])

    def brokers_in(self, places: np.ndarray, masks: np.ndarray) -> pa.Array:
        """The sorted broker ids of each partition's mask of slots."""
        slots = self._slots_by_id[places]
        is_in = (np.asarray(masks)[:, None] >> slots) & 1 == 1
        return _broker_lists(self.brokers[np.asarray(places)[:, None], slots], is_in)

    def brokers_in_order(self, orders: np.ndarray) -> pa.Array:
        """The broker ids of the order of slots that each partition of the block has (rounds/slots.py)."""
        slots = ((np.asarray(orders)[:, None] >> (np.arange(MAX_SLOTS) * ORDER_BITS)) & ORDER_MASK) - 1
        brokers = np.take_along_axis(self.brokers, np.clip(slots, 0, self.brokers.shape[1] - 1), axis=1)
        return _broker_lists(brokers, slots >= 0)


def _broker_lists(brokers: np.ndarray, is_in: np.ndarray) -> pa.Array:
    return lists_of(is_in.sum(axis=1), brokers[is_in], arrow_schema("outcomes").field("isr").type)
