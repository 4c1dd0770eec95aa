"""What brokers' copier threads and copy quotas (KIP-956) allow over time (docs/tiered_rounds.md, Copies in turn)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.most_replicas import most_replicas
from emulator.inputs.storage_settings import QUOTA_WINDOW_MS, may_copy
from emulator.scenario import Scenario, config_keys

THREADS = "remote.log.manager.copier.thread.pool.size"
QUOTA = "remote.log.manager.copy.max.bytes.per.second"

MOST_BY_DEFAULT = 50_000
"""Partitions of a scenario up to which the default number of threads holds; more take turns only where the key is set."""


def limits_copying(scenario: Scenario) -> bool:
    """Whether copies of partitions on one broker may compete in any round, for its threads or its quota.

    For threads only where a copy takes time.
    """
    threads, quotas = BrokerConfigs(scenario, (THREADS,)), BrokerConfigs(scenario, (QUOTA,))
    has_quota = min(quotas.ever(QUOTA)) < config_keys.NEVER
    takes_time = scenario.remote_storage.copy_bytes_per_second is not None or _slows_store(scenario)
    are_few = sum(topic.partitions for topic in scenario.topics) <= MOST_BY_DEFAULT
    has_threads = takes_time and (threads.are_set or are_few)
    if not has_quota and not has_threads:
        return False
    most = most_replicas(scenario, [t for t in scenario.topics if may_copy(scenario, t.config, scenario.alterations[t.name])])
    return (has_quota and most > 1) or (has_threads and most > min(threads.ever(THREADS)))


def _slows_store(scenario: Scenario) -> bool:
    return "slow_remote_storage" in scenario.faults.column("kind").to_pylist()


UNLIMITED = 1 << 62


@dataclass(frozen=True, eq=False)
class CopyBudgets:
    """Of one scenario. `from_round`: where they change, from round 0 on; by it and place of the broker by id `threads`, and
    `window_bytes`: the most that copies begun in the quota's window may have for another to begin, UNLIMITED without a quota.
    """

    from_round: np.ndarray
    threads: np.ndarray
    window_bytes: np.ndarray

    def threads_at(self, round_: int) -> list[int]:
        """The threads of each broker in a round."""
        found: list[int] = self.threads[self._row(round_)].tolist()
        return found

    def window_bytes_at(self, round_: int) -> list[int]:
        """`window_bytes` of each broker in a round."""
        found: list[int] = self.window_bytes[self._row(round_)].tolist()
        return found

    def _row(self, round_: int) -> int:
        return int(np.searchsorted(self.from_round, round_, "right")) - 1


def copy_budgets(scenario: Scenario) -> CopyBudgets | None:
    """The copy budgets of a scenario's brokers, None where its copies never compete."""
    if not limits_copying(scenario):
        return None
    of_brokers = BrokerConfigs(scenario, (THREADS, QUOTA))
    rounds = of_brokers.from_rounds()
    threads = of_brokers.by_round(THREADS, rounds).astype(np.int64)
    window_ms = window_rounds(scenario.round_ms) * scenario.round_ms
    per_window = [
        [UNLIMITED if value >= config_keys.NEVER else value * window_ms // 1000 for value in row]
        for row in of_brokers.by_round(QUOTA, rounds).tolist()
    ]
    return CopyBudgets(np.array(rounds, np.int64), threads, np.array(per_window, np.int64))


def window_rounds(round_ms: int) -> int:
    """Rounds of the quota's window, as of rounds/kafka/tier/within_quota.py."""
    return max(1, QUOTA_WINDOW_MS // round_ms)
