"""When budgets are shared out again (docs/kafka_rounds.md, Shared bandwidth)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emulator.inputs.arrays.shared import SharedBudgets


@dataclass(frozen=True)
class Edge:
    """A quota edge: its round, and how many rounds later the next one is if nothing is short and no input changes."""

    round: int
    window: int

    def following(self, shared: SharedBudgets, is_short: bool) -> Edge | None:
        """The next edge of the run, None where there is none.

        While something is short it comes after `quota_window_rounds`; else later and later, up to the first multiple of that at
        or after the next change of an input.
        """
        unit, changes = shared.window_rounds, shared.changes
        window = unit if is_short else self.window
        round_ = self.round + window
        after = int(np.searchsorted(changes, self.round, "right"))
        crossed = False
        if after < len(changes):
            change = int(changes[after])
            round_ = min(round_, max(-(-change // unit) * unit, self.round + unit))
            crossed = round_ >= change
        if round_ >= shared.rounds:
            return None
        return Edge(round_, unit if is_short or crossed else 2 * window)

    def alike(self, shared: SharedBudgets, is_short: bool, until: int) -> tuple[list[Edge], Edge | None]:
        """This edge and those behind it up to a round, if something is short at all of them, or at none; and the next one, None
        where there is none.
        """
        edges, edge = [self], self.following(shared, is_short)
        while edge is not None and edge.round <= until:
            edges.append(edge)
            edge = edge.following(shared, is_short)
        return edges, edge


def first_edge(shared: SharedBudgets) -> Edge:
    """The edge at round 0."""
    return Edge(0, shared.window_rounds)
