"""What rows of tables call the ledgers, or topics, of a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from emulator.scenario import Scenario


class LedgerNames(NamedTuple):
    """By place in the block: scenario_id, topic, number of the partition within it."""

    scenario_id: np.ndarray
    topic: pa.Array
    partition: np.ndarray

    def at(self, places: np.ndarray) -> dict[str, Any]:
        """The columns that name these places."""
        return {
            "scenario_id": self.scenario_id[places],
            "topic": self.topic.take(pa.array(places)),
            "partition": self.partition[places],
        }


def ledger_names(scenarios: Sequence[Scenario], owner: np.ndarray, number: np.ndarray) -> LedgerNames:
    """The names of ledgers, or topics: of each its scenario's place and its partition_id."""
    topics: list[str] = []
    topic = np.zeros(len(owner), np.int64)
    partition = np.zeros(len(owner), np.int32)
    for place, scenario in enumerate(scenarios):
        mine = np.flatnonzero(owner == place)
        firsts = np.cumsum([0, *(t.partitions for t in scenario.topics)])
        index = np.searchsorted(firsts, number[mine], "right") - 1
        topic[mine] = index + len(topics)
        partition[mine] = number[mine] - firsts[index]
        topics += [t.name for t in scenario.topics]
    ids = np.array([scenario.scenario_id for scenario in scenarios], np.int64)
    return LedgerNames(ids[owner], pa.array(topics, pa.string()).take(pa.array(topic)), partition)
