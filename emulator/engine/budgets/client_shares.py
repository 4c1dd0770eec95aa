"""How a broker's network and disk are divided between producers, followers, consumers and copies.

Kafka has no priority among them (one data plane; KIP-291 sets only the controller's requests apart): each connection gets what
TCP gives it. So who asks for more than an even part of a budget gets it, by connection, and who asks for less gets all. A client
with a quota asks for no more than that (KIP-13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.bandwidth.sharing import floored, sums_by_budget
from emulator.engine.budgets.client_demands import DRAWS, OF_GROUPS, PARTIES, ClientDemands, ClientFlows, PartyRows, party_rows
from emulator.engine.budgets.demands import OF_FETCHER, Flows
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.reading.records import Reader
from emulator.rounds.kafka.state import State
from emulator.rounds.records import word_of

FOLLOWERS = len(PARTIES)
"""The place of followers behind the other parties (saturated.py)."""

DRAWN = np.array([[kind in DRAWS[party] for kind in KINDS] for party in PARTIES])
"""Flags by party and kind of budget: it draws on it."""

QUOTA_BYTES = word_of(Reader, "quota_bytes")

ENOUGH = 1e18
"""Bytes for anybody."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What clients ask for at an edge, by row and broker: in bytes per round, all of it and up to their quotas; over how many
    connections. `quota` by row, infinite for none.
    """

    rows: PartyRows
    quota: np.ndarray
    all: np.ndarray
    demand: np.ndarray
    connections: np.ndarray

    def by_budget(self, found: np.ndarray) -> np.ndarray:
        """By row and number of the budget what is known by row and broker, 0 where the row does not draw on it."""
        return np.where(DRAWN[self.rows.party][:, :, None], found[:, None, :], 0).reshape(len(found), -1)

    def least(self, found: np.ndarray) -> np.ndarray:
        """By row and broker the least that any budget gives, of those that the row draws on (`found`: by row and number)."""
        drawn = DRAWN[self.rows.party]
        least: np.ndarray = np.where(drawn[:, :, None], found.reshape(*drawn.shape, -1), ENOUGH).min(axis=1)
        return least


def asked_of(clients: ClientFlows, shared: SharedBudgets, round_: int) -> Asked:
    """What is asked for in a round."""
    rows = party_rows(shared.clients)
    quota = np.append(shared.clients.at(round_), np.inf)[rows.client]
    demand, connections = (values.reshape(len(rows.party), -1) for values in (clients.demand, clients.connections))
    return Asked(rows, quota, demand, np.minimum(demand, quota[:, None]), connections)


@dataclass(frozen=True, eq=False)
class ClientShares:
    """By row and broker (places): the `part` of its demand that it gets, and what that is, in bytes per round.

    `room`: by broker what copies have, and would have if there were more of them.
    """

    asked: Asked
    part: np.ndarray
    granted: np.ndarray
    room: np.ndarray

    def held(self) -> np.ndarray:
        """By party and broker, followers last (not known here): whether it was held back, by a budget or a client's quota."""
        found = np.zeros((len(PARTIES) + 1, self.part.shape[1]), bool)
        np.logical_or.at(found, self.asked.rows.party, self.part < 1)
        return found

    def short_of(self, left: np.ndarray) -> np.ndarray:
        """By number, whether the budget is what held somebody back: nothing is left of it (`left`)."""
        is_held = self.granted < self.asked.demand * (1 - 1e-9)
        return self.asked.by_budget(is_held).any(axis=0) & (left < 1)


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


def granted_to_clients(
    budget: np.ndarray, asked: Asked, fetches: Flows, draws: np.ndarray, connections_of_each: int
) -> np.ndarray:
    """Bytes that each row but followers gets of its broker, by row and place, before it is known what followers need less.

    `budget`: by number; `draws`: by flow the budgets that it draws on; `connections_of_each`: of each fetcher that asks for
    something.
    """
    threads = connections_of_each * _fetchers_of(budget, fetches, draws)
    wanted = sums_by_budget(fetches.demand, draws, len(budget))
    found = fair_parts(
        budget,
        np.vstack([asked.by_budget(asked.demand), wanted]),
        np.vstack([asked.by_budget(asked.connections), threads]),
    )
    return np.minimum(asked.demand, asked.least(found[:-1]))


