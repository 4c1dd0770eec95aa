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

from emulator.engine.budgets.all_budgets import AllDemands, AllShares, all_flows_of, all_joined_flows, all_shares_of
from emulator.engine.budgets.copy_bursts import first_burst
from emulator.engine.budgets.copy_turns import CopyTurns
from emulator.engine.budgets.edges import Edge, first_edge
from emulator.engine.budgets.first_play import is_exceeded, windows_of
from emulator.engine.budgets.read_turns import QuotaTurns, ReadTurns
from emulator.engine.budgets.saturated import SaturatedRounds
from emulator.engine.budgets.shared_block import SharedBlock, block_payloads
from emulator.engine.budgets.turns import Each, InTurn, Turns
from emulator.engine.rows import blocks_row
from emulator.engine.warm_up import compile_rounds
from emulator.inputs.arrays import Prepared
from emulator.inputs.arrays.copy_budgets import window_rounds
from emulator.inputs.arrays.shared import SharedBudgets

PARTITIONS_A_THREAD = 200
"""Fewer are not worth a thread."""


def shared_payload(prepared: Prepared, scenario: int) -> bytes:
    """A payload of `play_shared`: all partitions of a scenario, by its place, cut into blocks for threads."""
    places = np.arange(prepared.first_place[scenario], prepared.first_place[scenario + 1])
    blocks = np.array_split(places, min(os.cpu_count() or 1, -(-len(places) // PARTITIONS_A_THREAD)))
    return pickle.dumps(block_payloads(prepared, scenario, blocks), protocol=5)


Tell = Callable[[int, float], None]
"""Told of a block, by its number, what part of it is played."""


def nobody_asks(_: int, __: float) -> None:
    """Of a block that a task plays, which has no way to tell."""


def play_shared(number: int, payload: Any, state_at: Sequence[int] = (), tell: Tell = nobody_asks) -> dict[str, pa.Table]:
    """Play what `shared_payload` packed; rows and `state_at` as of play_blocks.play_payload."""
    blocks = [SharedBlock(of_block, state_at) for of_block in pickle.loads(payload)]
    for one in blocks:
        compile_rounds(one.block)
    rounds = blocks[0].shared.rounds
    saturated = play_together(blocks, lambda round_: tell(number, round_ / rounds))
    tables = [block.stretches.tables() for block in blocks]
    joined = {name: pa.concat_tables([of_block[name] for of_block in tables]) for name in tables[0]}
    played = blocks_row(number, sum(len(b.block.partition) for b in blocks), sum(b.stretches.seconds for b in blocks))
    return joined | {"blocks": played, "saturated": saturated.rows()}


def play_together(blocks: Sequence[SharedBlock], at: Callable[[int], None] = lambda _: None) -> SaturatedRounds:
    """Play all rounds of blocks that share budgets; what was used up. `at`: told at which round they are."""
    shared = blocks[0].shared
    saturated = SaturatedRounds(shared)
    with ThreadPoolExecutor(len(blocks)) as pool:

        def each(do: Callable[[SharedBlock], Any]) -> list[Any]:
            return list(pool.map(do, blocks)) if len(blocks) > 1 else [do(blocks[0])]

        in_turn = InTurn(each, blocks, _turns_of(blocks, shared))
        edge, ahead = first_exceeded(each, in_turn, shared), shared.window_rounds
        while edge is not None:
            at(edge.round)
            edge, ahead = _play_from(edge, ahead, each, in_turn, blocks, shared, saturated)
    return saturated


def _turns_of(blocks: Sequence[SharedBlock], shared: SharedBudgets) -> list[Turns]:
    """What goes in turn."""
    found: list[Turns] = []
    if shared.copies is not None:
        found.append(CopyTurns(blocks, shared.copies, window_rounds(shared.round_ms), shared.changes))
    if shared.reads is not None:
        found += [ReadTurns(blocks, shared.reads), QuotaTurns(blocks, shared.reads)]
    return found


def first_exceeded(each: Each, in_turn: InTurn, shared: SharedBudgets) -> Edge | None:
    """Play as if no budget of fetches bound, up to the first window in which one may have; the edge at its begin, None: none."""
    if not shared.limits_fetches:
        in_turn.play(0, shared.rounds)
        return None
    if shared.limits_clients:
        return first_edge(shared)
    for edge, end in windows_of(shared):
        each(SharedBlock.begin_window)
        in_turn.play(edge.round, end)
        if is_exceeded(each(partial(SharedBlock.use, from_round=edge.round, to_round=end)), shared, edge.round, end):
            each(SharedBlock.take_back)
            return edge
    return None


def _play_from(
    edge: Edge,
    ahead: int,
    each: Each,
    in_turn: InTurn,
    blocks: Sequence[SharedBlock],
    shared: SharedBudgets,
    saturated: SaturatedRounds,
) -> tuple[Edge | None, int]:
    """Share out at an edge and play up to a next one, which is returned; None: to the end.

    `ahead`: for so many rounds edges are passed over at which everybody would get what he has (steady.py). Also returned is what
    it is at the next one: more and more as long as that was so.
    """
    round_ = edge.round
    asked: list[AllDemands] = each(lambda block: block.demands(round_))
    shares = all_shares_of(all_joined_flows([all_flows_of(one) for one in asked]), shared, round_)
    until = round_ + ahead
    for block, own in zip(blocks, asked, strict=True):
        block.limit(own, shares)
        until = min(until, block.steady_until(own, round_))
    edges, following = edge.alike(shared, shares.fetches.is_short, until)
    ahead = max(2 * ahead, shared.window_rounds)
    if len(edges) > 1 and not _play_steadily(each, in_turn, edges, _begin_of(following, shared)):
        edges, following, ahead = edges[:1], edges[1], 0
    if len(edges) == 1:
        following = _play_to_burst(each, in_turn, blocks, shares, edge, following, shared)
    for one, next_one in zip(edges, [*edges[1:], following], strict=True):
        saturated.note(shares.fetches.used_up, one.round, _begin_of(next_one, shared))
    return following, ahead


def _play_to_burst(
    each: Each,
    in_turn: InTurn,
    blocks: Sequence[SharedBlock],
    shares: AllShares,
    edge: Edge,
    following: Edge | None,
    shared: SharedBudgets,
) -> Edge | None:
    """Play from an edge to the next one, which is sooner where copies begin that a broker's network has no room for."""
    end = _begin_of(following, shared)
    if not any(len(block.stretches.state.tiers) for block in blocks):
        in_turn.play(edge.round, end)
        return following
    each(SharedBlock.mark)
    in_turn.play(edge.round, end)
    burst = first_burst(blocks, edge.round, end, shares.clients.room)
    if burst + 1 >= end:
        return following
    each(SharedBlock.take_back)
    in_turn.play(edge.round, burst + 1)
    return Edge(burst + 1, shared.window_rounds)


def _play_steadily(each: Each, in_turn: InTurn, edges: Sequence[Edge], to_round: int) -> bool:
    """Play from the first of these edges to a round behind the last, and look whether all partitions were steady; if not they are
    taken back.
    """
    each(SharedBlock.begin_steady)
    in_turn.play(edges[0].round, to_round)
    if all(each(partial(SharedBlock.was_steady, last_edge=edges[-1].round, to_round=to_round))):
        return True
    each(SharedBlock.take_back)
    return False


def _begin_of(edge: Edge | None, shared: SharedBudgets) -> int:
    return shared.rounds if edge is None else edge.round
