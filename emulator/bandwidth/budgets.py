"""What brokers' network, disks and replication throttles allow, in bytes per round."""

from __future__ import annotations

import numpy as np

from emulator.bandwidth.broker_configs import BrokerConfigs
from emulator.bandwidth.client_quotas import limits_clients
from emulator.scenario import Scenario, config_keys

KINDS = ("network_in", "network_out", "disk", "leader_throttle", "follower_throttle")
"""What a broker has a budget of each; throttles count all throttled replicas and hold those outside the ISR."""

RATES = {"leader_throttle": "leader.replication.throttled.rate", "follower_throttle": "follower.replication.throttled.rate"}
"""Throttle -> the key of its rate in bytes per second."""


def limits_bandwidth(scenario: Scenario) -> bool:
    """Whether any budget of a broker is limited in any round, or a client has a quota there."""
    of_brokers = any(b.network_bytes_per_second or b.disk_bytes_per_second for b in scenario.brokers)
    return of_brokers or _throttles(scenario).are_set or limits_clients(scenario)


def _throttles(scenario: Scenario) -> BrokerConfigs:
    return BrokerConfigs(scenario, tuple(RATES.values()))


class Budgets:
    """The budgets of a scenario's brokers. `brokers`: their ids, ascending; a budget's number is kind x brokers + place."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._throttles = _throttles(scenario)
        self.brokers = np.array([b.id for b in scenario.brokers], np.int64)
        network = [b.network_bytes_per_second for b in scenario.brokers]
        disk = [b.disk_bytes_per_second for b in scenario.brokers]
        self._fixed = np.array([*network, *network, *disk], float)  # None becomes nan

    def at(self, round_: int) -> np.ndarray:
        """Bytes per round by number, infinite without a limit."""
        rates = [self._rate(key, int(broker), round_) for key in RATES.values() for broker in self.brokers]
        per_second = np.concatenate([self._fixed, np.array(rates, float)])
        return np.where(np.isnan(per_second), np.inf, per_second * self._scenario.round_ms / 1000)

    def numbers(self, kind: str, broker_ids: np.ndarray) -> np.ndarray:
        """The budgets' numbers of a kind for brokers."""
        return KINDS.index(kind) * len(self.brokers) + np.searchsorted(self.brokers, broker_ids)

    def _rate(self, key: str, broker: int, round_: int) -> int | None:
        rate = self._throttles.at(key, broker, round_)
        return None if rate == config_keys.LONG_MAX else rate
