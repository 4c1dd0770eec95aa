"""The time that rounds stand for, as a story has it beside their numbers."""

from __future__ import annotations

from emulator.explain.rows import Row
from emulator.progress import duration

_LONG_SECONDS = 120


def time_of(scenario: Row, round_: int) -> str:
    """Returns when a round begins, since the start of the run."""
    seconds = round_ * scenario["round_ms"] / 1000
    return f"{round(seconds, 3):g} s" if seconds < _LONG_SECONDS else duration(seconds)


def times_of(scenario: Row, first: int, last: int) -> str:
    """Returns from when to when rounds `first` to `last`, both included, go."""
    begin, end = time_of(scenario, first), time_of(scenario, last + 1)
    unit = " s"
    return f"{begin.removesuffix(unit) if end.count(' ') == 1 else begin} to {end}"
