"""Shares of brokers' budgets for the flows of an edge, and the quotas that they give followers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.bandwidth.sharing import left_for_each, share_out, sums_by_budget
from emulator.engine.budgets.client_demands import ClientFlows
from emulator.engine.budgets.client_shares import (
    FOLLOWERS,
    ClientShares,
    asked_of,
    client_shares_of,
    drawn_by_clients,
    given_back,
    granted_to_clients,
    who_may_draw,
)
from emulator.engine.budgets.demands import ALL_FLAGS, BY_FOLLOWER, BY_LEADER, FROM_DISK, NO_FLOW, Demands, Flows
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import UNKNOWN


@dataclass(frozen=True, eq=False)
class FlowShares:
    """By flow, ascending: the part of their demands that followers get, and what each may fetch beyond, infinite without a limit.

    `used_up`: numbers of the budgets that held somebody back, and behind those of who was held back (saturated.py).
    """

    flow: np.ndarray
    part: np.ndarray
    extra: np.ndarray
    used_up: np.ndarray

    @property
    def is_short(self) -> bool:
        """Whether something was used up."""
        return len(self.used_up) > 0


def shares_of(flows: Flows, clients: ClientFlows, shared: SharedBudgets, round_: int) -> tuple[FlowShares, ClientShares]:
    """Share out the budgets of a round: between followers and all others by connection, then between followers."""
    brokers = len(shared.brokers)
    pair, flags = np.divmod(flows.flow, ALL_FLAGS)
    source, broker = np.divmod(pair, brokers)
    first = {kind: number * brokers for number, kind in enumerate(KINDS)}
    budget = shared.at(round_)
    draws = np.column_stack([
        first["network_in"] + broker,
        first["network_out"] + source,
        first["disk"] + broker,
        np.where(flags & FROM_DISK, first["disk"] + source, -1),
        np.where(flags & BY_LEADER, first["leader_throttle"] + source, -1),
        np.where(flags & BY_FOLLOWER, first["follower_throttle"] + broker, -1),
    ])  # fmt: skip
    draws[flows.followers == 0] = -1  # leaders, which only append
    asked = asked_of(clients, shared, round_)
    granted = granted_to_clients(budget, asked, flows, draws, shared.fetchers)
    shares = share_out(budget - drawn_by_clients(asked, granted), flows.demand, flows.followers, draws)
    fetched = sums_by_budget(flows.demand * shares.part, draws, len(budget))
    granted = given_back(budget, asked, granted, fetched)
    left = np.maximum(budget - drawn_by_clients(asked, granted) - fetched, 0.0)
    extra = left_for_each(left, flows.followers, draws, who_may_draw(asked))
    of_clients = client_shares_of(asked, granted, left)
    is_short = shares.saturated | of_clients.short_of(left)
    held = of_clients.held()
    held[FOLLOWERS, broker[shares.part < 1]] = True
    numbers = np.concatenate([np.flatnonzero(is_short), len(budget) + np.flatnonzero(held.reshape(-1))])
    return FlowShares(flows.flow, shares.part, extra, numbers), of_clients


def quotas_of(asked: Demands, shares: FlowShares) -> np.ndarray:
    """By replica, bytes per round up to the next edge; UNKNOWN: any."""
    quotas = np.full(len(asked.flow), UNKNOWN, np.int64)
    has_flow = np.flatnonzero(asked.flow != NO_FLOW)
    at = np.searchsorted(shares.flow, asked.flow[has_flow])
    is_limited = np.isfinite(shares.extra[at])
    limited, at = has_flow[is_limited], at[is_limited]
    quotas[limited] = np.floor(asked.demand[limited] * shares.part[at] + shares.extra[at])
    return quotas
