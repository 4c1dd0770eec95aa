"""What brokers' copier threads and copy quotas (KIP-956) allow, in bytes per round."""

from __future__ import annotations

import numpy as np

from emulator import configs
from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.placement import most_replicas
from emulator.bandwidth.sharing import share_out
from emulator.inputs.storage_settings import alterations_of, may_copy
from emulator.scenario import Scenario

THREADS = "remote.log.manager.copier.thread.pool.size"
QUOTA = "remote.log.manager.copy.max.bytes.per.second"


def limits_copying(scenario: Scenario) -> bool:
    """Whether copies of partitions on one broker may compete in any round, for its threads or its quota.

    For threads only where their number is set: with Kafka's default nearly every fleet would have edges, and partitions that are
    alike only if they are on the same brokers.
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


class CopyBudgets:
    """The copy budgets of a scenario's brokers: each has a quota, and threads that move so many bytes each."""

    def __init__(self, scenario: Scenario) -> None:
        self._configs = BrokerConfigs(scenario, (THREADS, QUOTA))
        self._round_ms = scenario.round_ms
        self._brokers = np.array([b.id for b in scenario.brokers], np.int64)

    def shared(
        self,
        round_: int,
        broker: np.ndarray,
        takes_time: np.ndarray,
        demand: np.ndarray,
        copiers: np.ndarray,
        store_bytes: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """By flow, (the part of its demand that it gets, whether a budget holds it back).

        A flow is what some partitions copy from one broker. `takes_time`: the store has a rate for them, `store_bytes` a round at
        most; `copiers`: how many copy now. Who copies alone on its broker competes with nobody: its own rate and quota suffice.
        """
        place = np.searchsorted(self._brokers, broker)
        thread_bytes = np.zeros(len(self._brokers))
        np.maximum.at(thread_bytes, place[takes_time], store_bytes[takes_time])
        budget = np.concatenate([self._quotas(round_), self._values(THREADS, round_) * thread_bytes])
        draws = np.column_stack([place, np.where(takes_time, len(self._brokers) + place, -1)])
        draws[np.bincount(place, copiers)[place] <= 1] = -1
        shares = share_out(budget, demand, copiers, draws)
        return shares.part, ((draws >= 0) & shares.saturated[draws]).any(axis=1)

    def _quotas(self, round_: int) -> np.ndarray:
        per_second = self._values(QUOTA, round_)
        return np.where(per_second >= configs.NEVER, np.inf, per_second * self._round_ms / 1000)

    def _values(self, key: str, round_: int) -> np.ndarray:
        return np.array([self._configs.at(key, int(broker), round_) for broker in self._brokers], float)
