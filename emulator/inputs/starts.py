"""What the initial tables of a scenario say of each partition, as one number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.inputs.arrays.columns import distinct_rows, distinct_sequences
from emulator.inputs.arrays.given import partition_ids
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.scenario import Scenario

_OF_THE_PARTITION = ("topic", "partition")


def starts_of(scenario: Scenario) -> np.ndarray:
    """By partition_id: a number for what the initial tables say of it, 0 for nothing; the order of rows does not matter."""
    places = TopicPlaces(scenario)
    starts = np.zeros(places.partition_count, np.int64)
    partitions, contents, known = [], [], 0
    for table in (scenario.initial_replicas, scenario.initial_partitions, scenario.initial_remote_segments):
        if table.num_rows:
            _, content = distinct_rows([c for name in table.column_names if name not in _OF_THE_PARTITION
                                        for c in _codes(table.column(name).combine_chunks())])  # fmt: skip
            partitions.append(partition_ids(table, places))
            contents.append(content + known)
            known += table.num_rows
    if not partitions:
        return starts
    of, content = np.concatenate(partitions), np.concatenate(contents)
    order = np.lexsort((content, of))
    told, counts = np.unique(of, return_counts=True)
    _, kind = distinct_sequences(counts, content[order])
    starts[told] = kind + 1
    return starts


def _codes(column: Any) -> list[np.ndarray]:
    """Numbers that are the same in rows with the same value, nulls told apart from all values."""
    is_null = pc.is_null(column).to_numpy(zero_copy_only=False).astype(np.int64)
    if not pa.types.is_list(column.type):
        encoded = column.dictionary_encode().indices
        return [is_null, pc.fill_null(encoded, 0).to_numpy(zero_copy_only=False).astype(np.int64)]
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    values = column.flatten()
    parts = values.flatten() if pa.types.is_struct(values.type) else [values]
    _, value = distinct_rows([code for part in parts for code in _codes(part)])
    return [is_null, distinct_sequences(counts, value)[1]]
