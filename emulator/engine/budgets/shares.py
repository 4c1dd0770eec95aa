"""Shares of brokers' budgets for the flows of an edge, and the quotas that they give followers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.bandwidth.sharing import floored, left_for_each, share_out, sums_by_budget
from emulator.engine.budgets.client_demands import ClientFlows
from emulator.engine.budgets.client_shares import (
    FOLLOWERS,
    ClientShares,
    asked_of,
    client_shares_of,
    drawn_by_clients,
    fair_parts,
    given_back,
    granted_to_clients,
    who_may_draw,
)
from emulator.engine.budgets.demands import (
    BY_FOLLOWER,
    BY_LEADER,
    FROM_DISK,
    IN_SYNC,
    NO_FLOW,
    OF_FETCHER,
    SIZE,
    Demands,
    Flows,
    brokers_of,
)
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import UNKNOWN


@dataclass(frozen=True, eq=False)
class FlowShares:
    """By flow, ascending: what its fetcher brings each follower at most, the part of their demands up to that which followers
    get, and what each may fetch beyond; infinite without a limit.

    `used_up`: numbers of the budgets that held somebody back, and behind those of who was held back (saturated.py).
    """

    flow: np.ndarray
    level: np.ndarray
    part: np.ndarray
    extra: np.ndarray
    used_up: np.ndarray

    @property
    def is_short(self) -> bool:
        """Whether something was used up."""
        return len(self.used_up) > 0


def shares_of(flows: Flows, clients: ClientFlows, shared: SharedBudgets, round_: int) -> tuple[FlowShares, ClientShares]:
    """Share out the budgets of a round: between followers and all others by connection, then between followers.

    What followers ask for is what their fetchers would bring them; these bring all that are behind alike. A throttle counts what
    those in sync ask for and holds the others alone: to them it leaves the rest (ReplicaFetcherThread.processPartitionData,
    KafkaApis.sizeOfThrottledPartitions; ReplicaManager.shouldLeaderThrottle, shouldFollowerThrottle).
    """
    brokers = len(shared.brokers)
    fetcher, flags = np.divmod(flows.flow, OF_FETCHER)
    source, broker = brokers_of(fetcher, shared)
    first = {kind: number * brokers for number, kind in enumerate(KINDS)}
    throttles = np.column_stack([
        np.where(flags & BY_LEADER, first["leader_throttle"] + source, -1),
        np.where(flags & BY_FOLLOWER, first["follower_throttle"] + broker, -1),
    ])  # fmt: skip
    is_held = flags & IN_SYNC == 0
    draws = np.column_stack([
        first["network_in"] + broker,
        first["network_out"] + source,
        first["disk"] + broker,
        np.where(flags & FROM_DISK, first["disk"] + source, -1),
        np.where(is_held[:, None], throttles, -1),
    ])  # fmt: skip
    draws[flows.followers == 0] = -1  # leaders, which only append
    asked = asked_of(clients, shared, round_)
    of_fetchers = _OfFetchers(flows, fetcher, shared)
    demand = of_fetchers.brought(flows)
    budget = shared.at(round_)
    in_sync = sums_by_budget(demand, np.where(is_held[:, None], -1, throttles), len(budget))
    budget = np.maximum(budget - in_sync, 0.0)
    granted = granted_to_clients(budget, asked, replace(flows, demand=demand), draws, of_fetchers.connections_of_each)
    shares = share_out(budget - drawn_by_clients(asked, granted), demand, flows.asking, draws)
    fetched = sums_by_budget(demand * shares.part, draws, len(budget))
    granted = given_back(budget, asked, granted, fetched)
    left = np.maximum(budget - drawn_by_clients(asked, granted) - fetched, 0.0)
    extra = left_for_each(left, flows.followers, draws, who_may_draw(asked))
    extra = np.minimum(extra, of_fetchers.left_for_each(demand * shares.part))
    of_clients = client_shares_of(asked, granted, left)
    is_short = shares.saturated | of_clients.short_of(left)
    held = of_clients.held()
    held[FOLLOWERS, broker[(shares.part < 1) | (demand < flows.demand)]] = True
    numbers = np.concatenate([np.flatnonzero(is_short), len(budget) + np.flatnonzero(held.reshape(-1))])
    return FlowShares(flows.flow, of_fetchers.level, shares.part, extra, numbers), of_clients


class _OfFetchers:
    """What fetchers bring, by flow (`fetcher`: of each); nothing holds anybody where none is shared."""

    def __init__(self, flows: Flows, fetcher: np.ndarray, shared: SharedBudgets) -> None:
        self.connections_of_each = shared.fetchers_per_pair
        self.level = np.full(len(flows.flow), np.inf)
        """By flow, bytes of a round up to which each of its followers gets what it asks for."""
        self._budget = np.zeros(0)
        if shared.fetchers is None:
            return
        self.connections_of_each = 1
        there, self._own = np.unique(fetcher, return_inverse=True)

        def of_each(of_flow: np.ndarray) -> np.ndarray:
            return np.bincount(self._own, of_flow, len(there))

        self._followers = of_each(flows.followers)
        self._budget = shared.fetchers.most_bytes(self._followers, of_each(flows.in_fetch), of_each(flows.whole))
        # Who asks for about as much is one party: flows of a size, whatever else they have.
        sizes, of_size = np.unique(flows.flow % OF_FETCHER // SIZE, return_inverse=True)
        demand, connections = np.zeros((2, len(sizes), len(there)))
        np.add.at(demand, (of_size, self._own), flows.demand)
        np.add.at(connections, (of_size, self._own), flows.followers)
        granted = fair_parts(self._budget, demand, connections)
        each = np.divide(granted, connections, out=np.full(granted.shape, np.inf), where=connections > 0)
        level = np.where(granted < demand * (1 - 1e-9), each, np.inf).min(axis=0)
        self.level = level[self._own]

    def brought(self, flows: Flows) -> np.ndarray:
        """By flow, what its followers ask for and its fetcher can bring."""
        is_held = np.isfinite(self.level)
        level = np.where(is_held, self.level, 0.0)
        found: np.ndarray = np.where(is_held, np.minimum(flows.demand, flows.followers * level), flows.demand)
        return found

    def left_for_each(self, fetched: np.ndarray) -> np.ndarray:
        """By flow, what is left for each follower of its fetcher. `fetched`: by flow what it brings."""
        if not len(self._budget):
            return np.full(len(fetched), np.inf)
        left = np.maximum(self._budget - np.bincount(self._own, fetched, len(self._budget)), 0.0)
        each = np.divide(left, self._followers, out=np.full(len(left), np.inf), where=self._followers > 0)
        found: np.ndarray = each[self._own]
        return found


def quotas_of(asked: Demands, shares: FlowShares) -> np.ndarray:
    """By replica, bytes per round up to the next edge; UNKNOWN: any."""
    quotas = np.full(len(asked.flow), UNKNOWN, np.int64)
    has_flow = np.flatnonzero(asked.flow != NO_FLOW)
    at = np.searchsorted(shares.flow, asked.flow[has_flow])
    is_limited = np.isfinite(shares.extra[at])
    limited, at = has_flow[is_limited], at[is_limited]
    wanted = np.minimum(asked.demand[limited], shares.level[at])
    quotas[limited] = floored(wanted * shares.part[at] + shares.extra[at])
    return quotas
