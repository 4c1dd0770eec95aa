"""Partitions that share budgets, played in one task: stretches from edge to edge, by threads over their blocks."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.budgets.demands import Demands, demands, flows_of, joined_flows
from emulator.engine.budgets.edges import Edge
from emulator.engine.budgets.first_play import Use, forget_use, is_exceeded, most_appended, use_of, windows_of
from emulator.engine.budgets.saturated import SaturatedRounds
from emulator.engine.budgets.shares import FlowShares, quotas_of, shares_of
from emulator.engine.rows import blocks_row
from emulator.engine.stretches import END, Stretches
from emulator.engine.warm_up import compile_rounds
from emulator.inputs.arrays import Prepared, read_block
from emulator.inputs.arrays.shared import SharedBudgets
from emulator.inputs.arrays.throttled import ThrottledReplicas

PARTITIONS_A_THREAD = 200
"""Fewer are not worth a thread."""


def shared_payload(prepared: Prepared, scenario: int) -> bytes:
    """A payload of `play_shared`: all partitions of a scenario, by its place, cut into blocks for threads."""
    shared, listed = prepared.shared_of(scenario)
    places = np.arange(prepared.first_place[scenario], prepared.first_place[scenario + 1])
    first_slot = prepared.slots_of(places[:1])[0]
    blocks = np.array_split(places, min(os.cpu_count() or 1, -(-len(places) // PARTITIONS_A_THREAD)))
    of_blocks = [listed.of(prepared.slots_of(block) - first_slot) for block in blocks]
    return pickle.dumps(([prepared.block(block) for block in blocks], of_blocks, shared), protocol=5)


Each = Callable[[Callable[["SharedBlock"], Any]], list[Any]]
"""Calls a function with every block, side by side; what it returned of each."""


class SharedBlock:
    """One of the blocks whose partitions share budgets."""

    def __init__(self, payload: Any, listed: ThrottledReplicas, shared: SharedBudgets, state_at: Sequence[int]) -> None:
        self.block = read_block(payload)
        self._listed, self._shared = listed, shared
        self._most_appended = most_appended(self.block.state, self.block.inputs)
        self.stretches = Stretches(self.block, state_at)
        self._begin = self.stretches.mark()

    def play_to(self, round_: int) -> None:
        """Play the rounds before this one."""
        self.stretches.play_to(round_)

    def demands(self, round_: int) -> Demands:
        """What its followers ask for at an edge."""
        return demands(self.stretches.state, self.block.inputs, self._shared, self._listed.at(round_), round_)

    def begin_window(self) -> None:
        """A window of the first play begins: what is used is counted anew, and the window may be taken back."""
        forget_use(self.stretches.state)
        self._begin = self.stretches.mark()

    def use(self) -> Use:
        """What the window used."""
        before, after = self._begin.state, self.stretches.state
        return use_of(before, after, self.block.inputs, self._shared, self._listed, self._most_appended)

    def take_back(self) -> None:
        """Forget the window."""
        self.stretches.go_back(self._begin)

    def limit(self, asked: Demands, shares: FlowShares) -> None:
        """Set what its followers may fetch from now on."""
        np.asarray(self.stretches.state.replicas)["quota_bytes"] = quotas_of(asked, shares)


def play_shared(number: int, payload: Any, state_at: Sequence[int] = ()) -> dict[str, pa.Table]:
    """Play what `shared_payload` packed; rows and `state_at` as of play_blocks.play_payload."""
    payloads, listed, shared = pickle.loads(payload)
    blocks = [SharedBlock(one, of_one, shared, state_at) for one, of_one in zip(payloads, listed, strict=True)]
    compile_rounds(blocks[0].block)
    saturated = SaturatedRounds(shared)
    with ThreadPoolExecutor(len(blocks)) as pool:

        def each(do: Callable[[SharedBlock], Any]) -> list[Any]:
            return list(pool.map(do, blocks)) if len(blocks) > 1 else [do(blocks[0])]

        edge = first_exceeded(each, shared)
        while edge is not None:
            edge = _play_from(edge, each, blocks, shared, saturated)
    tables = [block.stretches.tables() for block in blocks]
    joined = {name: pa.concat_tables([of_block[name] for of_block in tables]) for name in tables[0]}
    played = blocks_row(number, sum(len(b.block.partition) for b in blocks), sum(b.stretches.seconds for b in blocks))
    return joined | {"blocks": played, "saturated": saturated.rows()}


def first_exceeded(each: Each, shared: SharedBudgets) -> Edge | None:
    """Play as if no budget bound, up to the first window in which one may have; the edge at its begin, None: none did."""
    windows = windows_of(shared)
    ends = [*(edge.round for edge in windows[1:]), shared.rounds]
    for edge, end in zip(windows, ends, strict=True):
        each(SharedBlock.begin_window)
        each(partial(SharedBlock.play_to, round_=end))
        if is_exceeded(each(SharedBlock.use), shared, edge.round, end):
            each(SharedBlock.take_back)
            return edge
    return None


def _play_from(
    edge: Edge,
    each: Each,
    blocks: Sequence[SharedBlock],
    shared: SharedBudgets,
    saturated: SaturatedRounds,
) -> Edge | None:
    """Share out at an edge and play up to the next one, which is returned; None: to the end."""
    round_ = edge.round
    asked: list[Demands] = each(lambda block: block.demands(round_))
    shares = shares_of(joined_flows([flows_of(one) for one in asked]), shared, round_)
    for block, own in zip(blocks, asked, strict=True):
        block.limit(own, shares)
    following = edge.following(shared, shares.is_short)
    end = END if following is None else following.round
    saturated.note(shares.used_up, round_, end)
    each(lambda block: block.play_to(end))
    return following
