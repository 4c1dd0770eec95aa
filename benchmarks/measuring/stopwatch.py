"""Where a run's time goes: seconds by phase, each without the phases within it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Stopwatch:
    """Adds up the seconds and calls of wrapped functions, by phase.

    What one thread does adds up to the time of its outermost phase; another thread's phases stand beside that.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._of_thread = threading.local()

    def wrapped(self, phase: str, function: Function, within: str | None = None) -> Function:
        """The function, timed as a phase; `within`: only when called in that phase, else its time is its caller's."""

        def timed(*arguments: Any, **named: Any) -> Any:
            phases: list[str] = self._phases()
            if within is not None and within not in phases:
                return function(*arguments, **named)
            self.calls[phase] += 1
            self._change(phases, lambda: phases.append(phase))
            try:
                return function(*arguments, **named)
            finally:
                self._change(phases, phases.pop)

        return timed  # type: ignore[return-value]

    def _phases(self) -> list[str]:
        if not hasattr(self._of_thread, "phases"):
            self._of_thread.phases, self._of_thread.since = [], 0.0
        return self._of_thread.phases

    def _change(self, phases: list[str], change: Callable[[], Any]) -> None:
        """What passed since the last change belongs to the phase that was innermost."""
        now = time.perf_counter()
        if phases:
            self.seconds[phases[-1]] += now - self._of_thread.since
        self._of_thread.since = now
        change()
