"""How many replicas may compete on one broker."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from emulator.scenario import Scenario, Topic


def most_replicas(scenario: Scenario, topics: Sequence[Topic]) -> int:
    """The most replicas that a broker ever has of these topics, if it gives none of them away."""
    added = {
        (t.name, c.partition, broker)
        for c in scenario.commands
        if c.kind == "reassign"
        for t in topics
        if fnmatchcase(t.name, c.topic or "*") and c.partition is not None and c.partition < t.partitions
        for broker in c.replicas or ()
        if broker not in t.assignment[c.partition]
    }
    ids = np.concatenate([np.array([b for *_, b in added], np.int32), *(t.assignment.reshape(-1) for t in topics)])
    return int(np.unique(ids[ids >= 0], return_counts=True)[1].max(initial=0))
