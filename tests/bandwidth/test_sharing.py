"""Shares of budgets: by hand, and what must hold of any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.bandwidth.sharing import Shares, left_for_each, share_out, sums_by_budget

INF = float("inf")


def shares(budget: list[float], flows: list[tuple[int, int, list[int]]]) -> tuple[Shares, np.ndarray]:
    """Of flows (demand, followers, budgets drawn on), and what is left for each follower."""
    width = max(len(draws) for *_, draws in flows)
    draws = [[*draws, *[-1] * (width - len(draws))] for *_, draws in flows]
    demand, followers = (np.array([flow[i] for flow in flows]) for i in (0, 1))
    found = share_out(np.array(budget, float), demand, followers, np.array(draws))
    left = np.array(budget, float) - sums_by_budget(demand * found.part, np.array(draws), len(budget))
    return found, left_for_each(np.maximum(left, 0.0), followers, np.array(draws))


def test_enough_for_all() -> None:
    found, extra = shares([100, INF], [(30, 2, [0, 1]), (20, 3, [0])])
    assert found.part.tolist() == [1, 1]
    assert extra.tolist() == [10, 10]  # 50 left for five followers
    assert not found.saturated.any()


def test_one_budget_short_of_two_flows() -> None:
    found, extra = shares([60], [(80, 1, [0]), (120, 4, [0])])
    assert found.part.tolist() == [12 / 80, 48 / 120]  # 12 for each of five followers
    assert extra.tolist() == [0, 0]
    assert found.saturated.tolist() == [True]


def test_who_asks_for_less_than_an_even_part_has_it() -> None:
    # Of 60 an even part is 12: four followers that ask for 10 have it, and leave 20 to the one that has all to fetch.
    found, _ = shares([60], [(80, 1, [0]), (40, 4, [0])])
    assert found.part.tolist() == [0.25, 1]
    assert found.saturated.tolist() == [True]


def test_who_has_all_is_held_by_nobody() -> None:
    """The second takes exactly what the first, which budget 1 holds to 1, leaves of budget 0: in floats it stops short of all."""
    found, _ = shares([1001, 1], [(3000, 1, [0, 1]), (1000, 1, [0])])
    assert found.part[1] == 1
    assert found.saturated.tolist() == [False, True]


def test_what_one_flow_cannot_take_goes_to_the_other() -> None:
    # The first is held to 10 by budget 1; of budget 0 the second then has 50.
    found, _ = shares([60, 10], [(40, 1, [0, 1]), (60, 1, [0])])
    assert found.part == pytest.approx([10 / 40, 50 / 60])
    assert found.saturated.tolist() == [True, True]


def test_met_exactly_is_not_saturated() -> None:
    found, _ = shares([50], [(30, 1, [0]), (20, 1, [0])])
    assert found.part.tolist() == [1, 1]
    assert not found.saturated.any()


def test_a_budget_overdrawn_by_what_is_produced_gives_nothing() -> None:
    found, extra = shares([-5], [(30, 1, [0])])
    assert found.part.tolist() == [0]
    assert extra.tolist() == [0]
    assert found.saturated.tolist() == [True]


def test_without_a_budget_without_a_limit() -> None:
    found, extra = shares([INF], [(30, 1, [0]), (0, 1, [-1])])
    assert found.part.tolist() == [1, 1]
    assert np.isinf(extra).all()


FLOWS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(1, 1000), st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True)),
    min_size=1,
    max_size=12,
)
BUDGETS = st.lists(st.one_of(st.just(INF), st.integers(0, 10**9).map(float)), min_size=6, max_size=6)


@settings(max_examples=300, deadline=None)
@given(BUDGETS, FLOWS)
def test_nothing_is_overdrawn_and_nothing_lies_idle(budget: list[float], flows: list[tuple[int, int, list[int]]]) -> None:
    found, extras = shares(budget, flows)
    assert ((found.part >= 0) & (found.part <= 1)).all()
    used, with_extra = np.zeros(6), np.zeros(6)
    for (demand, followers, draws), part, extra in zip(flows, found.part, extras, strict=True):
        used[draws] += demand * part
        with_extra[draws] += demand * part + (0 if np.isinf(extra) else followers * extra)
    limits = np.array(budget)
    assert (with_extra <= limits * (1 + 1e-6) + 1e-6).all()
    full = used >= limits * (1 - 1e-6) - 1e-6
    for (demand, followers, draws), part in zip(flows, found.part, strict=True):
        # Whoever got less than it asked for draws on a budget that is used up, in which no other's followers get more each.
        if demand and part < 1:
            held = [b for b in draws if full[b] and found.saturated[b]]
            rates = [(d * p / f, bs) for (d, f, bs), p in zip(flows, found.part, strict=True)]
            own = demand * part / followers
            assert any(own >= max(rate for rate, bs in rates if b in bs) * (1 - 1e-6) - 1e-6 for b in held)
