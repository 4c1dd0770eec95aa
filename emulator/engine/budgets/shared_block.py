"""One of the blocks whose partitions share budgets."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from emulator.engine.budgets.demands import Demands, demands, layout_of
from emulator.engine.budgets.first_play import Use, forget_use, most_appended, use_of
from emulator.engine.budgets.shares import FlowShares, quotas_of
from emulator.engine.stretches import Stretches
from emulator.inputs.arrays import Prepared, read_block


def block_payloads(prepared: Prepared, scenario: int, blocks: Sequence[np.ndarray]) -> list[bytes]:
    """What each of these blocks of places needs, all of a scenario, given by its place."""
    shared, listed = prepared.shared_of(scenario)
    first_slot = prepared.slots_of(prepared.first_place[scenario : scenario + 1])[0]
    return [
        pickle.dumps((prepared.block(block), listed.of(prepared.slots_of(block) - first_slot), shared), protocol=5)
        for block in blocks
    ]


class SharedBlock:
    """One of the blocks whose partitions share budgets; `payload`: one of `block_payloads`."""

    def __init__(self, payload: Any, state_at: Sequence[int]) -> None:
        packed, self._listed, self.shared = pickle.loads(payload)
        self.block = read_block(packed)
        self._layout = layout_of(self.block.state, self.shared)
        self._most_appended = most_appended(self.block.state, self.block.inputs)
        self.stretches = Stretches(self.block, state_at)
        self._begin = self.stretches.mark()

    def play_to(self, round_: int) -> None:
        """Play the rounds before this one."""
        self.stretches.play_to(round_)

    def demands(self, round_: int) -> Demands:
        """What its followers ask for at an edge."""
        listed = self._listed.at(round_)
        return demands(self.stretches.state, self.block.inputs, self._layout, self.shared, listed, round_)

    def begin_window(self) -> None:
        """A window of the first play begins: what is used is counted anew, and the window may be taken back."""
        forget_use(self.stretches.state)
        self._begin = self.stretches.mark()

    def use(self) -> Use:
        """What the window used."""
        before, after = self._begin.state, self.stretches.state
        return use_of(before, after, self.block.inputs, self._layout, self.shared, self._listed, self._most_appended)

    def take_back(self) -> None:
        """Forget the window."""
        self.stretches.go_back(self._begin)

    def limit(self, asked: Demands, shares: FlowShares) -> None:
        """Set what its followers may fetch from now on."""
        np.asarray(self.stretches.state.replicas)["quota_bytes"] = quotas_of(asked, shares)
