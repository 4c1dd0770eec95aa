"""Confidence intervals of shares."""

from __future__ import annotations

import math
from collections.abc import Callable

_HALVINGS = 60  # of an interval of 1: beyond what a double tells apart


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a binomial share: what share would give as few hits, or as many, with half of 1 - confidence.

    It holds the true share in at least `confidence` of cases, whatever it is and however few trials there are. Raises ValueError
    for no trials and for hits that are not among them. Source: Clopper and Pearson, Biometrika 26 (1934).
    """
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"{hits} hits in {trials} trials")
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _where_above(lambda share: 1 - _at_most(hits - 1, trials, share), tail)
    high = 1.0 if hits == trials else _where_above(lambda share: 1 - _at_most(hits, trials, share), 1 - tail)
    return low, high


def _at_most(hits: int, trials: int, share: float) -> float:
    """The probability of at most so many hits."""
    if share in (0.0, 1.0):
        return float(share == 0.0 or hits >= trials)
    logs = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(share) + (trials - k) * math.log1p(-share)
        for k in range(hits + 1)
    )  # fmt: skip
    return math.fsum(math.exp(log) for log in logs)


def _where_above(rising: Callable[[float], float], level: float) -> float:
    """Where a function that rises from 0 to 1 on [0, 1] reaches a level."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= level else (middle, high)
    return high