def _fetchers_of(budget: np.ndarray, fetches: Flows, draws: np.ndarray) -> np.ndarray:
    """By number of the budget the fetchers that ask for something of it, be it with one of their flows only."""
    asking = np.flatnonzero(fetches.demand > 0)
    flow, column = np.nonzero(draws[asking] >= 0)
    fetcher = fetches.flow[asking][flow] // OF_FETCHER
    fetchers = int(fetcher.max(initial=0)) + 1
    of_budget = np.unique(draws[asking][flow, column] * fetchers + fetcher) // fetchers
    return np.bincount(of_budget, minlength=len(budget))


def given_back(budget: np.ndarray, asked: Asked, granted: np.ndarray, fetched: np.ndarray) -> np.ndarray:
    """The same when it is known what followers fetch of each budget (`fetched`, by number): the others have what they leave."""
    left = budget - fetched - drawn_by_clients(asked, granted)
    found = fair_parts(left, asked.by_budget(asked.demand - granted), asked.by_budget(asked.connections))
    return np.minimum(asked.demand, granted + asked.least(found))


def drawn_by_clients(asked: Asked, granted: np.ndarray) -> np.ndarray:
    """Bytes by number of the budget that clients draw on it."""
    drawn: np.ndarray = asked.by_budget(granted).sum(axis=0)
    return drawn


def who_may_draw(asked: Asked) -> np.ndarray:
    """By number of the budget: connections but followers' that may draw on what is left of it; producers have sent all."""
    found = asked.by_budget(asked.connections)
    found[asked.rows.party == PARTIES.index("producers")] = 0
    of_all: np.ndarray = found.sum(axis=0)
    return of_all


def client_shares_of(asked: Asked, granted: np.ndarray, left: np.ndarray) -> ClientShares:
    """The parts of demands that were granted. `left`: by number of the budget what nobody asked for."""
    uploads = PARTIES.index("uploads")
    unused = left.reshape(len(KINDS), -1)[KINDS.index("network_out")]
    part = np.divide(granted, asked.all, out=np.ones(granted.shape), where=asked.all > 0)
    return ClientShares(asked, np.where(part > 1 - 1e-9, 1.0, part), granted, granted[uploads] + unused)


def limit_clients(state: State, asked: ClientDemands, shares: ClientShares) -> None:
    """Set what the producers, consumers and copies of a block may send until the next edge."""
    parts = np.asarray(state.partitions)
    parts["produce_quota_bytes"] = quotas_of_producers(asked, shares, parts["waiting_rounds"])
    if len(state.reading):
        state.readers.words[:, QUOTA_BYTES] = quotas_of_consumers(asked, shares)
    if len(state.tiers):
        np.asarray(state.tiers)["network_bytes"] = quotas_of_copies(asked, shares)


def quotas_of_producers(asked: ClientDemands, shares: ClientShares, waiting_rounds: np.ndarray) -> np.ndarray:
    """By partition, bytes per round up to the next edge; UNKNOWN: any."""
    own = asked["producers"]
    part = shares.part[own.row, own.broker]
    found = np.where((part < 1) | (waiting_rounds > 0), floored(own.demand * part), UNKNOWN)
    return _within_quotas(found, shares.asked, own.row)


def quotas_of_consumers(asked: ClientDemands, shares: ClientShares) -> np.ndarray:
    """By reader likewise; who reads remotely, or from a disk, waits for what its broker gets of that, too."""
    own, *others = (asked[party] for party in OF_GROUPS)
    part = shares.part[own.row, own.broker]
    for other in others:
        part = np.where(other.demand > 0, np.minimum(part, shares.part[other.row, other.broker]), part)
    found = np.where(part < 1, floored(own.demand * part), UNKNOWN)
    return _within_quotas(found, shares.asked, own.row)


def _within_quotas(found: np.ndarray, asked: Asked, row: np.ndarray) -> np.ndarray:
    """The same, but whoever may have all has no more than the client's quota, whatever comes up before the next edge."""
    quota = asked.quota[row]
    is_bound = (found == UNKNOWN) & np.isfinite(quota)
    return np.where(is_bound, floored(np.where(is_bound, quota, 0)), found)


def quotas_of_copies(asked: ClientDemands, shares: ClientShares) -> np.ndarray:
    """By replica what each copy of its broker may move in a round, as many as are under way; UNKNOWN: any number."""
    place, broker = PARTIES.index("uploads"), asked["uploads"].broker
    copies = shares.asked.connections[place]
    each = floored(shares.granted[place] / np.maximum(copies, 1))
    return np.where(shares.part[place] < 1, np.maximum(each, 1), UNKNOWN)[broker]
