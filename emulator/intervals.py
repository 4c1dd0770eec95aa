"""Confidence intervals of shares: of independent trials (draws of who fails, whole scenarios), and of partitions by draws.

SciPy works them out. It is imported where an interval is asked for: that takes half a second, and executors do not have it
(packing/requirements.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

RESAMPLES = 10_000
"""Of a bootstrap: the error of its bounds is then well below what a few draws can tell."""

RESAMPLES_AT_ONCE = 100
"""Of 10,000 clusters, the most that there are: tens of MB, a thousand would take hundreds."""


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a binomial share: what share would give as few hits, or as many, with half of 1 - confidence.

    It holds the true share in at least `confidence` of cases, whatever it is and however few trials there are. So no other method
    is used for these: losses have shares near 0 and 1, where Wilson's holds fewer (Brown, Cai and DasGupta, Statistical Science
    16, 2001), and two intervals are asked whether they meet. Raises ValueError for no trials and for hits that are not among
    them. Source: Clopper and Pearson, Biometrika 26 (1934).
    """
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"{hits} hits in {trials} trials")
    from scipy.stats import beta

    # Quantiles of beta distributions are these bounds; scipy.stats.binomtest looks for them, to within 2e-12.
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, trials - hits + 1))
    high = 1.0 if hits == trials else float(beta.isf(tail, hits + 1, trials - hits))
    return low, high


def cluster_bootstrap(
    counts: Sequence[int], sizes: Sequence[int], confidence: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """The bootstrap interval of a share of things that come in clusters, as partitions in draws of the same faults.

    `counts` of `sizes` things in each cluster have it. Whole clusters are drawn again with replacement, as many as there are, and
    the bounds are the percentiles of the shares that this gives (scipy.stats.bootstrap); the same clusters give the same bounds.
    With few clusters it holds the true share in less than `confidence` of cases (tests/test_intervals.py: in nine of ten with
    20, in four of five with 5). None: all clusters have the same share, or there is one, which says nothing of others. Raises
    ValueError for a cluster of nothing.
    Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), 2.4 and 3.8; Field and Welsh, JRSS B 69 (2007).
    """
    import numpy as np

    of, among = np.array(counts, np.int64), np.array(sizes, np.int64)
    if (among <= 0).any():
        raise ValueError(f"{list(sizes)}: a cluster of nothing")
    if (of * among[0] == of[0] * among).all():
        return None
    from scipy.stats import bootstrap

    def share(of: Any, among: Any, axis: int) -> Any:
        return of.sum(axis) / among.sum(axis)

    found = bootstrap(
        (of, among), share, paired=True, vectorized=True, n_resamples=resamples, batch=RESAMPLES_AT_ONCE,
        confidence_level=confidence, method="percentile", rng=0,
    )  # fmt: skip
    low, high = found.confidence_interval
    return float(low), float(high)
