"""Blocks from their payloads to their rows; driver and tasks call the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from emulator.engine.rows import batches_of, blocks_row
from emulator.engine.stretches import END, Stretches
from emulator.engine.warm_up import compile_rounds
from emulator.engine.worker_memory import keep_loaded
from emulator.inputs.arrays import read_block

PAYLOADS_SCHEMA = pa.schema([("block", pa.int32()), ("payload", pa.binary()), ("kind", pa.int8())])
"""A job's blocks: number, payload, and which of `play_blocks`' players takes it."""

Payload = tuple[Any, int]
"""What is needed to play a block, and which of several players takes it."""

Player = Callable[[int, Any], dict[str, pa.Table]]
"""Plays one block, of its number and payload; the rows of rows.TABLES."""


def payload_rows(blocks: Sequence[int], payloads: Sequence[Payload]) -> pa.Table:
    """Rows of PAYLOADS_SCHEMA; `payloads`: of each block."""
    columns = [blocks, *zip(*payloads, strict=True)]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, PAYLOADS_SCHEMA, strict=True)], schema=PAYLOADS_SCHEMA)


def play_blocks(players: Sequence[Player], names: Collection[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Play blocks (PAYLOADS_SCHEMA) one after the other; rows of these tables, side by side (rows.rows_schema)."""
    for batch in batches:
        kinds = batch.column("kind").to_pylist()
        for number, payload, kind in zip(batch.column("block").to_pylist(), batch.column("payload"), kinds, strict=True):
            yield from batches_of(players[kind](number, payload.as_buffer()), names)
    keep_loaded()


def play_payload(number: int, payload: Any, state_at: Sequence[int] = ()) -> dict[str, pa.Table]:
    """Play one block; the rows of rows.TABLES. `state_at`: ascending rounds at whose end replicas are told of."""
    block = read_block(payload)
    compile_rounds(block)
    stretches = Stretches(block, state_at)
    stretches.play_to(END)
    return stretches.tables() | {"blocks": blocks_row(number, len(block.partition), stretches.seconds)}
