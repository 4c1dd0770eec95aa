"""What brokers' copier threads and copy quotas leave each copy until the next quota edge (docs/tiered_rounds.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.bandwidth.sharing import share_out
from emulator.engine.budgets.copy_demands import CopyDemands, CopyFlows
from emulator.inputs.arrays.copy_budgets import CopyBudgets
from emulator.rounds.kafka.constants import UNKNOWN


@dataclass(frozen=True, eq=False)
class CopyShares:
    """By flow that a budget holds back, ascending: the part of their demands that copies get. Others have no shares."""

    flow: np.ndarray
    part: np.ndarray

    @property
    def is_short(self) -> bool:
        """Whether a broker's budget is used up."""
        return len(self.flow) > 0


def copy_shares_of(flows: CopyFlows, budgets: CopyBudgets, round_: int) -> CopyShares:
    """Share out the budgets of a round. Who copies alone on its broker competes with nobody: its own rate and quota suffice."""
    threads, quotas = budgets.at(round_)
    broker, takes_time = np.divmod(flows.flow, 2)
    thread_bytes = np.zeros(len(threads))
    np.maximum.at(thread_bytes, broker, flows.store_bytes)
    draws = np.column_stack([broker, np.where(takes_time == 1, len(threads) + broker, -1)])
    draws[np.bincount(broker, flows.copiers, len(threads))[broker] <= 1] = -1
    shares = share_out(np.concatenate([quotas, threads * thread_bytes]), flows.demand, flows.copiers, draws)
    held_back = ((draws >= 0) & shares.saturated[draws]).any(axis=1)
    return CopyShares(flows.flow[held_back], shares.part[held_back])


def bytes_of_copies(asked: CopyDemands, shares: CopyShares) -> np.ndarray:
    """By replica, bytes per round that its copies may move up to the next edge, 1 at least; UNKNOWN: any."""
    found = np.full(len(asked.flow), UNKNOWN, np.int64)
    held_back = np.flatnonzero(np.isin(asked.flow, shares.flow))
    part = shares.part[np.searchsorted(shares.flow, asked.flow[held_back])]
    found[held_back] = np.maximum(np.floor(asked.demand[held_back] * part), 1)
    return found
