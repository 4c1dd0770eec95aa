"""A partition's lists between two stretches: packed one after the other, and loaded into scratch arrays while it is played."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.compiled import compiled
from emulator.rounds.kafka.state import Packed
from emulator.rounds.lists import List


class Words(NamedTuple):
    """The scratch arrays and the state's records as words."""

    runs: np.ndarray
    epochs: np.ndarray
    segments: np.ndarray
    ranges: np.ndarray
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


@compiled
def load(entries: List, packed: Packed, number: int, words: np.ndarray, start: int, room: int) -> None:
    """Put a packed list into its place."""
    first = packed.offsets[number]
    count = packed.offsets[number + 1] - first
    entries.start = start
    entries.limit = start + room - 1
    entries.changes = 0
    entries.full = 0
    if count >= room:
        entries.full = 1
        entries.count = 0
        return
    entries.count = count
    for at in range(count):
        for word in range(words.shape[1]):
            words[start + at, word] = packed.words[first + at, word]


@compiled
def store(entries: List, packed: Packed, number: int, words: np.ndarray) -> bool:
    """Pack a list behind those before it. False: there is no room."""
    first = packed.offsets[number]
    if first + entries.count > len(packed.words):
        return False
    for at in range(entries.count):
        for word in range(words.shape[1]):
            packed.words[first + at, word] = words[entries.start + at, word]
    packed.offsets[number + 1] = first + entries.count
    return True
