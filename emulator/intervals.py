"""Confidence intervals of shares: of independent trials (draws of who fails, whole scenarios), and of partitions by draws."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

RESAMPLES = 10_000
"""Of a bootstrap: the error of its bounds is then well below what a few draws can tell."""

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


def cluster_bootstrap(
    counts: Sequence[int], sizes: Sequence[int], confidence: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """The bootstrap interval of a share of things that come in clusters, as partitions in draws of the same faults.

    `counts` of `sizes` things in each cluster have it. Whole clusters are drawn again with replacement, as many as there are, and
    the bounds are the percentiles of the shares that this gives; the same clusters give the same bounds. With few clusters it
    holds the true share in less than `confidence` of cases (tests/test_intervals.py: in nine of ten with 20, in three of four
    with 5). None: all clusters have the same share, or there is one, which says nothing of others.
    Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), 2.4 and 3.8; Field and Welsh, JRSS B 69 (2007).
    """
    import numpy as np

    of, among = np.array(counts, np.int64), np.array(sizes, np.int64)
    if (among <= 0).any():
        raise ValueError(f"{list(sizes)}: a cluster of nothing")
    if (of * among[0] == of[0] * among).all():
        return None
    chosen = np.random.default_rng(0).multinomial(len(of), np.full(len(of), 1 / len(of)), size=resamples)
    shares = (chosen @ of) / (chosen @ among)
    tail = 50 * (1 - confidence)
    low, high = np.percentile(shares, [tail, 100 - tail])
    return float(low), float(high)
