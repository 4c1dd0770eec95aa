"""A block from its payload to its rows; driver and tasks call the same."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.engine.rows import BLOCKS_SCHEMA, batches_of
from emulator.engine.warm_up import compile_rounds
from emulator.inputs.arrays import Block, read_block
from emulator.outcomes.compiled import Names, block_tables, fence_events, replica_state_rows
from emulator.rounds.kafka.play_block import Scratch, play
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.told import Told, joined

PAYLOADS_SCHEMA = pa.schema([("block", pa.int32()), ("payload", pa.binary())])
"""A job's blocks: number, what Prepared.block gave."""


def play_blocks(names: Collection[str], state_at: Sequence[int], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Play blocks (PAYLOADS_SCHEMA) one after the other; rows of these tables, side by side (rows.rows_schema).

    `state_at`: as of `play_payload`.
    """
    for batch in batches:
        for number, payload in zip(batch.column("block").to_pylist(), batch.column("payload"), strict=True):
            yield from batches_of(play_payload(number, payload.as_buffer(), state_at), names)


def play_payload(number: int, payload: Any, state_at: Sequence[int] = ()) -> dict[str, pa.Table]:
    """Play one block; the rows of rows.TABLES. `state_at`: ascending rounds at whose end replicas are told of."""
    block = read_block(payload)
    compile_rounds(block)
    names = Names(block)
    fences = fence_events(names, block.inputs, block.state)  # before it is played: rounds write to the state
    began = time.perf_counter()
    state, told, states = _play(block, names, state_at)
    seconds = time.perf_counter() - began
    played = [[number], [len(block.partition)], [seconds]]
    blocks = pa.table([pa.array(v, f.type) for v, f in zip(played, BLOCKS_SCHEMA, strict=True)], schema=BLOCKS_SCHEMA)
    return block_tables(names, block.inputs, fences, state, told, states) | {"blocks": blocks}


def _play(block: Block, names: Names, state_at: Sequence[int]) -> tuple[State, Told, list[pa.Table]]:
    """(the state at the end, what was told, the rows of `replica_states` by round): a stretch up to each round that is named.

    Leaps end with a stretch, so that the round itself is played.
    """
    state, scratch = block.state, Scratch(block.inputs)
    rounds = np.asarray(state.partitions)["end"].copy()
    told, states = [], []
    for at_round in state_at:
        np.asarray(state.partitions)["end"] = np.minimum(rounds, at_round + 1)
        state, of_stretch = play(state, block.inputs, block.traffic, scratch)
        told.append(of_stretch)
        states.append(replica_state_rows(names, block.inputs, state, at_round))
    np.asarray(state.partitions)["end"] = rounds
    state, of_stretch = play(state, block.inputs, block.traffic, scratch)
    return state, joined([*told, of_stretch]), states
