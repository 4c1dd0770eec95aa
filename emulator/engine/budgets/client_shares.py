"""How a broker's network and disk are divided between producers, followers, consumers and copies.

Kafka has no priority among them (one data plane; KIP-291 sets only the controller's requests apart): each connection gets what
TCP gives it. So who asks for more than an even part of a budget gets it, by connection, and who asks for less gets all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.bandwidth.sharing import sums_by_budget
from emulator.engine.budgets.client_demands import DRAWS, PARTIES, ClientDemands, ClientFlows
from emulator.engine.budgets.demands import Flows
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.records import word_of

FOLLOWERS = len(PARTIES)
"""The place of followers behind the other parties."""

DRAWN = np.array([[kind in DRAWS[party] for kind in KINDS] for party in PARTIES])
"""Flags by party and kind of budget: it draws on it."""

QUOTA_BYTES = word_of(Reader, "quota_bytes")

ENOUGH = 1e18
"""Bytes for anybody."""


@dataclass(frozen=True, eq=False)
class ClientShares:
    """By party and broker (places): the `part` of its demand that it gets, and what that is, in bytes per round."""

    part: np.ndarray
    granted: np.ndarray

    def held(self) -> np.ndarray:
        """By party and broker, followers last (not known here): whether it was held back."""
        return np.vstack([self.part < 1, np.zeros((1, self.part.shape[1]), bool)])

    def short_of(self, left: np.ndarray) -> np.ndarray:
        """By number, whether the budget is what held a party back: nothing is left of it (`left`)."""
        return by_budget(self.part < 1).any(axis=0) & (left < 1)


def by_budget(rows: np.ndarray) -> np.ndarray:
    """By party and number of the budget what is known by party and broker (`rows`), 0 where the party does not draw on it."""
    return np.where(DRAWN[:, :, None], rows[:, None, :], 0).reshape(len(PARTIES), -1)


def least_of_budgets(found: np.ndarray) -> np.ndarray:
    """By party and broker the least that any budget gives, of those that the party draws on (`found`: by party and number)."""
    least: np.ndarray = np.where(DRAWN[:, :, None], found.reshape(*DRAWN.shape, -1), ENOUGH).min(axis=1)
    return least


def fair_parts(budget: np.ndarray, demand: np.ndarray, connections: np.ndarray) -> np.ndarray:
    """Max-min fair parts of budgets by connection: what each party (row) gets of each budget (column).

    All connections' rates rise together; a party that has all it asks for leaves the rest to the others.
    """
    left, granted, asks = np.clip(budget.astype(float), 0.0, ENOUGH), np.zeros(demand.shape), demand > 0
    for _ in range(len(demand)):
        sharers = np.where(asks, connections, 0).sum(axis=0)
        level = np.divide(left, sharers, out=np.full(len(left), ENOUGH), where=sharers > 0)
        has_all = asks & (demand <= level * connections)
        if not has_all.any():
            break
        granted = np.where(has_all, demand, granted)
        left = np.maximum(left - np.where(has_all, demand, 0).sum(axis=0), 0.0)
        asks &= ~has_all
    sharers = np.where(asks, connections, 0).sum(axis=0)
    level = np.divide(left, sharers, out=np.zeros(len(left)), where=sharers > 0)
    return np.where(asks, level * connections, granted)


def granted_to_clients(budget: np.ndarray, clients: ClientFlows, fetches: Flows, draws: np.ndarray, fetchers: int) -> np.ndarray:
    """Bytes that each party but followers gets of its broker, by party and place, before it is known what followers need less.

    `budget`: by number; `draws`: by flow the budgets that it draws on; `fetchers`: threads, and connections, of a pair of brokers
    (num.replica.fetchers).
    """
    asking = np.flatnonzero(fetches.demand > 0)
    _, first = np.unique(fetches.flow[asking] // 4, return_index=True)
    threads = sums_by_budget(np.full(len(first), fetchers), draws[asking[first]], len(budget))
    wanted = sums_by_budget(fetches.demand, draws, len(budget))
    demand, connections = _by_party(clients)
    found = fair_parts(budget, np.vstack([by_budget(demand), wanted]), np.vstack([by_budget(connections), threads]))
    return np.minimum(demand, least_of_budgets(found[:FOLLOWERS]))


def given_back(budget: np.ndarray, clients: ClientFlows, granted: np.ndarray, fetched: np.ndarray) -> np.ndarray:
    """The same when it is known what followers fetch of each budget (`fetched`, by number): the others have what they leave."""
    demand, connections = _by_party(clients)
    left = budget - fetched - drawn_by_clients(granted)
    found = fair_parts(left, by_budget(demand - granted), by_budget(connections))
    return np.minimum(demand, granted + least_of_budgets(found))


def drawn_by_clients(granted: np.ndarray) -> np.ndarray:
    """Bytes by number of the budget that parties draw on it."""
    drawn: np.ndarray = by_budget(granted).sum(axis=0)
    return drawn


def who_may_draw(clients: ClientFlows) -> np.ndarray:
    """By number of the budget: connections but followers' that may draw on what is left of it; producers have sent all."""
    _, connections = _by_party(clients)
    found = by_budget(connections)
    found[PARTIES.index("producers")] = 0
    of_all: np.ndarray = found.sum(axis=0)
    return of_all


