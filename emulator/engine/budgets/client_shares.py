"""How a broker's network and disk are divided between producers, followers, consumers and copies.

Kafka has no priority among them (one data plane; KIP-291 sets only the controller's requests apart): each connection gets what
TCP gives it. So who asks for more than an even part of a budget gets it, by connection, and who asks for less gets all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.engine.budgets.client_demands import DRAWS, PARTIES, ClientDemands, ClientFlows
from emulator.engine.budgets.demands import Flows
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.records import word_of

FOLLOWERS = len(PARTIES)
"""The place of followers behind the other parties."""

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
        found = np.zeros((len(KINDS), self.part.shape[1]), bool)
        for place, party in enumerate(PARTIES):
            for kind in DRAWS[party]:
                found[KINDS.index(kind)] |= self.part[place] < 1
        return found.reshape(-1) & (left < 1)


def fair_parts(budget: np.ndarray, demand: np.ndarray, connections: np.ndarray) -> np.ndarray:
    """Max-min fair parts of budgets by connection: what each party (row) gets of each budget (column).

    All connections' rates rise together; a party that has all it asks for leaves the rest to the others.
    """
    left, granted, asks = np.clip(budget.astype(float), 0.0, ENOUGH), np.zeros(demand.shape), demand > 0
    for _ in range(len(demand)):
        sharers = np.where(asks, connections, 0).sum(axis=0)
        level = np.divide(left, sharers, out=np.full(len(left), ENOUGH), where=sharers > 0)
        has_all = asks & (demand <= level * connections)
        granted = np.where(has_all, demand, granted)
        left = np.maximum(left - np.where(has_all, demand, 0).sum(axis=0), 0.0)
        asks &= ~has_all
    sharers = np.where(asks, connections, 0).sum(axis=0)
    level = np.divide(left, sharers, out=np.zeros(len(left)), where=sharers > 0)
    return np.where(asks, level * connections, granted)


def granted_to_clients(budget: np.ndarray, clients: ClientFlows, fetches: Flows, fetchers: int) -> np.ndarray:
    """Bytes that each party but followers gets of its broker, by party and place, before it is known what followers need less.

    `budget`: by number; `fetchers`: threads, and connections, of a pair of brokers (num.replica.fetchers).
    """
    brokers = len(budget) // len(KINDS)
    demand = clients.demand.reshape(len(PARTIES), brokers)
    granted = demand.astype(float)
    for kind in KINDS[:3]:
        wanted, connections = _asked_of(kind, clients, fetches, fetchers, brokers)
        number = KINDS.index(kind) * brokers
        found = fair_parts(budget[number : number + brokers], wanted, connections)
        for place, party in enumerate(PARTIES):
            if kind in DRAWS[party]:
                granted[place] = np.minimum(granted[place], found[place])
    return granted


def given_back(budget: np.ndarray, clients: ClientFlows, granted: np.ndarray, fetched: np.ndarray) -> np.ndarray:
    """The same when it is known what followers fetch of each budget (`fetched`, by number): the others have what they leave."""
    brokers = granted.shape[1]
    demand, connections = (rows.reshape(granted.shape) for rows in (clients.demand, clients.connections))
    more = np.full(granted.shape, ENOUGH)
    for kind in KINDS[:3]:
        draws = np.array([kind in DRAWS[party] for party in PARTIES])[:, None]
        numbers = slice(KINDS.index(kind) * brokers, (KINDS.index(kind) + 1) * brokers)
        left = budget[numbers] - fetched[numbers] - np.where(draws, granted, 0).sum(axis=0)
        found = fair_parts(left, np.where(draws, demand - granted, 0), connections)
        more = np.where(draws, np.minimum(more, found), more)
    return np.minimum(demand, granted + more)


def drawn_by_clients(granted: np.ndarray) -> np.ndarray:
    """Bytes by number of the budget that parties draw on it."""
    found = np.zeros((len(KINDS), granted.shape[1]))
    for place, party in enumerate(PARTIES):
        for kind in DRAWS[party]:
            found[KINDS.index(kind)] += granted[place]
    return found.reshape(-1)


def who_may_draw(clients: ClientFlows, brokers: int) -> np.ndarray:
    """By number of the budget: connections that may draw on what is left of it, beside followers."""
    found = np.zeros((len(KINDS), brokers))
    for party in ("consumers", "uploads", "downloads"):
        for kind in DRAWS[party]:
            found[KINDS.index(kind)] += clients.connections.reshape(len(PARTIES), brokers)[PARTIES.index(party)]
    return found.reshape(-1)


def client_shares_of(clients: ClientFlows, granted: np.ndarray) -> ClientShares:
    """The parts of demands that were granted."""
    demand = clients.demand.reshape(granted.shape)
    part = np.divide(granted, demand, out=np.ones(granted.shape), where=demand > 0)
    return ClientShares(np.where(part > 1 - 1e-9, 1.0, part), granted)


def _asked_of(kind: str, clients: ClientFlows, fetches: Flows, fetchers: int, brokers: int) -> tuple[np.ndarray, np.ndarray]:
    """(demand, connections) of all parties, followers last, on budgets of a kind."""
    draws = np.array([kind in DRAWS[party] for party in PARTIES])[:, None]
    demand = np.where(draws, clients.demand.reshape(len(PARTIES), brokers), 0)
    connections = clients.connections.reshape(len(PARTIES), brokers)
    pair = fetches.flow // 4
    at = pair // brokers if kind == "network_out" else pair % brokers
    wanted = np.bincount(at, weights=fetches.demand, minlength=brokers)
    pairs = np.unique(pair[fetches.demand > 0])
    at = pairs // brokers if kind == "network_out" else pairs % brokers
    threads = np.bincount(at, minlength=brokers) * fetchers
    return np.vstack([demand, wanted]), np.vstack([connections, threads])


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
    copies = flows.connections.reshape(shares.part.shape)[place]
    each = np.floor(shares.granted[place] / np.maximum(copies, 1)).astype(np.int64)
    return np.where(shares.part[place] < 1, np.maximum(each, 1), UNKNOWN)[broker]
