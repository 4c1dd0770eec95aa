"""Entries of lists in their places: copying them, taking them out of the middle, making a place there.

These see entries, and so are compiled for each record that a list holds; what needs none of them is in rounds/lists.py.
"""

from __future__ import annotations

from typing import Any

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.lists import List, append, keep_first


@compiled_into_callers
def copy_record(source: Any, place: int, target: Any, to_place: int) -> None:
    """Copy a record of one array into another one."""
    target[to_place] = source[place]


@compiled_into_callers
def move(rows: Any, from_place: int, to_place: int) -> None:
    """Copy a record, or a row, of a scratch array to another place of it."""
    if from_place != to_place:
        rows[to_place] = rows[from_place]


@compiled
def remove(rows: Any, entries: List, at: int, count: int) -> None:
    """The entries from a place on go, so many of them; those behind them move up."""
    for place in range(at, entries.start + entries.count - count):
        rows[place] = rows[place + count]
    keep_first(entries, entries.count - count)


@compiled
def make_place(rows: Any, entries: List, at: int) -> None:
    """There is one entry more: those from a place on move down, and what stands there now is to be set anew."""
    free = append(entries)
    while free > at:
        rows[free] = rows[free - 1]
        free -= 1
