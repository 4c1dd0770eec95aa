"""Columns and packed lists: what is said of many partitions without a loop over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SHORT = 8
"""Sequences up to this long are told apart column by column, longer ones one by one."""


def spread(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """first[0], first[0] + 1, ..., `count[0]` numbers of them, then so from first[1] on, and so on.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(count) - count
    return np.arange(int(count.sum()), dtype=np.int64) + np.repeat(first - before, count)


def integers(table: pa.Table, name: str, null: int) -> np.ndarray:
    """A column of a table as int64, `null` where there is none."""
    found: np.ndarray = pc.fill_null(table.column(name), null).to_numpy().astype(np.int64)
    return found


def offsets_of(counts: np.ndarray) -> np.ndarray:
    """Where lists of so many entries begin and, one number more, where the last one ends."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def distinct_rows(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(the first row of each distinct combination of values, for each row which of them it has)."""
    keys, values = np.zeros(len(columns[0]), np.int64), 1
    if not len(keys):
        return keys, keys
    for column in columns:
        low, high = int(column.min()), int(column.max())
        if values * (high - low + 1) >= 2**63:
            keys, values = np.unique(keys, return_inverse=True)[1].reshape(-1), len(keys)
        if values * (high - low + 1) >= 2**63:
            distinct, column = np.unique(column, return_inverse=True)
            low, high = 0, len(distinct)
        keys, values = keys * (high - low + 1) + (column - low), values * (high - low + 1)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def distinct_sequences(counts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of sequences of `counts` values each, packed: (one sequence of each kind, for each sequence which kind it is)."""
    offsets = offsets_of(counts)
    kind = np.zeros(len(counts), np.int64)
    examples: list[np.ndarray] = []
    known = 0
    for length in np.unique(counts).tolist():
        members = np.flatnonzero(counts == length)
        if length == 0:
            first, group = np.zeros(1, np.int64), np.zeros(len(members), np.int64)
        elif length <= SHORT:
            first, group = distinct_rows([values[offsets[members] + i] for i in range(length)])
        else:
            first, group = _distinct_long(values, offsets[members], length)
        kind[members] = known + group
        examples.append(members[first])
        known += len(first)
    return (np.concatenate(examples) if examples else np.zeros(0, np.int64)), kind


def _distinct_long(values: np.ndarray, begins: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    numbers: dict[bytes, int] = {}
    first: list[int] = []
    group = np.empty(len(begins), np.int64)
    for i, begin in enumerate(begins.tolist()):
        key = values[begin : begin + length].tobytes()
        group[i] = numbers.setdefault(key, len(numbers))
        if len(first) < len(numbers):
            first.append(i)
    return np.array(first, np.int64), group


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays one after the other; a single one as it is, for it may be large."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class PackedLists:
    """Lists of rows of numbers: list i is rows[offsets[i]:offsets[i + 1]]."""

    rows: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def of(lists: Sequence[Sequence[Sequence[int]]], width: int) -> PackedLists:
        """From nested lists; rows are `width` numbers."""
        flat = [row for one in lists for row in one]
        counts = np.array([len(one) for one in lists], np.int64)
        return PackedLists(np.array(flat, np.int64).reshape(-1, width), offsets_of(counts))

    @staticmethod
    def joined(parts: Sequence[PackedLists]) -> PackedLists:
        """The lists of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        counts = np.concatenate([part.counts for part in parts])
        return PackedLists(np.concatenate([part.rows for part in parts]), offsets_of(counts))

    @property
    def counts(self) -> np.ndarray:
        """Rows of each list."""
        counts: np.ndarray = self.offsets[1:] - self.offsets[:-1]
        return counts

    def pick(self, wanted: np.ndarray) -> PackedLists:
        """These lists, in this order."""
        counts = self.counts[wanted]
        return PackedLists(self.rows[spread(self.offsets[wanted], counts)], offsets_of(counts))


def narrow(values: np.ndarray) -> np.ndarray:
    """The same numbers in as few bytes as hold them all; a single one if all are equal. `widen` undoes it."""
    if not values.size:
        return values.astype(np.int8)
    low, high = int(values.min()), int(values.max())
    kind: Any = next(t for t in (np.int8, np.int16, np.int32, np.int64) if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
    if values.ndim == 1 and low == high:
        return values[:1].astype(kind)
    return values.astype(kind)


def widen(values: np.ndarray, count: int) -> np.ndarray:
    """A column of `count` numbers that `narrow` made smaller."""
    wide = values.astype(np.int64)
    return np.repeat(wide, count) if wide.ndim == 1 and len(wide) == 1 else wide
