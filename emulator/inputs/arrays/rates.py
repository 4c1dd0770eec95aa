"""Rates that are no whole number of records a round: rounds with a record more than the others, at even distances."""

from __future__ import annotations

import numpy as np

from emulator.inputs.arrays.columns import PackedLists, offsets_of
from emulator.inputs.arrays.workload import FROM, MORE, OF, RECORDS, TO


def in_whole_rounds(lists: PackedLists) -> PackedLists:
    """The rows of workloads with as many records in each of their rounds: a row with a rest becomes stretches, in its place."""
    rows = lists.rows
    if not rows[:, MORE].any():
        return lists
    counts = np.ones(len(rows), np.int64)
    parts, done = [], 0
    for at in np.flatnonzero(rows[:, MORE]).tolist():
        stretches = _stretches(rows[at])
        parts += [rows[done:at], stretches]
        counts[at], done = len(stretches), at + 1
    before = offsets_of(counts)
    return PackedLists(np.concatenate([*parts, rows[done:]]), before[lists.offsets])


def _stretches(row: np.ndarray) -> np.ndarray:
    """The rows that a row with a rest is: after r of its rounds, floor(r * MORE / OF) of them had a record more than RECORDS."""
    more, of, rounds = int(row[MORE]), int(row[OF]), int(row[TO] - row[FROM])
    uneven = -(-np.arange(1, rounds * more // of + 1, dtype=np.int64) * of // more) - 1
    begins = uneven[np.diff(uneven, prepend=-2) > 1]
    ends = uneven[np.diff(uneven, append=rounds + 1) > 1] + 1
    edges = np.concatenate([[0], np.column_stack([begins, ends]).reshape(-1), [rounds]])
    found = np.repeat(row[None, :], len(edges) - 1, axis=0)
    found[:, FROM] = row[FROM] + edges[:-1]
    found[:, TO] = row[FROM] + edges[1:]
    found[1::2, RECORDS] += 1
    found[:, MORE] = 0
    return found[(found[:, FROM] < found[:, TO]) & (found[:, RECORDS] > 0)]
