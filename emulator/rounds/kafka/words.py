"""The scratch arrays of one partition, and a block's records, as rows of 64-bit words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Words(NamedTuple):
    """The scratch arrays and the state's records as words."""

    runs: np.ndarray
    epochs: np.ndarray
    segments: np.ndarray
    ranges: np.ndarray
    sent: np.ndarray
    news: np.ndarray
    old_partitions: np.ndarray
    old_replicas: np.ndarray
    partitions: np.ndarray
    replicas: np.ndarray
    # Tiered storage
    remote: np.ndarray
    remote_epochs: np.ndarray
    remote_events: np.ndarray
    pins: np.ndarray
    starts: np.ndarray
    aux_epochs: np.ndarray
    known: np.ndarray
    known_states: np.ndarray
    reaches: np.ndarray
    tier: np.ndarray
    tiers: np.ndarray
    old_tier: np.ndarray
    old_tiers: np.ndarray
    new_tier: np.ndarray
    new_tiers: np.ndarray
    # Readers
    readers: np.ndarray
    waits: np.ndarray
    read_ranges: np.ndarray
    cached: np.ndarray
    reading: np.ndarray
    served: np.ndarray
    old_reading: np.ndarray
    old_served: np.ndarray
    new_reading: np.ndarray
    new_served: np.ndarray
