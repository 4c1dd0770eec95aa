"""Lists in a text column of a table file: "1 2 3", and "0:0 1:120" for lists of records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SEPARATOR = "[ ,]+"
NUMBER = "[0-9]{1,18}"


class ListTextError(ValueError):
    """A text that is no list of the type; `row` counts from 0."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def lists_of_texts(texts: pa.ChunkedArray, wanted: pa.ListType) -> pa.ListArray:
    """Reads every text as a list of numbers, or of records of numbers; null stays null.

    `wanted`: a list of an integer type, or of a struct of such. Entries stand apart by spaces or commas, a record's fields by
    ":". Raises ListTextError for the first text that is something else, or has a number that the type does not hold.
    """
    texts = texts.cast(pa.string()).combine_chunks()
    types = _types(wanted)
    entry = ":".join([NUMBER] * len(types))
    _refuse(pc.fill_null(pc.invert(pc.match_substring_regex(texts, f"^{entry}({SEPARATOR}{entry})*$")), False))
    entries = pc.split_pattern_regex(texts, SEPARATOR)
    lengths = pc.fill_null(pc.list_value_length(entries), 0).to_numpy()
    flat = entries.flatten()
    if len(types) > 1:
        flat = pc.split_pattern(flat, ":").flatten()
    numbers = flat.cast(pa.int64()).to_numpy().reshape(-1, len(types))
    most = np.array([2 ** (kind.bit_width - 1) - 1 for kind in types], np.int64)
    beyond = np.zeros(len(texts), bool)
    beyond[np.repeat(np.arange(len(texts)), lengths)[(numbers > most).any(axis=1)]] = True
    _refuse(pa.array(beyond))
    fields = [pa.array(np.ascontiguousarray(numbers[:, i])).cast(kind) for i, kind in enumerate(types)]
    is_record = pa.types.is_struct(wanted.value_type)
    values = pa.StructArray.from_arrays(fields, fields=list(wanted.value_type)) if is_record else fields[0]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values, type=wanted, mask=pc.is_null(texts))


def list_text_allowed(wanted: pa.ListType) -> str:
    """Says how a list of the type is written.

    >>> list_text_allowed(pa.list_(pa.int32()))
    'a list of numbers, as in "1 2 3", each up to 2147483647'
    """
    types = _types(wanted)
    most = max(2 ** (kind.bit_width - 1) - 1 for kind in types)
    if not pa.types.is_struct(wanted.value_type):
        return f'a list of numbers, as in "1 2 3", each up to {min(most, 10**18 - 1)}'
    names = ":".join(field.name for field in wanted.value_type)
    return f'a list of {names}, as in "0:0 1:120"'


def _types(wanted: pa.ListType) -> list[pa.DataType]:
    inner = wanted.value_type
    return [field.type for field in inner] if pa.types.is_struct(inner) else [inner]


def _refuse(bad: pa.Array) -> None:
    row = pc.index(bad, True).as_py()
    if row >= 0:
        raise ListTextError(row)
