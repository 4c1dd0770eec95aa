"""Copying records of lists, and taking them out of their middle."""

from __future__ import annotations

from typing import Any

from emulator.compiled import compiled_into_callers


@compiled_into_callers
def copy_record(source: Any, place: int, target: Any, to_place: int) -> None:
    """Copy a record of one array into another one."""
    target[to_place] = source[place]


@compiled_into_callers
def move(rows: Any, from_place: int, to_place: int) -> None:
    """Copy a record, or a row, of a scratch array to another place of it."""
    if from_place != to_place:
        rows[to_place] = rows[from_place]
