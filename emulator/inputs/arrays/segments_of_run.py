"""How many segments will begin in a scenario's logs, and how many of them go to remote storage: an estimate of its work."""

from __future__ import annotations

import numpy as np

from emulator.inputs.arrays.storage import ever_tiered
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.arrays.workload import ranges_of_rows
from emulator.scenario import Scenario
from emulator.scenario.configs import effective


def segments_of_run(scenario: Scenario) -> tuple[np.ndarray, np.ndarray]:
    """By partition_id: segments, and those with remote storage; what is appended, by segment.bytes as of the start."""
    places = TopicPlaces(scenario)
    row, first, last = ranges_of_rows(scenario, places)
    names = ("from_round", "to_round", "records_per_round", "record_bytes")
    begin, end, records, size = (scenario.workload.column(name).to_numpy().astype(np.float64)[row] for name in names)
    own = np.maximum(np.minimum(end, scenario.rounds) - begin, 0) * records * size
    begins = np.zeros(places.partition_count + 1)
    np.add.at(begins, first, own)
    np.add.at(begins, last + 1, -own)
    appended = np.maximum(np.cumsum(begins)[:-1], 0)
    segment_bytes = [effective(scenario.config, topic.config, "segment.bytes") for topic in scenario.topics]
    segments = appended / np.repeat(np.array(segment_bytes, np.float64), places.counts)
    return segments, np.where(ever_tiered(scenario, places), segments, 0)
