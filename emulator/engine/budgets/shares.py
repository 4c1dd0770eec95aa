"""Shares of brokers' budgets for the flows of an edge, and the quotas that they give followers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.budgets import KINDS
from emulator.bandwidth.sharing import share_out
from emulator.engine.budgets.demands import NO_FLOW, Demands, Flows
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.rounds.kafka.constants import UNKNOWN


@dataclass(frozen=True, eq=False)
class FlowShares:
    """By flow, ascending: the part of their demands that followers get, and what each may fetch beyond, infinite without a limit.

    `used_up`: numbers of the budgets that held a flow back.
    """

    flow: np.ndarray
    part: np.ndarray
    extra: np.ndarray
    used_up: np.ndarray

    @property
    def is_short(self) -> bool:
        """Whether something was used up."""
        return len(self.used_up) > 0


def shares_of(flows: Flows, shared: SharedBudgets, round_: int) -> FlowShares:
    """Share out the budgets of a round; what leaders' clients append comes first."""
    brokers = len(shared.brokers)
    pair, throttles = np.divmod(flows.flow, 4)
    source, broker = np.divmod(pair, brokers)
    first = {kind: number * brokers for number, kind in enumerate(KINDS)}
    budget = shared.at(round_)
    for kind in ("network_in", "disk"):
        np.subtract.at(budget, first[kind] + source, flows.produced)
    draws = np.column_stack([
        first["network_in"] + broker,
        first["network_out"] + source,
        first["disk"] + broker,
        np.where(throttles & 2, first["leader_throttle"] + source, -1),
        np.where(throttles & 1, first["follower_throttle"] + broker, -1),
    ])  # fmt: skip
    draws[flows.followers == 0] = -1  # leaders, which only append
    shares = share_out(budget, flows.demand, flows.followers, draws)
    return FlowShares(flows.flow, shares.part, shares.extra, np.flatnonzero(shares.saturated))


def quotas_of(asked: Demands, shares: FlowShares) -> np.ndarray:
    """By replica, bytes per round up to the next edge; UNKNOWN: any."""
    quotas = np.full(len(asked.flow), UNKNOWN, np.int64)
    has_flow = np.flatnonzero(asked.flow != NO_FLOW)
    at = np.searchsorted(shares.flow, asked.flow[has_flow])
    is_limited = np.isfinite(shares.extra[at])
    limited, at = has_flow[is_limited], at[is_limited]
    quotas[limited] = np.floor(asked.demand[limited] * shares.part[at] + shares.extra[at])
    return quotas
