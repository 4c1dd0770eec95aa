"""A block from its start to its end, in calls of compiled code that release the GIL: what is full meanwhile gets more room."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

S = TypeVar("S")

DONE, SCRATCH_FULL, OUTPUT_FULL = range(3)
"""Why a call ended; a system may have further reasons."""

SHORT_CALL_S, LONG_CALL_S = 0.1, 0.5
"""After a shorter call the next one has twice as many items, after a longer one half as many: one costs a millisecond besides."""


class Rooms(ABC):
    """Scratch arrays: `room` for lists, `rows_told` for what a block tells until it is handed over; kept from block to block.

    A system's own class makes its arrays in `make`: `lists`, whose `filled` has a span for each of them that is told.
    """

    TOLD: ClassVar[tuple[str, ...]]
    """Arrays that are told."""
    SPANS: ClassVar[Mapping[str, str]] = {}
    """Of these -> the span that says how far it is filled, where it has another name."""
    lists: Any

    def __init__(self, room: int, rows_told: int) -> None:
        self.room, self.rows_told = room, rows_told
        self.make()

    @abstractmethod
    def make(self) -> None:
        """Arrays of the present sizes."""

    def told(self, name: str) -> Any:
        """One of the arrays that are told."""
        return getattr(self.lists, name)

    def span(self, name: str) -> Any:
        """How far it is filled."""
        return getattr(self.lists.filled[0], self.SPANS.get(name, name))

    def hand_over(self) -> dict[str, np.ndarray]:
        """What was told since the last time, copied; the arrays are empty again."""
        told = {name: self.told(name)[: int(self.span(name).count)].copy() for name in self.TOLD}
        for name in self.TOLD:
            self.span(name).count = 0
        return told

    def is_crowded(self) -> bool:
        """Whether what was told before took the room of what is told now, so that handing it over is enough."""
        spans = [self.span(name) for name in self.TOLD]
        is_crowded = any(bool(span.full) and span.count > 0 for span in spans)
        for span in spans:
            span.full = 0
        return is_crowded

    def grow(self, why: int) -> None:
        """Twice the room; `why`: what a call ended with."""
        self.room, self.rows_told = 2 * self.room, 2 * self.rows_told
        self.make()


def play_in_calls(
    scratch: Rooms,
    new: S,
    count: int,
    a_call: int,
    call: Callable[[S, int, int, bool], tuple[int, int]],
    grown: Callable[[S], S],
    kept: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]] = lambda told: told,
) -> tuple[S, dict[str, np.ndarray]]:
    """Play `count` items, at first `a_call` of them in a call, into the state `new`. Returns that, and what was told.

    `call`: plays those from one place up to another, the first of which may be played already and only not stored; returns where
    it stopped, and why. `grown`: the state with more room. `kept`: what is kept of what was handed over.
    """
    told: list[dict[str, np.ndarray]] = []
    first, is_played = 0, False
    while first < count:
        began = time.perf_counter()
        first, why = call(new, first, min(first + a_call, count), is_played)
        seconds = time.perf_counter() - began
        if seconds < SHORT_CALL_S:
            a_call *= 2
        elif seconds > LONG_CALL_S:
            a_call = max(1, a_call // 2)
        is_played = why == OUTPUT_FULL
        if why == OUTPUT_FULL:
            new = grown(new)
        elif why != DONE:
            is_crowded = scratch.is_crowded()
            told.append(kept(scratch.hand_over()))
            if why != SCRATCH_FULL or not is_crowded:
                scratch.grow(why)
    told.append(kept(scratch.hand_over()))
    return new, joined(told)


def joined(told: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """What was handed over, one after the other."""
    whole = {name: np.concatenate([part[name] for part in told]) for name in told[0]}
    return {name: rows if rows.dtype.names is None else rows.view(np.recarray) for name, rows in whole.items()}
