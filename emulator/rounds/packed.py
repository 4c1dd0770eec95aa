"""Lists between two stretches: packed one after the other, loaded into scratch arrays and packed again.

load(ledger.adds, old.adds, number, words_of_adds, start, room)
fits = store(ledger.adds, new.adds, number, words_of_adds)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from emulator.rounds.compiled import compiled
from emulator.rounds.lists import List
from emulator.rounds.records import dtype_of, words_of


class Packed(NamedTuple):
    """Lists one after the other: list i is words[offsets[i]:offsets[i + 1]], each entry a row of 64-bit words."""

    words: np.ndarray
    offsets: np.ndarray


def width_of(record: type) -> int:
    """Words of a record."""
    return dtype_of(record).itemsize // 8


def packed(width: int, lists: Sequence[np.ndarray]) -> Packed:
    """Lists of records, or of rows of `width` numbers, packed."""
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(one) for one in lists], out=offsets[1:])
    entries = [words_of(one) if one.dtype.names else one for one in lists]
    words = np.concatenate([np.zeros((0, width), np.int64), *entries])
    return Packed(words, offsets)


def packed_empty(width: int, count: int) -> Packed:
    """So many empty lists, packed."""
    return Packed(np.zeros((0, width), np.int64), np.zeros(count + 1, np.int64))


def entries_of(record: type, lists: Packed) -> np.ndarray:
    """All entries of packed lists as one record array; `offsets` says which are whose."""
    return np.ascontiguousarray(lists.words).reshape(-1).view(dtype_of(record)).view(np.recarray)


def roomy(lists: Packed) -> Packed:
    """As many empty lists, with room for what these may become."""
    room = 2 * len(lists.words) + 4 * len(lists.offsets) + 64
    return Packed(np.zeros((room, lists.words.shape[1]), np.int64), np.zeros(len(lists.offsets), np.int64))


def grown(lists: Packed) -> Packed:
    """The same with twice the room for entries."""
    words = np.zeros((2 * len(lists.words) + 1024, lists.words.shape[1]), np.int64)
    words[: len(lists.words)] = lists.words
    return Packed(words, lists.offsets)


def with_places(lists: Packed, count: int) -> Packed:
    """The same with room for so many lists."""
    offsets = np.zeros(count + 1, np.int64)
    offsets[: len(lists.offsets)] = lists.offsets
    return Packed(lists.words, offsets)


def cut(lists: Packed, count: int) -> Packed:
    """The first `count` lists without the room that is left."""
    return Packed(lists.words[: int(lists.offsets[count])].copy(), lists.offsets[: count + 1].copy())


@compiled
def load(entries: List, lists: Packed, number: int, words: np.ndarray, start: int, room: int) -> None:
    """Put a packed list into its place."""
    first = lists.offsets[number]
    count = lists.offsets[number + 1] - first
    entries.start = start
    entries.limit = start + room - 1
    entries.changes = 0
    entries.full = 0
    if count >= room:
        entries.full = 1
        entries.count = 0
        return
    entries.count = count
    for at in range(count):
        for word in range(words.shape[1]):
            words[start + at, word] = lists.words[first + at, word]


@compiled
def store(entries: List, lists: Packed, number: int, words: np.ndarray) -> bool:
    """Pack a list behind those before it. False: there is no room."""
    if number + 1 >= len(lists.offsets):
        return False
    first = lists.offsets[number]
    if first + entries.count > len(lists.words):
        return False
    for at in range(entries.count):
        for word in range(words.shape[1]):
            lists.words[first + at, word] = words[entries.start + at, word]
    lists.offsets[number + 1] = first + entries.count
    return True
