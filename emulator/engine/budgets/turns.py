"""Partitions of one task from a round to a later one, where their copies take turns.

As long as nobody's turn changes they are played as many rounds at once as may be, and back where that was too many; a round in
which somebody may have to wait is played as if nobody had, then it is settled who has, and it is played again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from emulator.engine.budgets.copy_turns import CopyTurns
from emulator.engine.budgets.shared_block import SharedBlock
from emulator.engine.stretches import Stretches

Each = Callable[[Callable[[SharedBlock], Any]], list[Any]]
"""Calls a function with every block, side by side; what it returned of each."""


class InTurn:
    """How blocks are played whose partitions share brokers; `turns`: None where nobody ever waits for another."""

    def __init__(self, each: Each, blocks: Sequence[SharedBlock], turns: CopyTurns | None) -> None:
        self._each, self._turns = each, turns
        self._stretches: list[Stretches] = [block.stretches for block in blocks]

    def play(self, from_round: int, to_round: int) -> None:
        """Play the rounds between two."""
        if self._turns is None:
            self._play_to(to_round)
            return
        now, length, conflict = from_round, to_round - from_round, -1
        while now < to_round:
            until = now if now == conflict else self._turns.stand(now, min(to_round, now + length))
            if until <= now:
                self._settle(now)
                now, length = now + 1, max(length, 1)
                continue
            marks = [one.mark() for one in self._stretches]
            self._play_to(until)
            found = self._turns.first_conflict(now, until)
            if found >= until:
                now, length = until, 2 * length
                continue
            for one, mark in zip(self._stretches, marks, strict=True):
                one.go_back(mark)
            conflict, length = found, max(1, found - now)

    def _settle(self, round_: int) -> None:
        """Play a round in which somebody may have to wait."""
        assert self._turns is not None
        marks = [one.mark() for one in self._stretches]
        self._turns.ask()
        self._play_to(round_ + 1)
        if not self._turns.settle(round_):
            return
        for one, mark in zip(self._stretches, marks, strict=True):
            one.go_back(mark)
        self._turns.give()
        self._play_to(round_ + 1)

    def _play_to(self, round_: int) -> None:
        self._each(partial(SharedBlock.play_to, round_=round_))
