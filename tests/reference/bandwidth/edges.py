"""When bandwidth is shared out again."""

from __future__ import annotations

from collections.abc import Collection


class Edges:
    """The next quota edge, and how long after it the one after that may be at most."""

    def __init__(self, window: int, changes: Collection[int]) -> None:
        self.window, self.changes = window, sorted(set(changes))
        self.next, self._step = 0, window

    def passed(self, is_short: bool) -> None:
        """Go on from the edge `next`, at which somebody got less than it asked for, or nobody."""
        if is_short:
            self._step = self.window
            self.next += self.window
            return
        at, step = self.next, self._step
        change = next((round_ for round_ in self.changes if round_ > at), None)
        last = None if change is None else -(-change // self.window) * self.window
        self.next, self._step = at + step, 2 * step
        if last is not None and last <= self.next:
            self.next, self._step = last, self.window
