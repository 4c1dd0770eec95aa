"""The readers of a block's partitions before round 0: none has a position yet (docs/consumer_rounds.md, State)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emulator.inputs.arrays.columns import PackedLists, offsets_of, spread
from emulator.inputs.arrays.start_tiers import filled
from emulator.rounds.kafka.constants import FOREVER, NO_EPOCH, NOBODY, UNKNOWN
from emulator.rounds.kafka.reading.records import CAUSES, NO_CAUSE, NO_POSITION, Reader, ReadPartition, ReadReplica, Want
from emulator.rounds.kafka.state import READ_PARTITION_LISTS, READ_REPLICA_LISTS
from emulator.rounds.packed import Packed, packed_empty, width_of
from emulator.rounds.records import word_of, words_of

_READER = {
    "position": NO_POSITION,
    "epoch": NO_EPOCH,
    "leader": NOBODY,
    "leader_epoch": NO_EPOCH,
    "replica": NOBODY,
    "reset_cause": NO_CAUSE,
    "stopped": NO_CAUSE,
    "remote_round": -1,
    "dealt_round": -1,
    "stretch_cause": NO_CAUSE,
    "stretch_slot": NOBODY,
    "asked": NOBODY,
    "turn_requests": UNKNOWN,
    "turn_bytes": UNKNOWN,
    "quota_bytes": UNKNOWN,
}
"""Fields that are not 0 at the start."""


def readers_at_start(columns: Mapping[str, np.ndarray], wants: PackedLists) -> dict[str, Any]:
    """Fields of State; all are empty where no partition of the block is read.

    `columns`: `reading`, by partition which of `wants` it has; `slots`; `page_cache_share` by replica.
    """
    ends = np.flatnonzero(wants.rows[:, word_of(Want, "from_round")] == FOREVER)
    begins = np.concatenate([[0], ends + 1])[: len(ends)]
    first = np.searchsorted(begins, wants.offsets)  # by list of wants its first reader
    counts = np.diff(first)[columns["reading"]]
    if not counts.any():
        empty: dict[str, Any] = {"reading": filled(ReadPartition, 0, {}), "served": filled(ReadReplica, 0, {})}
        lists = READ_PARTITION_LISTS | READ_REPLICA_LISTS
        return empty | {name: packed_empty(width_of(kind), 0) for name, (kind, _) in lists.items()}
    readers = filled(Reader, int(counts.sum()), _READER)
    readers["number"] = spread(np.zeros(len(counts), np.int64), counts)
    readers["want"] = begins[spread(first[columns["reading"]], counts)]
    served = filled(ReadReplica, int(columns["slots"].sum()), {})
    served["share_bytes"] = columns["page_cache_share"]
    return {
        "reading": filled(ReadPartition, len(counts), {}),
        "served": served,
        "readers": Packed(words_of(readers), offsets_of(counts)),
        "waits": Packed(np.zeros((len(CAUSES) * len(readers), 1), np.int64), offsets_of(len(CAUSES) * counts)),
        "read_ranges": packed_empty(width_of(READ_PARTITION_LISTS["read_ranges"][0]), len(counts)),
        "cached": packed_empty(width_of(READ_REPLICA_LISTS["cached"][0]), len(served)),
    }
