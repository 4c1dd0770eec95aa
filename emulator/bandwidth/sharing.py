"""Shares of brokers' budgets: what every flow between two brokers gets, no budget overdrawn.

A *flow* is what some followers on one broker fetch from leaders on another. It draws on several *budgets*: the network out of
the leaders' broker, the network into the followers', their disk, and throttles where they apply.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FULL = 1e-9
"""Share of a budget that counts as nothing left."""


@dataclass(frozen=True, eq=False)
class Shares:
    """`part`: by flow, of its demand what it gets (0 to 1). `saturated`: by budget, whether it kept a flow below its demand."""

    part: np.ndarray
    saturated: np.ndarray


def share_out(budget: np.ndarray, demand: np.ndarray, asking: np.ndarray, draws: np.ndarray) -> Shares:
    """Max-min fair rates of all followers.

    They rise together, as on connections; who has what it asks for leaves the rest to the others, and who draws on a budget that
    is used up stays where it is. So those that keep up, and ask for little, get it beside those that have all to fetch.

    `budget`: by budget, may be infinite; `demand`, `asking`: by flow, how many followers ask for it; `draws`: by flow, the
    budgets it draws on, -1 for none.
    """
    left = np.maximum(budget.astype(float), 0.0)
    granted = np.zeros(len(demand))
    saturated = np.zeros(len(budget), bool)
    rising = demand > 0
    each = np.divide(demand, asking, out=np.full(len(demand), np.inf), where=asking > 0)
    level = 0.0
    while rising.any():
        load = sums_by_budget(np.where(rising, asking, 0), draws, len(budget))
        room = np.divide(left, load, out=np.full(len(budget), np.inf), where=load > 0)
        step = room.min(initial=np.inf)
        met = rising & (each - level <= step * (1 + FULL))
        if met.any():
            granted[met] = demand[met]
            took = sums_by_budget(np.where(met, demand - asking * level, 0.0), draws, len(budget))
            left = np.maximum(left - took, 0.0)
            rising &= ~met
            continue
        level += step
        left = np.maximum(left - step * load, 0.0)
        empty = np.isfinite(budget) & (load > 0) & (left <= FULL * np.maximum(budget, 1.0))
        saturated |= empty
        held = rising & _draws_on(empty, draws)
        granted[held] = asking[held] * level
        rising &= ~held
    part = np.divide(granted, demand, out=np.ones(len(demand)), where=demand > 0)
    part[part > 1.0 - FULL] = 1.0
    return Shares(part, saturated)


def left_for_each(left: np.ndarray, followers: np.ndarray, draws: np.ndarray, others: np.ndarray | float = 0.0) -> np.ndarray:
    """By flow, what each of its followers may fetch beyond its part; infinite where it draws on no limited budget.

    What is left of a budget belongs to its followers in equal shares: a follower that falls behind before the budgets are shared
    out again catches up with that, and no budget is overdrawn whoever does. `left`: by budget; `followers`, `draws`: by flow;
    `others`: by budget, who else may draw on it.
    """
    sharers = sums_by_budget(followers, draws, len(left)) + others
    each = np.divide(left, sharers, out=np.full(len(left), np.inf), where=np.isfinite(left) & (sharers > 0))
    found: np.ndarray = np.where(draws >= 0, each[draws], np.inf).min(axis=1, initial=np.inf)
    return found


def floored(amount: np.ndarray) -> np.ndarray:
    """Whole bytes of amounts. What is a whole number but for how floats are rounded is that number."""
    return np.floor(amount * (1 + 1e-14) + 1e-6).astype(np.int64)


def sums_by_budget(amount: np.ndarray, draws: np.ndarray, budgets: int) -> np.ndarray:
    """The sum over the flows that draw on each budget."""
    flows, columns = np.nonzero(draws >= 0)
    return np.bincount(draws[flows, columns], weights=amount[flows].astype(float), minlength=budgets)


def _draws_on(budgets: np.ndarray, draws: np.ndarray) -> np.ndarray:
    return ((draws >= 0) & budgets[draws]).any(axis=1)
