"""Clopper and Pearson's interval against closed forms, published values, and what it promises."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from emulator.intervals import clopper_pearson, cluster_bootstrap


@pytest.mark.parametrize(
    ("hits", "trials", "expected"),
    [(1, 10, (0.0025, 0.4450)), (5, 10, (0.1871, 0.8129)), (2, 100, (0.0024, 0.0704)), (10, 20, (0.2720, 0.7280))],
)
def test_published_values(hits: int, trials: int, expected: tuple[float, float]) -> None:
    assert clopper_pearson(hits, trials) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("hits", "trials", "expected"),
    [(81, 263, (0.2527, 0.3676)), (15, 148, (0.0578, 0.1617)), (0, 20, (0, 0.1684)), (1, 29, (0.0009, 0.1776))],
)
def test_newcombes_cases(hits: int, trials: int, expected: tuple[float, float]) -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I, method 5."""
    assert clopper_pearson(hits, trials) == pytest.approx(expected, abs=5e-5)
    assert clopper_pearson(trials - hits, trials) == pytest.approx((1 - expected[1], 1 - expected[0]), abs=5e-5)


@pytest.mark.parametrize(("hits", "trials"), [(1, 7), (3, 7), (6, 7), (40, 300), (299, 300), (10, 20_000), (13_000, 20_000)])
def test_its_bounds_are_where_a_tail_is_half_of_what_is_left(hits: int, trials: int) -> None:
    """As many hits at the low bound, and as few at the high one, in 2.5 % of cases."""
    low, high = map(Fraction, clopper_pearson(hits, trials))
    assert at_least(hits, trials, low) == pytest.approx(0.025, rel=1e-9)
    assert at_least(trials - hits, trials, 1 - high) == pytest.approx(0.025, rel=1e-9)


def at_least(hits: int, trials: int, share: Fraction) -> float:
    """The probability of so many hits or more, in decimals of 60 digits."""
    with localcontext() as context:
        context.prec = 60
        p = Decimal(share.numerator) / share.denominator
        term, total = comb(trials, hits) * p**hits * (1 - p) ** (trials - hits), Decimal(0)
        for k in range(hits, trials + 1):
            total += term
            term *= (trials - k) * p / ((k + 1) * (1 - p))
        return float(total)


@pytest.mark.parametrize("trials", [1, 10, 1000])
def test_none_and_all(trials: int) -> None:
    """With no hit, the share that gives none in 2.5 % of cases: (1 - p) ** n = 0.025."""
    bound = 1 - 0.025 ** (1 / trials)
    assert clopper_pearson(0, trials) == pytest.approx((0, bound))
    assert clopper_pearson(trials, trials) == pytest.approx((1 - bound, 1))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.97])
def test_it_holds_the_share_in_95_of_100_cases(share: float) -> None:
    trials = 30
    intervals = [clopper_pearson(hits, trials) for hits in range(trials + 1)]
    held = sum(
        comb(trials, hits) * share**hits * (1 - share) ** (trials - hits)
        for hits, (low, high) in enumerate(intervals)
        if low <= share <= high
    )
    assert 0.95 <= held < 1


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (2, 1), (-1, 3)])
def test_impossible_counts(hits: int, trials: int) -> None:
    with pytest.raises(ValueError, match="hits in"):
        clopper_pearson(hits, trials)


def test_bounds_of_a_bootstrap_are_those_of_all_ways_to_draw_again() -> None:
    """Six clusters of several sizes: 46,656 ways."""
    counts, sizes = (0, 3, 10, 1, 7, 0), (10, 12, 20, 10, 8, 15)
    shares = sorted(sum(counts[i] for i in chosen) / sum(sizes[i] for i in chosen) for chosen in product(range(6), repeat=6))
    exact = (shares[len(shares) * 25 // 1000], shares[len(shares) * 975 // 1000])
    assert cluster_bootstrap(counts, sizes) == pytest.approx(exact, abs=0.01)
    assert cluster_bootstrap(counts, sizes) == cluster_bootstrap(counts, sizes)


def test_clusters_that_say_the_same_have_no_interval() -> None:
    assert cluster_bootstrap([3], [10]) is None
    assert cluster_bootstrap([0, 0, 0], [10, 20, 5]) is None
    assert cluster_bootstrap([2, 4], [10, 20]) is None
    with pytest.raises(ValueError, match="a cluster of nothing"):
        cluster_bootstrap([0, 0], [10, 0])


@pytest.mark.parametrize(("clusters", "least", "most"), [(5, 0.7, 0.9), (20, 0.87, 0.97)])
def test_how_often_a_bootstrap_of_few_clusters_holds_the_share(clusters: int, least: float, most: float) -> None:
    """100 partitions whose chance varies from draw to draw, 0.3 in the mean; as if they were independent it held in few."""
    draw, held, held_if_independent = np.random.default_rng(1), 0, 0
    for _ in range(200):
        counts = draw.binomial(100, draw.beta(1.5, 3.5, size=clusters)).tolist()
        low, high = cluster_bootstrap(counts, [100] * clusters, resamples=1000) or (0.0, 0.0)
        held += low <= 0.3 <= high
        low, high = clopper_pearson(sum(counts), 100 * clusters)
        held_if_independent += low <= 0.3 <= high
    assert least <= held / 200 <= most
    assert held_if_independent / 200 < 0.5
