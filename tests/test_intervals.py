"""Clopper and Pearson's interval against closed forms, published values, and what it promises."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb

import pytest

from emulator.intervals import clopper_pearson


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
