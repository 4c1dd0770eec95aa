"""Two tables side by side: what the reference has, and what was seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

Differences = list[tuple[Any, ...]]
"""(column, round, the rest of the key, of the reference, seen)."""


def rows_that_differ(
    expected: Iterable[Mapping[str, Any]], seen: Iterable[Mapping[str, Any]], key: tuple[str, ...], columns: tuple[str, ...]
) -> Differences:
    """Cells that differ between two tables with the same key, and keys that only one of them has."""
    expected, seen = list(expected), list(seen)
    of_row = itemgetter(*key, *columns)
    if list(map(of_row, expected)) == list(map(of_row, seen)):
        return []
    left, right = (
        {tuple(map(row.__getitem__, key)): tuple(map(row.__getitem__, columns)) for row in rows} for rows in (expected, seen)
    )
    if left == right:
        return []
    found: Differences = [("row", k[0], k[1:], k in left, k in right) for k in left.keys() ^ right.keys()]
    for k in left.keys() & right.keys():
        found += [(c, k[0], k[1:], a, b) for c, a, b in zip(columns, left[k], right[k], strict=True) if a != b]
    return found
