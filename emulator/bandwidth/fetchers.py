"""Fetchers: the threads of a broker that fetch from another one, and what each brings in a round.

A fetcher sends one fetch after the other, for all its partitions at once (AbstractFetcherThread.doWork), so these share its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.scenario import Scenario
from emulator.scenario.configs import effective

FETCHERS, RESPONSE_MAX = "num.replica.fetchers", "replica.fetch.response.max.bytes"
US_PER_SECOND = 1_000_000
INT_MAX = (1 << 31) - 1
"""Of Java; Utils.abs of the int below is 0."""


@dataclass(frozen=True)
class Fetchers:
    """Those of a scenario. `response_max_bytes`: the least that any broker has in any round.

    Other times and rates as of docs/kafka_rounds.md, Fetches of a round.
    """

    round_us: int
    round_trip_us: int
    bytes_per_second: int
    response_max_bytes: int

    def most_bytes(self, followers: np.ndarray, in_fetch: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """What a fetcher brings in a round at most, all its followers together; for only one of them a fetch at least.

        `in_fetch`: bytes that a fetch brings all of them if all are behind, but for replica.fetch.response.max.bytes; `whole`:
        those of them in whole batches: what is cut off is sent and comes again.
        """
        in_fetch = np.maximum(np.asarray(in_fetch, float), 1.0)
        of_fetch = np.minimum(in_fetch, self.response_max_bytes)
        fetch_us = self.round_trip_us + of_fetch * US_PER_SECOND / self.bytes_per_second
        most = of_fetch * np.maximum(self.round_us / fetch_us, np.asarray(followers) <= 1)
        found: np.ndarray = most * whole / in_fetch
        return found


def fetchers_of_scenario(scenario: Scenario) -> Fetchers | None:
    """The fetchers of a scenario; None where a round has so many fetches whatever they take (`fetches_per_round`)."""
    if scenario.fetching.per_round is not None:
        return None
    responses = BrokerConfigs(scenario, (RESPONSE_MAX,)).ever(RESPONSE_MAX)
    fetching = scenario.fetching
    return Fetchers(
        scenario.round_ms * 1000,
        fetching.round_trip_us,
        fetching.bytes_per_second,
        min(responses),
    )


def fetchers_of_partitions(scenario: Scenario) -> np.ndarray:
    """By partition_id which of the fetchers of two brokers followers of it have (AbstractFetcherManager.getFetcherId)."""
    per_pair = int(effective(scenario.config, {}, FETCHERS))
    of_topics = [
        (np.abs(_int32(31 * java_hash(topic.name) + np.arange(topic.partitions, dtype=np.int64))) & INT_MAX) % per_pair
        for topic in scenario.topics
    ]
    return np.concatenate([np.zeros(0, np.int64), *of_topics])


def java_hash(text: str) -> int:
    """String.hashCode of Java.

    >>> java_hash("orders"), java_hash("replication-emulator")
    (-1008770331, 1293825014)
    """
    units = np.frombuffer(text.encode("utf-16-be"), ">u2").tolist()
    return int(_int32(np.array(reduce(lambda found, unit: (31 * found + unit) & 0xFFFFFFFF, units, 0), np.int64)))


def _int32(values: np.ndarray) -> np.ndarray:
    """What Java's int holds of whole numbers."""
    return (values + (1 << 31)) % (1 << 32) - (1 << 31)
