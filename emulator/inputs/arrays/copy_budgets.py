"""What brokers' copier threads and copy quotas (KIP-956) allow over time (docs/tiered_rounds.md, Shared copying)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator import configs
from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.placement import most_replicas
from emulator.inputs.storage_settings import alterations_of, may_copy
from emulator.scenario import Scenario

THREADS = "remote.log.manager.copier.thread.pool.size"
QUOTA = "remote.log.manager.copy.max.bytes.per.second"


def limits_copying(scenario: Scenario) -> bool:
    """Whether copies of partitions on one broker may compete in any round, for its threads or its quota.

    For threads only where their number is set: with Kafka's default nearly every fleet would have edges.
    """
    threads, quotas = BrokerConfigs(scenario, (THREADS,)), BrokerConfigs(scenario, (QUOTA,))
    has_quota = min(quotas.ever(QUOTA)) < configs.NEVER
    takes_time = scenario.remote_storage.copy_bytes_per_second is not None or _slows_store(scenario)
    has_threads = takes_time and threads.are_set
    if not has_quota and not has_threads:
        return False
    most = most_replicas(scenario, [t for t in scenario.topics if may_copy(scenario, t.config, alterations_of(scenario, t.name))])
    return (has_quota and most > 1) or (has_threads and most > min(threads.ever(THREADS)))


def _slows_store(scenario: Scenario) -> bool:
    return "slow_remote_storage" in scenario.faults.column("kind").to_pylist()


@dataclass(frozen=True, eq=False)
class CopyBudgets:
    """Of one scenario. `from_round`: where they change, from round 0 on; `threads`, `quotas` (bytes per round, infinite without
    one): by it and place of the broker by id.
    """

    from_round: np.ndarray
    threads: np.ndarray
    quotas: np.ndarray

    def at(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        """The threads and quotas in force in a round."""
        row = int(np.searchsorted(self.from_round, round_, "right")) - 1
        return self.threads[row], self.quotas[row]


def copy_budgets(scenario: Scenario) -> CopyBudgets | None:
    """The copy budgets of a scenario's brokers, None where its copies never compete."""
    if not limits_copying(scenario):
        return None
    of_brokers = BrokerConfigs(scenario, (THREADS, QUOTA))
    rounds = of_brokers.from_rounds()
    threads, per_second = (of_brokers.by_round(key, rounds).astype(float) for key in (THREADS, QUOTA))
    quotas = np.where(per_second >= configs.NEVER, np.inf, per_second * scenario.round_ms / 1000)
    return CopyBudgets(np.array(rounds, np.int64), threads, quotas)
