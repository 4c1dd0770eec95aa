"""Partitions of one task from a round to a later one, where their copies, or their remote reads, take turns.

As long as nobody's turn changes they are played as many rounds at once as may be, and back where that was too many; a round in
which somebody may have to wait is played as if nobody had, then it is settled who has, and it is played again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from emulator.engine.budgets.shared_block import SharedBlock
from emulator.engine.stretches import Mark, Stretches

Each = Callable[[Callable[[SharedBlock], Any]], list[Any]]
"""Calls a function with every block, side by side; what it returned of each."""


class Turns(Protocol):
    """What is shared by turns, of all blocks."""

    def stand(self, round_: int, to_round: int) -> int:
        """Set what everybody may do from a round on. Returns up to which round that may hold, `to_round` at most."""

    def first_conflict(self, from_round: int, to_round: int) -> int:
        """Of rounds that were played with what `stand` set the first that was otherwise, or an earlier one; else `to_round`."""

    def ask(self) -> None:
        """Let everybody do what he likes in the next round."""

    def settle(self, round_: int) -> bool:
        """Settle whose turn it is in a round that was played as of `ask`; whether somebody gets less."""

    def give(self) -> None:
        """Set what was settled, in states of before the round."""


class InTurn:
    """How blocks are played whose partitions share brokers. `turns`: in the order in which they come in a round; of what somebody
    may have to wait for.
    """

    def __init__(self, each: Each, blocks: Sequence[SharedBlock], turns: Sequence[Turns]) -> None:
        self._each, self._turns = each, turns
        self._stretches: list[Stretches] = [block.stretches for block in blocks]

    def play(self, from_round: int, to_round: int) -> None:
        """Play the rounds between two."""
        if not self._turns:
            self._play_to(to_round)
            return
        now, length, conflict = from_round, to_round - from_round, -1
        while now < to_round:
            until = now
            if now != conflict:
                until = min(turns.stand(now, min(to_round, now + length)) for turns in self._turns)
            if until <= now:
                self._settle(now)
                now += 1
                continue
            marks = self._marks()
            self._play_to(until)
            found = min(turns.first_conflict(now, until) for turns in self._turns)
            if found >= until:
                now, length = until, 2 * length
                continue
            self._go_back(marks)
            conflict, length = found, max(1, found - now)

    def _settle(self, round_: int) -> None:
        """Play a round in which somebody may have to wait."""
        marks = self._marks()
        for turns in self._turns:
            turns.ask()
        self._play_to(round_ + 1)
        for at, turns in enumerate(self._turns):
            if not turns.settle(round_):
                continue
            self._go_back(marks)
            for settled in self._turns[: at + 1]:
                settled.give()
            self._play_to(round_ + 1)

    def _marks(self) -> list[Mark]:
        return [one.mark() for one in self._stretches]

    def _go_back(self, marks: Sequence[Mark]) -> None:
        for one, mark in zip(self._stretches, marks, strict=True):
            one.go_back(mark)

    def _play_to(self, round_: int) -> None:
        self._each(partial(SharedBlock.play_to, round_=round_))
