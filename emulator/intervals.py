"""The confidence interval of a share of random trials, whether these are draws of who fails or whole scenarios.

Shares of one run's partitions are another matter, and SQL: outcomes/compare.py.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

_HALVINGS = 60  # of an interval of 1: beyond what a double tells apart


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a binomial share: what share would give as few hits, or as many, with half of 1 - confidence.

    It holds the true share in at least `confidence` of cases, whatever it is and however few trials there are. So no other method
    is used for these: losses have shares near 0 and 1, where Wilson's holds fewer (Brown, Cai and DasGupta, Statistical Science
    16, 2001), and two intervals are asked whether they meet. Raises ValueError for no trials and for hits that are not among
    them. Source: Clopper and Pearson, Biometrika 26 (1934).
    """
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"{hits} hits in {trials} trials")
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _where_above(lambda share: 1 - _at_most(hits - 1, trials, share), tail)
    high = 1.0 if hits == trials else _where_above(lambda share: 1 - _at_most(hits, trials, share), 1 - tail)
    return low, high


def _at_most(hits: int, trials: int, share: float) -> float:
    """The probability of at most so many hits, fewer than trials; of many hits by that of as few misses."""
    if share in (0.0, 1.0):
        return float(share == 0.0)
    if hits < trials * share:
        return _tail(hits, trials, share)
    return 1 - _tail(trials - hits - 1, trials, 1 - share)


def _tail(hits: int, trials: int, share: float) -> float:
    """The same of fewer hits than there are in the mean: terms fall from the first one on, until they no longer count."""
    term = math.exp(
        math.lgamma(trials + 1) - math.lgamma(hits + 1) - math.lgamma(trials - hits + 1)
        + hits * math.log(share) + (trials - hits) * math.log1p(-share)
    )  # fmt: skip
    total = 0.0
    for k in range(hits, -1, -1):
        total += term
        term *= k * (1 - share) / ((trials - k + 1) * share)
        if term <= total * sys.float_info.epsilon / trials:
            break
    return total


def _where_above(rising: Callable[[float], float], level: float) -> float:
    """Where a function that rises from 0 to 1 on [0, 1] reaches a level."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= level else (middle, high)
    return high
