"""Taking entries out of the middle of lists of records."""

from __future__ import annotations

from typing import Any

from emulator.compiled import compiled_into_callers


@compiled_into_callers
def move(rows: Any, from_place: int, to_place: int) -> None:
    """Copy a record, or a row, of a scratch array to another place of it."""
    if from_place != to_place:
        rows[to_place] = rows[from_place]
