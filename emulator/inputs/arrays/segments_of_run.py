"""How many segments will begin in a scenario's logs, and how many of them go to remote storage: an estimate of its work."""

from __future__ import annotations

import numpy as np

from emulator.configs import effective
from emulator.inputs.arrays.storage import ever_tiered
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.inputs.arrays.workload import ranges_of_rows
from emulator.scenario import Scenario


def segments_of_run(scenario: Scenario) -> tuple[float, float]:
    """Returns (segments, those of topics with remote storage): bytes that are appended, by segment.bytes as of the start."""
    if not scenario.workload.num_rows:
        return 0.0, 0.0
    places = TopicPlaces(scenario)
    row, first, last = ranges_of_rows(scenario, places)
    names = ("from_round", "to_round", "records_per_round", "record_bytes")
    begin, end, records, size = (scenario.workload.column(name).to_numpy().astype(np.float64)[row] for name in names)
    appended = (last - first + 1) * np.maximum(np.minimum(end, scenario.rounds) - begin, 0) * records * size
    segment_bytes = np.array([effective(scenario.config, topic.config, "segment.bytes") for topic in scenario.topics], np.float64)
    segments = appended / segment_bytes[np.searchsorted(places.first, first, "right") - 1]
    tiered = ever_tiered(scenario, places)[first]
    return float(segments.sum()), float(segments[tiered].sum())
