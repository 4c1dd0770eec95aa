"""Copies under way in leaps: quiet rounds only move how many entries were copied (emulator/leaps.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emulator.expressions.bookkeeper.state import COPIES_FIELDS, REPLACEMENT_FIELDS
from emulator.expressions.columns import let, with_changes


@dataclass(frozen=True)
class _Counted:
    """How a leap moves an array of structs in which only `entries` is a counter; `fields`: of the structs."""

    fields: Mapping[str, str]

    def alike(self, column: str, before: str) -> str:
        """Whether nothing else changed."""
        still = f"transform({{0}}, c_ -> {with_changes('c_', self.fields, entries='0')})"
        return f"{still.format(column)} <=> {still.format(before)}"

    def drift(self, column: str, before: str) -> str:
        """By how much each moved; null where one came or went."""
        of_each = f"transform({column}, (c_, i_) -> c_.entries - get({before}, i_).entries)"
        return f"IF(size({column}) = size({before}), {of_each}, null)"

    def moved(self, column: str, by: str, drift: str) -> str:
        """So many rounds later, or before."""
        entries = f"c_.entries + coalesce({by} * d_, 0L)"
        moved = let("d_", f"get({drift}, i_)", with_changes("c_", self.fields, entries=entries))
        return f"IF({by} = 0, {column}, transform({column}, (c_, i_) -> {moved}))"


COUNTED = {"copies": _Counted(COPIES_FIELDS), "replacements": _Counted(REPLACEMENT_FIELDS)}
"""By column."""
