"""When what runs every so many milliseconds is due (leaps.is_due, next_due, last_due): rounds worked out by hand. No Spark."""

from __future__ import annotations

import pytest

from emulator.rounds.leaps import is_due, last_due, next_due

BY_HAND = {
    (500, 15_000): [0, 30, 60],
    (2_000, 15_000): [0, 8, 15, 23, 30, 38, 45, 53, 60],  # at 0, 15, 30, 45 s ... : in the round that ends with or after it
    (10_000, 15_000): [0, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15],
    (700, 1_000): [0, 2, 3, 5, 6, 8, 9, 10, 12, 13, 15],
    (2_000, 1_999): [*range(20)],
    (2_000, 2_000): [*range(20)],
    (2_000, 2_001): [0, *range(2, 20)],  # 2001 ms after 0 lie in round 2, 4002 in round 3, and so on
    (500, 2**61): [0],
    (86_400_000, 1): [*range(20)],
}
"""(ms of a round, ms of the period): its first rounds."""


@pytest.mark.parametrize(("round_ms", "period_ms"), BY_HAND)
def test_by_hand(round_ms: int, period_ms: int) -> None:
    due = BY_HAND[round_ms, period_ms]
    until = due[-1] + 1
    assert [round_ for round_ in range(until) if is_due(round_, round_ms, period_ms)] == due
    for round_ in range(until):
        assert next_due(round_, round_ms, period_ms) == min(at for at in due if at >= round_)
        assert last_due(0, round_ + 1, round_ms, period_ms) == max(at for at in due if at <= round_)
        assert last_due(round_, round_ + 1, round_ms, period_ms) == (round_ if round_ in due else -1)
        assert last_due(round_, round_, round_ms, period_ms) == -1


def test_a_period_in_whole_rounds_is_divided_by_it() -> None:
    for period in (1, 2, 7):
        due = [round_ for round_ in range(50) if is_due(round_, 250, 250 * period)]
        assert due == list(range(0, 50, period))


@pytest.mark.parametrize("round_ms", [100, 700, 2_000, 10_000])
def test_it_never_drifts(round_ms: int) -> None:
    """The n-th time comes less than a round after n periods, however large n is."""
    period_ms, at = 15_000, 0
    for times in range(1, 200):
        at = next_due(at + 1, round_ms, period_ms)
        assert 0 <= at * round_ms - times * period_ms < round_ms
    late = next_due(2**31, round_ms, period_ms)
    assert is_due(late, round_ms, period_ms)
    assert late - 2**31 <= period_ms // round_ms + 1
