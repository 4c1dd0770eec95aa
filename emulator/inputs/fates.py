"""What happens to the brokers of a partition, whichever they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.inputs.worlds import BrokersOverTime, World


def world_fates(worlds: Sequence[World], over_time: BrokersOverTime) -> np.ndarray:
    """By world: a number for what happens to its brokers in the run, slot by slot; less than the number of worlds."""
    spans = {broker: over_time.spans(broker) for broker in over_time.brokers}
    links = {
        broker: {peer for s in of_broker for peer in (*s.segment.drop_to, *(to for to, _ in s.segment.slow_to))}
        for broker, of_broker in spans.items()
    }
    linked = {broker for broker, peers in links.items() if peers}.union(*links.values())
    fates: dict[Any, int] = {}
    fate_of: dict[int, int] = {}
    for broker, of_broker in spans.items():
        what = tuple((s.from_round, s.segment, tuple(sorted(s.settings.items()))) for s in of_broker)
        # What happens between two brokers happens to these two only.
        fate_of[broker] = fates.setdefault(broker if broker in linked else what, len(fates))
    numbers: dict[Any, int] = {}
    of_worlds = ((tuple(fate_of[broker] for broker in world.brokers), world.stale_patterns) for world in worlds)
    return np.array([numbers.setdefault(fate, len(numbers)) for fate in of_worlds], np.int64)
