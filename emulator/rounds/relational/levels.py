"""Columns are selected as early as they may be, so that few queries are nested: an engine plans each of them.

A round makes some 150 columns, one `with_columns` after another: as one query a call Spark nests and analyzes them all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

_WORD = re.compile(r"[a-z_]\w*")


def with_level(levels: tuple[Mapping[str, str], ...], texts: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
    """The levels with columns that see the values of all of these, each selected as early as it may be: few queries are nested.

    A column comes behind those that it is made of and behind who made it before, and not before who still reads its old value.
    """
    places = {name: _first_place(levels, name, _words(text)) for name, text in texts.items()}
    readers = {name: [reader for reader, text in texts.items() if name in _words(text)] for name in texts}
    moves = True
    while moves:
        moves = False
        for name, reading in readers.items():
            at = max([places[name], *(places[reader] for reader in reading)])
            moves |= at != places[name]
            places[name] = at
    made = [dict(level) for level in levels] + [{} for _ in range(max(places.values()) + 1 - len(levels))]
    for name, text in texts.items():
        made[places[name]][name] = text
    return tuple(made)


def _first_place(levels: Sequence[Mapping[str, str]], name: str, read: frozenset[str]) -> int:
    at = 0
    for number, level in enumerate(levels):
        if name in level or not read.isdisjoint(level):
            at = number + 1
        elif any(name in _words(other) for other in level.values()):
            at = number
    return at


@cache
def _words(text: str) -> frozenset[str]:
    """All that may be columns in an expression."""
    return frozenset(_WORD.findall(text))
