"""A block's state as bytes, in which it goes from one Spark job to the next."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from emulator.rounds.kafka.reading.records import ReadPartition, ReadReplica
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.state import LIST_RECORDS, State
from emulator.rounds.kafka.tier.records import TierPartition, TierReplica
from emulator.rounds.packed import Packed
from emulator.rounds.records import rows, words_of

RECORDS: dict[str, type] = {
    "partitions": Partition,
    "replicas": Replica,
    "tier": TierPartition,
    "tiers": TierReplica,
    "reading": ReadPartition,
    "served": ReadReplica,
}
"""Field of State -> its records; the others are packed lists."""


def pack_state(state: State) -> bytes:
    """The state as bytes."""
    words: dict[str, Any] = {name: np.asarray(words_of(getattr(state, name))) for name in RECORDS if len(getattr(state, name))}
    lists = {name: tuple(getattr(state, name)) for name in LIST_RECORDS}
    return pickle.dumps(words | lists, protocol=5)


def unpack_state(packed: Any) -> State:
    """What `pack_state` packed."""
    found: dict[str, Any] = pickle.loads(packed)
    fields: dict[str, Any] = {name: Packed(*found[name]) for name in LIST_RECORDS}
    for name, record in RECORDS.items():
        fields[name] = rows(record, len(found.get(name, ())))
        if name in found:
            words_of(fields[name])[:] = found[name]
    return State(**fields)
