"""A block that is played in stretches: up to a round, and on from there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from emulator.engine.fetch_use import fetch_use
from emulator.inputs.arrays import Block
from emulator.outcomes.compiled import (
    Names,
    end_tables,
    event_counts,
    fence_events,
    is_written,
    no_events,
    replica_state_rows,
    told_tables,
)
from emulator.rounds.kafka.play_block import Scratch, play
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.told import Told, joined

TOLD_AT_ONCE = 64
"""Stretches after which what they told is put together."""

END = 1 << 40


class Mark(NamedTuple):
    """Where a block stands: its state, what it has told, how many events, rounds of which it is still to tell, its round."""

    state: State
    told: list[Told]
    counts: np.ndarray
    states: list[pa.Table]
    state_at: list[int]
    reached: int


class Stretches:
    """A block on its way from round 0 to its end, and all that it tells on it.

    `state_at`: ascending rounds at whose end every replica is told of. `state` may be changed between two stretches.
    """

    def __init__(self, block: Block, state_at: Sequence[int] = ()) -> None:
        self.block, self.state, self.names = block, block.state, Names(block)
        self.seconds = 0.0
        self._state_at = list(state_at)
        self._rounds = np.asarray(block.state.partitions)["end"].copy()
        self._fences, self._fence_counts = fence_events(self.names, block.inputs, block.state)  # before rounds write to the state
        self._counts = no_events(self.names)
        self._scratch = Scratch(block.inputs)
        self._told: list[Told] = []
        self._states: list[pa.Table] = []
        self._reached = 0

    def play_to(self, round_: int, may_stay: np.ndarray | None = None) -> None:
        """Play the rounds before this one, END for all. Leaps end with a stretch, so that its last round is played.

        `may_stay`: partitions that may stay where they are as long as their rounds are quiet (Partition.quiet_until); they are
        played on in a later stretch, or by `catch_up`.
        """
        while self._state_at and self._state_at[0] < round_:
            at_round = self._state_at.pop(0)
            self._play(at_round + 1)
            self._states.append(replica_state_rows(self.names, self.block.inputs, self.state, at_round))
        parts = np.asarray(self.state.partitions)
        stays = None if may_stay is None else may_stay & (parts["quiet_until"] >= round_)
        self._play(round_, stays)
        self._reached = round_

    def are_behind(self, meant: np.ndarray) -> bool:
        """Whether some of these partitions stayed."""
        return bool((np.asarray(self.state.partitions)["now"][meant] < self._reached).any())

    def catch_up(self, meant: np.ndarray) -> None:
        """Play those of these partitions that stayed up to where the others are."""
        self._play(self._reached, ~meant)

    @property
    def told(self) -> Told:
        """What it has told so far."""
        return joined(self._told)

    def mark(self) -> Mark:
        """Where it stands."""
        return Mark(self.state, list(self._told), self._counts, list(self._states), list(self._state_at), self._reached)

    def go_back(self, mark: Mark) -> None:
        """Forget what was played since."""
        self.state, self._counts = mark.state, mark.counts
        self._told, self._states, self._state_at = list(mark.told), list(mark.states), list(mark.state_at)
        self._reached = mark.reached

    def tables(self) -> dict[str, pa.Table]:
        """The rows of outcomes.compiled.BLOCK_TABLES, and `fetch_use`, of a block that was played from its begin to its end."""
        return self.told_tables(True) | self.end_tables()

    def told_tables(self, is_first: bool) -> dict[str, pa.Table]:
        """Of these the rows that were told; `is_first`: also those that were known before it was played."""
        fences, counts = self._fences.slice(0, 0), self._counts
        if is_first:
            fences, counts = self._fences, counts + self._fence_counts
        return told_tables(self.names, self.block.inputs, fences, self.state, self.told, self._states, counts)

    def end_tables(self) -> dict[str, pa.Table]:
        """Of these the rows that say how it ended."""
        return end_tables(self.names, self.block.inputs, self.state) | {"fetch_use": fetch_use(self.block, self.state)}

    def _play(self, round_: int, stays: np.ndarray | None = None) -> None:
        began = time.perf_counter()
        parts, end = np.asarray(self.state.partitions), np.minimum(self._rounds, round_)
        if stays is not None:
            end = np.where(stays, parts["now"], end)
            if (end <= parts["now"]).all():
                return
        parts["end"] = end
        self.state, told = play(self.state, self.block.inputs, self.block.traffic, self._scratch, written=self._written)
        self.seconds += time.perf_counter() - began
        self._told.append(told)
        if len(self._told) >= TOLD_AT_ONCE:
            self._told = [joined(self._told)]

    def _written(self, events: np.ndarray) -> np.ndarray:
        """Count events, and return those that become rows."""
        self._counts = self._counts + event_counts(self.names, events["partition"], events["kind"])
        return events[is_written(self.names, events["partition"], events["kind"])]
