"""The partitions of a scenario as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class PartitionTable:
    """One row per partition of a scenario, as numpy columns in partition_id order."""

    topic_index: np.ndarray
    partition: np.ndarray
    world_id: np.ndarray
    feed_id: np.ndarray
    slot_count: np.ndarray
    assigned: np.ndarray
    replica_order: np.ndarray