def _by_party(clients: ClientFlows) -> tuple[np.ndarray, np.ndarray]:
    """(demand, connections) by party and broker."""
    return clients.demand.reshape(len(PARTIES), -1), clients.connections.reshape(len(PARTIES), -1)


def client_shares_of(clients: ClientFlows, granted: np.ndarray) -> ClientShares:
    """The parts of demands that were granted."""
    demand, _ = _by_party(clients)
    part = np.divide(granted, demand, out=np.ones(granted.shape), where=demand > 0)
    return ClientShares(np.where(part > 1 - 1e-9, 1.0, part), granted)


def limit_clients(state: State, asked: ClientDemands, flows: ClientFlows, shares: ClientShares) -> None:
    """Set what the producers, consumers and copies of a block may send until the next edge."""
    parts = np.asarray(state.partitions)
    parts["produce_quota_bytes"] = quotas_of_producers(asked, shares, parts["waiting_rounds"])
    if len(state.reading):
        state.readers.words[:, QUOTA_BYTES] = quotas_of_consumers(asked, shares)
    if len(state.tiers):
        np.asarray(state.tiers)["network_bytes"] = quotas_of_copies(asked, flows, shares)


def quotas_of_producers(asked: ClientDemands, shares: ClientShares, waiting_rounds: np.ndarray) -> np.ndarray:
    """By partition, bytes per round up to the next edge; UNKNOWN: any."""
    own = asked["producers"]
    part = shares.part[PARTIES.index("producers")][own.broker]
    return np.where((part < 1) | (waiting_rounds > 0), np.floor(own.demand * part).astype(np.int64), UNKNOWN)


def quotas_of_consumers(asked: ClientDemands, shares: ClientShares) -> np.ndarray:
    """By reader likewise; who reads remotely waits for what its broker gets of the store, too."""
    own, downloads = asked["consumers"], asked["downloads"]
    part = shares.part[PARTIES.index("consumers")][own.broker]
    of_downloads = shares.part[PARTIES.index("downloads")][own.broker]
    part = np.where(downloads.demand > 0, np.minimum(part, of_downloads), part)
    return np.where(part < 1, np.floor(own.demand * part).astype(np.int64), UNKNOWN)


def quotas_of_copies(asked: ClientDemands, flows: ClientFlows, shares: ClientShares) -> np.ndarray:
    """By replica what each copy of its broker may move in a round, as many as are under way; UNKNOWN: any number."""
    place, broker = PARTIES.index("uploads"), asked["uploads"].broker
    _, connections = _by_party(flows)
    copies = connections[place]
    each = np.floor(shares.granted[place] / np.maximum(copies, 1)).astype(np.int64)
    return np.where(shares.part[place] < 1, np.maximum(each, 1), UNKNOWN)[broker]
