"""Leader epoch caches of logs that came without one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.scenario.model import EPOCHS


def epochs_or_first(log_start_offset: int, leo: int) -> list[dict[str, int]]:
    """The epoch cache of a log that came without one: epoch 0 from its start, nothing for an empty log."""
    return [{"epoch": 0, "start_offset": log_start_offset}] if leo > log_start_offset else []


def fill_epochs(caches: pa.ChunkedArray, start: pa.ChunkedArray, leo: pa.ChunkedArray) -> pa.Array:
    """The epoch caches of logs; of those that came without one epochs_or_first."""
    given = caches.combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(given), 0).to_numpy()
    lacking = pc.is_null(given).to_numpy(zero_copy_only=False) & pc.greater(leo, start).to_numpy()
    if not lacking.any():
        return pc.if_else(pc.is_null(given), pa.scalar([], EPOCHS), given)
    offsets = np.concatenate([[0], np.cumsum(lengths + lacking)]).astype(np.int32)
    old = given.flatten()
    epochs, starts = np.zeros(offsets[-1], np.int32), np.zeros(offsets[-1], np.int64)
    first = offsets[:-1][lacking]
    others = np.ones(offsets[-1], bool)
    others[first] = False
    epochs[others], starts[others] = old.field("epoch").to_numpy(), old.field("start_offset").to_numpy()
    starts[first] = start.to_numpy()[lacking]
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([epochs, starts], fields=list(EPOCHS.value_type)))
