"""What brokers' reader threads and remote fetch quotas (KIP-956) and consumers' fetches allow, as parts of what is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from emulator import configs
from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.placement import most_replicas
from emulator.inputs.consumers import read_quota, reads_per_thread
from emulator.inputs.fetching import fetching_members
from emulator.inputs.storage_settings import alterations_of, is_ever_tiered
from emulator.scenario import Scenario

THREADS = "remote.log.reader.threads"
QUOTA = "remote.log.manager.fetch.max.bytes.per.second"

BY_ITSELF = -1
"""The fetch of readers that share theirs with no other partition."""


@dataclass(frozen=True)
class Wanted:
    """What readers want of a broker in a round: bytes, bytes at the most that their fetches bring, how many they are."""

    demand: int
    most: int
    readers: int


class Part(NamedTuple):
    """What a reader gets: so large a part of the rounds' reads, and of what it wants, at most that much, so large a part."""

    turn: float
    quota: float


def limits_reading(scenario: Scenario) -> bool:
    """Whether remote reads of several partitions on one broker may compete in any round: for its quota, its threads, a fetch.

    For threads only where reads take time (`read_ms`) and a broker has more readers than they serve in a round; for fetches where
    a group has fewer members than partitions.
    """
    if not scenario.consumers:
        return False
    read = [
        t
        for t in scenario.topics
        if any(fnmatchcase(t.name, row.topic) for row in scenario.consumers)
        and is_ever_tiered(scenario, t.config, alterations_of(scenario, t.name))
    ]
    most = most_replicas(scenario, read)
    settings = BrokerConfigs(scenario, (THREADS, QUOTA))
    readers = most * len({row.group for row in scenario.consumers})
    reads = reads_per_thread(scenario)
    is_short = reads is not None and readers > min(settings.ever(THREADS)) * reads
    return most > 1 and (min(settings.ever(QUOTA)) < configs.NEVER or is_short or bool(fetching_members(scenario)))


class ReadBudgets:
    """The quota and the threads of a scenario's brokers."""

    def __init__(self, scenario: Scenario) -> None:
        self._configs = BrokerConfigs(scenario, (THREADS, QUOTA))
        self._reads_per_thread = reads_per_thread(scenario)
        self._round_ms = scenario.round_ms

    def parts(self, round_: int, broker: int, wanted: Mapping[int, Wanted], partitions: int) -> dict[int, Part]:
        """What a broker's remote reads get in a round, by fetch; those that get less than they could take.

        wanted: by fetch; BY_ITSELF has those of many fetches, any other one lets one of its readers through. partitions: how many
        are read remotely from the broker. What one partition's readers leave each other is a matter of the round itself.
        """
        if partitions <= 1:
            return {}
        turns = {fetch: 1.0 if fetch == BY_ITSELF else 1 / of.readers for fetch, of in wanted.items()}
        reads = sum(turns[fetch] * of.readers for fetch, of in wanted.items())
        served = 1.0
        if self._reads_per_thread is not None:
            served = min(1.0, self._configs.at(THREADS, broker, round_) * self._reads_per_thread / reads)
        turns = {BY_ITSELF: served, **{fetch: turn * served for fetch, turn in turns.items()}}
        demand = sum(min(of.demand, of.most * turns[fetch]) for fetch, of in wanted.items())
        quota = read_quota(self._configs.at(QUOTA, broker, round_), self._round_ms)
        of_quota = min(1.0, quota / demand) if demand > 0 else 1.0
        return {fetch: Part(turn, of_quota) for fetch, turn in turns.items() if turn < 1 or of_quota < 1}
