"""Clopper and Pearson's interval against closed forms, published values, and what it promises."""

from __future__ import annotations

from math import comb

import pytest

from emulator.outcomes.intervals import clopper_pearson


@pytest.mark.parametrize(
    ("hits", "trials", "expected"),
    [(1, 10, (0.0025, 0.4450)), (5, 10, (0.1871, 0.8129)), (2, 100, (0.0024, 0.0704)), (10, 20, (0.2720, 0.7280))],
)
def test_published_values(hits: int, trials: int, expected: tuple[float, float]) -> None:
    assert clopper_pearson(hits, trials) == pytest.approx(expected, abs=5e-5)


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
