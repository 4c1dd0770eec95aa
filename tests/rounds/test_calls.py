"""How many items calls of compiled code are given (rounds/calls.py). No Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator.rounds.calls import DONE, LONG_CALL_S, SHORT_CALL_S, Rooms, play_in_calls


class NothingTold(Rooms):
    """Scratch arrays of a system that tells of nothing."""

    TOLD = ()

    def make(self) -> None:
        """None."""


@pytest.mark.parametrize(
    ("seconds_an_item", "sizes"),
    [
        (SHORT_CALL_S / 1000, [4, 8, 16, 32, 40]),
        (SHORT_CALL_S / 2, [4] * 25),
        (LONG_CALL_S, [4, 2] + [1] * 94),
    ],
)
def test_short_calls_are_given_more(seconds_an_item: float, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as much after one below a tenth of a second, half as much after one above half a second."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("emulator.rounds.calls.time.perf_counter", lambda: clock.now)
    given: list[int] = []

    def call(state: str, first: int, until: int, _: bool) -> tuple[int, int]:
        given.append(until - first)
        clock.now += (until - first) * seconds_an_item
        return until, DONE

    assert play_in_calls(NothingTold(1, 1), "state", 100, 4, call, lambda state: state) == ("state", {})
    assert given == sizes
    assert sum(given) == 100
