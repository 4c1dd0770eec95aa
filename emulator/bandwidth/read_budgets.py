"""What brokers' reader threads and remote fetch quotas (KIP-956) allow, as a part of what is wanted."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np

from emulator import configs
from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.placement import most_replicas
from emulator.inputs.consumers import read_quota
from emulator.inputs.storage_settings import alterations_of, is_ever_tiered
from emulator.scenario import Scenario

THREADS = "remote.log.reader.threads"
QUOTA = "remote.log.manager.fetch.max.bytes.per.second"


def limits_reading(scenario: Scenario) -> bool:
    """Whether remote reads of several partitions on one broker may compete in any round, for its quota or its threads.

    For threads only where reads take time (`read_ms`) and a broker has more readers than they serve in a round.
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
    return most > 1 and (min(settings.ever(QUOTA)) < configs.NEVER or is_short)


def reads_per_thread(scenario: Scenario) -> int | None:
    """Remote reads that one thread makes in a round; None: they take no time."""
    read_ms = scenario.remote_storage.read_ms
    return max(1, scenario.round_ms // read_ms) if read_ms > 0 else None


class ReadBudgets:
    """The quota and the threads of a scenario's brokers."""

    def __init__(self, scenario: Scenario) -> None:
        self._configs = BrokerConfigs(scenario, (THREADS, QUOTA))
        self._reads_per_thread = reads_per_thread(scenario)
        self._round_ms = scenario.round_ms

    def part(self, round_: int, broker: int, demand: int, readers: int, partitions: int) -> float:
        """The part of what a broker's remote reads want in a round that it has for them, 1 where it has enough.

        demand: bytes that all of them want; readers: how many want any; partitions: of how many. What one partition's readers
        leave each other is a matter of the round itself.
        """
        if partitions <= 1 or demand <= 0:
            return 1.0
        quota = read_quota(self._configs.at(QUOTA, broker, round_), self._round_ms)
        reads = np.inf
        if self._reads_per_thread is not None:
            reads = self._configs.at(THREADS, broker, round_) * self._reads_per_thread
        return float(min(1.0, quota / demand, reads / readers))
