"""A block from its payload to its rows; driver and tasks call the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from emulator.engine.budgets.play_shared import play_shared
from emulator.engine.rows import batches_of, blocks_row
from emulator.engine.stretches import END, Stretches
from emulator.engine.warm_up import compile_rounds
from emulator.inputs.arrays import read_block

PAYLOADS_SCHEMA = pa.schema([("block", pa.int32()), ("payload", pa.binary()), ("shares", pa.bool_())])
"""A job's blocks: number, what Prepared.block gave, or budgets.play_shared.shared_payload where its partitions share budgets."""


def play_blocks(names: Collection[str], state_at: Sequence[int], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Play blocks (PAYLOADS_SCHEMA) one after the other; rows of these tables, side by side (rows.rows_schema).

    `state_at`: as of `play_payload`.
    """
    for batch in batches:
        shares = batch.column("shares").to_pylist()
        for number, payload, shared in zip(batch.column("block").to_pylist(), batch.column("payload"), shares, strict=True):
            played = play_shared if shared else play_payload
            yield from batches_of(played(number, payload.as_buffer(), state_at), names)


def play_payload(number: int, payload: Any, state_at: Sequence[int] = ()) -> dict[str, pa.Table]:
    """Play one block; the rows of rows.TABLES. `state_at`: ascending rounds at whose end replicas are told of."""
    block = read_block(payload)
    compile_rounds(block)
    stretches = Stretches(block, state_at)
    stretches.play_to(END)
    return stretches.tables() | {"blocks": blocks_row(number, len(block.partition), stretches.seconds)}
