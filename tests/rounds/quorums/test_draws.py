"""Draws of groups: as the reference has them, other ones for every seed, and independent of each other."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.rounds.draws import key_of_seed
from emulator.rounds.quorums.draw import draw
from tests.reference.quorums.draws import drawn

GROUPS = range(2000)


def of_groups(seed: int, slot: int, jitter: int, stood: int = 0) -> np.ndarray:
    """The draws of one server of each group."""
    return np.array([drawn(seed, group, slot, stood, jitter) for group in GROUPS])


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 2, 2**31 - 1, 2**40 + 7, 2**63 - 1])
def test_draws_are_the_references(seed: int) -> None:
    key = key_of_seed(seed)
    for group, slot, stood, most in ((0, 0, 0, 9), (7, 3, 2, 20), (999_999, 6, 1000, 1), (5, 256 + 16 * 3 + 2, 128 * 17_280, 40)):
        assert draw(key, group, slot, stood, most) == drawn(seed, group, slot, stood, most)


def test_another_seed_is_not_the_same_groups_in_another_order() -> None:
    counts = [np.bincount(of_groups(seed, 1, 20)[:256], minlength=21).tolist() for seed in range(4)]
    assert len({tuple(one) for one in counts}) == 4


@pytest.mark.parametrize("jitter", [1, 4, 19, 20])
def test_who_comes_first_ties_as_often_as_with_independent_draws(jitter: int) -> None:
    """Of four servers two or more come first together in 1 - 4 sum over k of 1/n ((n - 1 - k) / n)^3, n = jitter + 1.

    Two seeds of 2,000 groups: within four standard deviations of it.
    """
    ties = 0
    for seed in (1, 2):
        least = np.sort(np.stack([of_groups(seed, slot, jitter) for slot in range(1, 5)]), axis=0)
        ties += int((least[0] == least[1]).sum())
    n, count = jitter + 1, 2 * len(GROUPS)
    share = 1 - 4 * sum(((n - 1 - k) / n) ** 3 / n for k in range(n))
    assert abs(ties / count - share) < 4 * (share * (1 - share) / count) ** 0.5


def test_servers_and_times_are_not_correlated() -> None:
    """The largest of 28 correlations of 2,000 draws, by server and how often it stood: four standard deviations are 0.09."""
    draws = [of_groups(3, slot, 99, stood) for slot in range(4) for stood in range(2)]
    correlations = np.corrcoef(np.stack(draws).astype(float)) - np.eye(8)
    assert np.abs(correlations).max() < 0.09
