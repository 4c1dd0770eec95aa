"""What a block's partitions have in remote storage before round 0 (docs/tiered_rounds.md, Start)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emulator.rounds.kafka.records import NO_EPOCH, NOBODY, UNKNOWN
from emulator.rounds.kafka.state import TIER_PARTITION_LISTS, TIER_REPLICA_LISTS, packed_empty
from emulator.rounds.kafka.tier.records import NO_SEGMENT, NOT_LOOKED_UP, TierPartition, TierReplica
from emulator.rounds.records import rows, words_of

_TIER_REPLICA = {
    "duty_epoch": NO_EPOCH,
    "copied": NOT_LOOKED_UP,
    "copying": NO_SEGMENT,
    "aux_leader": NOBODY,
    "aux_leader_epoch": NO_EPOCH,
    "aux_start": UNKNOWN,
    "last_own": -1,
}
"""Fields that are not 0 at the start."""


def filled(record: type, count: int, values: Mapping[str, int]) -> Any:
    """Records with these values, 0 elsewhere."""
    one, records = rows(record, 1), rows(record, count)
    for name, value in values.items():
        one[name] = value
    if count:
        words_of(records)[:] = words_of(one)
    return records


def tiers_at_start(columns: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Fields of State: nothing is remote; all are empty where no partition of the block is ever tiered."""
    has = bool(columns["tiered"].any())
    partitions = len(columns["slots"]) if has else 0
    replicas = int(columns["slots"].sum()) if has else 0
    tier = filled(TierPartition, partitions, {})
    tier["store"] = columns["store"][:partitions]
    return {
        "tier": tier,
        "tiers": filled(TierReplica, replicas, _TIER_REPLICA),
        **{name: packed_empty(record, partitions) for name, (record, _) in TIER_PARTITION_LISTS.items()},
        **{name: packed_empty(record, replicas) for name, (record, _) in TIER_REPLICA_LISTS.items()},
    }
