"""How Parquet encodes columns: partition numbers, which rise from row to row, by their differences, others by dictionaries.

A dictionary of numbers that hardly repeat is made in vain, row group by row group: without it tables take half the room or less,
and a third less time to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

RISING = ("partition",)
BY_DIFFERENCES = "DELTA_BINARY_PACKED"


def encodings(schema: pa.Schema) -> dict[str, Any]:
    """What pyarrow.parquet's writers are told of the columns of a table."""
    rising = [name for name in schema.names if name in RISING]
    if not rising:
        return {}
    others = [path for field in schema if field.name not in rising for path in _paths(field.name, field.type)]
    return {"use_dictionary": others, "column_encoding": dict.fromkeys(rising, BY_DIFFERENCES)}


def _paths(name: str, kind: pa.DataType) -> Iterator[str]:
    """The columns of Parquet that one of Arrow becomes."""
    if pa.types.is_list(kind):
        yield from _paths(f"{name}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for at in range(kind.num_fields):
            yield from _paths(f"{name}.{kind.field(at).name}", kind.field(at).type)
    elif pa.types.is_map(kind):
        yield from _paths(f"{name}.key_value.key", kind.key_type)
        yield from _paths(f"{name}.key_value.value", kind.item_type)
    else:
        yield name
