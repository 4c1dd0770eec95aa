from itertools import combinations
from math import comb

import numpy as np
import pytest

from emulator.graphs.copysets import (
    DRAWS,
    blocking_rows,
    copysets,
    distinct_sets,
    holds_a_set,
    loss_probability,
)
from emulator.intervals import clopper_pearson

SIX = np.array([[1, 3, 5], [2, 4, 6], [1, 4, 5], [5, 3, 1]])
"""Six brokers, racks {1, 2}, {3, 4} and {5, 6}."""


def test_copysets_are_counted_by_hand() -> None:
    assert copysets([SIX]).tolist() == [[1, 3, 5], [1, 4, 5], [2, 4, 6]]
    other = np.array([[2, 1, -1], [-1, -1, -1]])
    assert copysets([SIX, other]).tolist() == [[1, 2, -1], [1, 3, 5], [1, 4, 5], [2, 4, 6]]
    assert len(copysets([])) == 0


def test_sets_that_stop_writes_are_counted_by_hand() -> None:
    def blocking_sets(min_isr: int) -> list[list[int]]:
        sets: list[list[int]] = distinct_sets(blocking_rows(SIX, np.full(len(SIX), min_isr))).tolist()
        return sets

    assert blocking_sets(2) == [[1, 3], [1, 4], [1, 5], [2, 4], [2, 6], [3, 5], [4, 5], [4, 6]]
    assert blocking_sets(1) == copysets([SIX]).tolist()
    assert blocking_sets(5) == blocking_sets(3) == [[1], [2], [3], [4], [5], [6]]


def test_sets_of_many_brokers_are_distinct_too() -> None:
    wide = np.array([range(100_000, 100_008), range(100_007, 99_999, -1), range(100_001, 100_009)])
    assert copysets([wide]).tolist() == [[*range(100_000, 100_008)], [*range(100_001, 100_009)]]


def test_losses_of_six_brokers_are_counted_by_hand() -> None:
    sets = copysets([SIX])
    assert [loss_probability(sets, range(1, 7), failures).probability for failures in range(7)] == [
        0, 0, 0, 3 / 20, 8 / 15, 1, 1
    ]  # fmt: skip
    with pytest.raises(ValueError, match="7 failures of 6"):
        loss_probability(sets, range(1, 7), 7)
    with pytest.raises(ValueError, match="not among"):
        loss_probability(sets, range(1, 6), 4)


def test_three_hundred_brokers_at_random_as_in_the_paper() -> None:
    random = np.random.default_rng(28)
    drawn = random.integers(0, 300, (110_000, 3))
    distinct = (drawn[:, 0] != drawn[:, 1]) & (drawn[:, 0] != drawn[:, 2]) & (drawn[:, 1] != drawn[:, 2])
    sets = copysets([drawn[distinct][:100_000]])
    triples = comb(300, 3)
    expected = triples * (1 - (1 - 1 / triples) ** 100_000)
    assert triples == 4_455_100
    assert abs(len(sets) - expected) < 200  # some 98,900
    assert loss_probability(sets, range(300), 3).probability == len(sets) / triples
    drawn_four = [loss_probability(sets, range(300), 4, seed).probability for seed in range(10)]
    low, high = clopper_pearson(round(sum(drawn_four) * DRAWS), len(drawn_four) * DRAWS)
    assert low < 1 - (1 - expected / triples) ** 4 < high
    fifteen = loss_probability(sets, range(300), 15)
    assert fifteen.draws == DRAWS
    assert fifteen.probability > 0.999


def test_few_copysets_of_three_hundred_brokers() -> None:
    """Two hundred disjoint-ish sets: by sets gone through, not subsets looked up."""
    order = np.random.default_rng(4)
    sets = copysets([np.concatenate([order.permutation(300).reshape(100, 3) for _ in range(2)])])
    assert len(sets) == 200
    chance = loss_probability(sets, range(300), 15)
    assert (chance.low, chance.high) == clopper_pearson(round(chance.probability * DRAWS), DRAWS)
    one_set = comb(297, 12) / comb(300, 15)
    assert chance.low < 1 - (1 - one_set) ** 200 < chance.high  # 2 %


@pytest.mark.parametrize("failures", range(8))
def test_sets_of_several_sizes_against_counting_one_by_one(failures: int) -> None:
    random = np.random.default_rng(failures)
    rows = [random.permutation(9)[: random.integers(2, 5)].tolist() for _ in range(12)]
    sets = copysets([np.array([[*row, *[-1] * (4 - len(row))] for row in rows])])
    chosen = list(combinations(range(9), failures))
    expected = [any(set(row) <= set(failed) for row in rows) for failed in chosen]
    assert holds_a_set(sets, np.array(chosen, np.int32).reshape(len(chosen), failures), 9).tolist() == expected
    assert loss_probability(sets, range(9), failures).probability == sum(expected) / len(chosen)
