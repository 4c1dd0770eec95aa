"""Step functions over rounds: a value that changes at few rounds, kept as the list of its changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")
V = TypeVar("V")

Interval = tuple[int, int, T]
"""What holds in [from, to)."""

Steps = list[tuple[int, V]]
"""(round, value from that round on); the first is round 0, neighbours differ."""


def sweep(intervals: Sequence[Interval[T]], value_of: Callable[[Collection[T]], V]) -> Steps[V]:
    """Folds intervals into steps: at each start or end, `value_of` everything that then holds."""
    if not intervals:
        return [(0, value_of(()))]
    starts: defaultdict[int, list[int]] = defaultdict(list)
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for index, (from_round, to_round, _) in enumerate(intervals):
        starts[from_round].append(index)
        ends[to_round].append(index)
    steps = [(0, value_of(()))]
    active: dict[int, T] = {}
    for round_ in sorted(starts.keys() | ends.keys()):
        for index in ends.get(round_, ()):
            del active[index]
        for index in starts.get(round_, ()):
            active[index] = intervals[index][2]
        append_step(steps, round_, value_of(active.values()))
    return steps


def append_step(steps: Steps[V], round_: int, value: V) -> None:
    """Appends a change at a round not before the last; a value that does not change adds nothing."""
    if steps and steps[-1][0] == round_:
        steps.pop()
    if not steps or steps[-1][1] != value:
        steps.append((round_, value))


def one_round_later(steps: Steps[V], at_start: V) -> Steps[V]:
    """The value of the round before; `at_start` in round 0."""
    later = [(0, at_start)]
    for round_, value in steps:
        append_step(later, round_ + 1, value)
    return later


def walk(functions: Sequence[Steps[Any]], rounds: int) -> Iterator[tuple[int, list[Any]]]:
    """Yields (round, value of each function) wherever any of them changes, in [0, rounds).

    The list is the same object each time, changed in place.
    """
    changes = [(round_, slot, value) for slot, steps in enumerate(functions) for round_, value in steps]
    changes.sort(key=itemgetter(0))
    values: list[Any] = [None] * len(functions)
    now = 0
    for round_, slot, value in changes:
        if round_ != now:
            yield now, values
            if round_ >= rounds:
                return
            now = round_
        values[slot] = value
    if now < rounds:
        yield now, values
