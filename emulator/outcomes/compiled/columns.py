"""Arrow tables of the contract's columns (emulator/table_columns) from NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.table_columns.arrow_columns import arrow_schema


def table_of(table: str, rows: int, columns: Mapping[str, Any]) -> pa.Table:
    """So many rows of an output table; a column that is not given is null where it may be, else 0.

    Raises ValueError for a column that the table does not have.
    """
    schema = arrow_schema(table)
    unknown = columns.keys() - set(schema.names)
    if unknown:
        raise ValueError(f"table {table} has no columns {', '.join(sorted(unknown))}")
    return pa.table([_array(columns.get(field.name), field, rows) for field in schema], schema=schema)


def by_scenario(table: pa.Table) -> Callable[[int, int], pa.Table]:
    """What gives the rows of the scenarios from one scenario_id to another, of thousands without a look through all rows each."""
    ordered = table.sort_by("scenario_id").combine_chunks()
    ids = ordered.column("scenario_id").to_numpy()

    def own(from_id: int, to_id: int) -> pa.Table:
        first, end = np.searchsorted(ids, np.array([from_id, to_id + 1], ids.dtype))
        return ordered.slice(first, end - first)

    return own


def nullable(values: np.ndarray, null: int) -> pa.Array:
    """The values, null where they are `null`."""
    return pa.array(np.asarray(values), mask=np.asarray(values) == null)


def texts_at(texts: tuple[str, ...], places: np.ndarray, null: int | None = None) -> pa.Array:
    """The text at each place of a tuple, null for the place `null`."""
    at = np.asarray(places)
    return pa.array(texts, pa.string()).take(pa.array(at) if null is None else nullable(at, null))


def lists_of(counts: np.ndarray, values: Any, kind: pa.DataType) -> pa.Array:
    """Lists of so many values each, one after the other."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    if not isinstance(values, pa.Array):
        values = pa.array(np.asarray(values)).cast(kind.value_type)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind)


def epoch_lists(counts: np.ndarray, entries: Any) -> pa.Array:
    """Epoch caches of so many entries each (records of `epoch` and `start_offset`), one after the other."""
    kind = arrow_schema("trace").field("epochs").type
    fields = [kind.value_type.field(i) for i in range(kind.value_type.num_fields)]
    children = [pa.array(np.asarray(entries[field.name])).cast(field.type) for field in fields]
    return lists_of(counts, pa.StructArray.from_arrays(children, fields=fields), kind)


def segment_lists(counts: np.ndarray, segments: Any) -> pa.Array:
    """Base offsets of so many segments each (records of `base_offset`), one after the other; null where there are none."""
    kind = arrow_schema("trace").field("local_segments").type
    offsets = pa.array(np.append(0, np.cumsum(counts)).astype(np.int32))
    bases = pa.array(np.asarray(segments["base_offset"])).cast(kind.value_type)
    return pa.ListArray.from_arrays(offsets, bases, type=kind, mask=pa.array(counts == 0))


def _array(values: Any, field: pa.Field, rows: int) -> pa.Array:
    if values is None:
        return pa.nulls(rows, field.type) if field.nullable else pa.array(np.zeros(rows, np.int64)).cast(field.type)
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.array(np.asarray(values))
    return values if values.type == field.type else values.cast(field.type)
