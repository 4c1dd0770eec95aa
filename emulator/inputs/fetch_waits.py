"""How long a leader holds a fetch back: replica.fetch.min.bytes (DelayedFetch.tryComplete, ReplicaManager.fetchMessages)."""

from __future__ import annotations

import numpy as np

from emulator.bandwidth.fetchers import FETCHERS
from emulator.inputs.workload_rows import partition_ranges
from emulator.scenario import Scenario
from emulator.scenario.configs import effective
from emulator.scenario.globs import matching_topics

MIN_BYTES, MAX_WAIT = "replica.fetch.min.bytes", "replica.fetch.wait.max.ms"


def fetch_wait_us(scenario: Scenario) -> int:
    """Microseconds until a fetch has replica.fetch.min.bytes together, replica.fetch.wait.max.ms at most; 0 for a byte or none.

    A fetch brings what comes to all partitions of a fetcher: here the mean of all fetchers that there are at the start, over the
    whole run (docs/kafka_rounds.md, Last moments).
    """
    min_bytes, max_wait_ms = (int(effective(scenario.config, {}, key)) for key in (MIN_BYTES, MAX_WAIT))
    if min_bytes <= 1:
        return 0
    fetchers, sent = _fetchers(scenario), _sent_a_second(scenario)
    if not fetchers or sent <= 0:
        return max_wait_ms * 1000
    return min(max_wait_ms * 1000, int(min_bytes * 1_000_000 / (sent / fetchers)))


def _fetchers(scenario: Scenario) -> int:
    """Fetchers of all pairs of a first replica and another one of its partition."""
    others = [topic.assignment[:, [0, at]] for topic in scenario.topics for at in range(1, topic.assignment.shape[1])]
    pairs = np.concatenate([np.zeros((0, 2), np.int32), *others])
    _, partitions = np.unique(pairs[pairs[:, 1] >= 0], axis=0, return_counts=True)
    return int(np.minimum(partitions, int(effective(scenario.config, {}, FETCHERS))).sum())


def _sent_a_second(scenario: Scenario) -> float:
    """Bytes that followers are sent in a second, at the mean of the run."""
    topics = {topic.name: topic for topic in scenario.topics}
    followers = {name: np.append(0, np.cumsum((topic.assignment >= 0).sum(axis=1) - 1)) for name, topic in topics.items()}
    sent = 0.0
    for row in scenario.workload.to_pylist():
        per_second = row["records_per_second"]
        records = row["records_per_round"] * 1000 / scenario.round_ms if per_second is None else per_second
        in_force = max(0, min(row["to_round"], scenario.rounds) - row["from_round"]) / scenario.rounds
        for name in matching_topics(row["topic"], topics):
            last = topics[name].partitions - 1
            ranges = [(low, min(high, last)) for low, high in partition_ranges(row["partitions"], last + 1) if low <= last]
            of_row = sum(int(followers[name][high + 1] - followers[name][low]) for low, high in ranges)
            sent += of_row * records * row["record_bytes"] * in_force
    return sent
