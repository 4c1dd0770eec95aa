"""Rows of records for rounds as ordinary Python: fields in a tenth of the time that NumPy's records take.

A field is a 64-bit word (emulator/rounds/records.py), so a row of a record is a row of words, and a field the word at its place:
a rule is given the same np.int64, whose overflow is told of, and indexes are checked as before. Fields are those of one row: of
several, as a slice has them, none can be had at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any

import numpy as np

from emulator.rounds.records import words_of


@cache
def rows_of(record: np.dtype[Any]) -> type[np.ndarray]:
    """Rows of a record: an item is a row, an attribute of a row is a field; in a debugger a row has all of them."""
    fields = {name: property_of(field, offset // 8) for name, (field, offset, *_) in record.fields.items()}  # type: ignore[union-attr]

    def told(row: np.ndarray) -> str:
        return str({name: getattr(row, name) for name in fields} if row.ndim == 1 else list(row))

    return type("QuickRows", (np.ndarray,), {**fields, "__repr__": told})


def property_of(field: np.dtype[Any], word: int) -> property:
    """The field of a row whose first word is this one."""
    if field.names is None:
        return property(itemgetter(word), lambda row, value: row.__setitem__(word, value))
    own, words = rows_of(field), slice(word, word + field.itemsize // 8)
    return property(lambda row: row[words].view(own))


def quick(value: Any) -> Any:
    """The same with such rows in place of records, of the same memory; named tuples are gone through."""
    if isinstance(value, tuple):
        return type(value)(*map(quick, value))
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        return words_of(value).view(rows_of(value.dtype))
    return value


def with_quick_rows(entry_point: Callable[..., Any]) -> Callable[..., Any]:
    """An entry point that is given them instead of records."""
    return lambda *given: entry_point(*map(quick, given))


def play_with_quick_rows() -> None:
    """Have partitions played so, in a process that compiles nothing."""
    from emulator.rounds.compiled import is_compiling
    from emulator.rounds.kafka import play_block, play_partitions

    assert not is_compiling()
    for name in ("play_partitions", "play_tiered_partitions"):
        setattr(play_block, name, with_quick_rows(getattr(play_partitions, name)))
