"""Copysets: sets of brokers whose joint failure takes all replicas of some partition, and how likely k failures hold one.

Source: Cidon et al., Copysets: Reducing the Frequency of Data Loss in Cloud Storage (USENIX ATC 2013). Sets of brokers are arrays
of (sets, width): a row has broker ids in ascending order, then -1 where a set is smaller than the widest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.intervals import clopper_pearson

Sets = NDArray[np.int32]

NOBODY = -1
EXACT_UP_TO_CHOICES = 300_000
"""So many ways to choose who fails are all looked at."""
DRAWS = 20_000
"""Of who fails, where there are more ways than that."""
CELLS_AT_ONCE = 20_000_000


@dataclass(frozen=True)
class Chance:
    """A probability, with its 95 % interval (intervals.clopper_pearson); exact: all three are the same, and `draws` is 0."""

    probability: float
    low: float
    high: float
    draws: int = 0


def copysets(assignments: Iterable[NDArray[Any]]) -> Sets:
    """Returns the distinct sets of brokers that hold all replicas of some partition, in ascending order.

    `assignments`: of each topic (partitions, replicas) broker ids, -1 for none. Partitions without a replica have no set.
    """
    return distinct_sets(np.asarray(each, np.int32) for each in assignments)


def blocking_rows(replicas: NDArray[Any], min_isr: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yields of each partition, a row of brokers or of their places, the sets whose failure leaves it fewer than `min_isr`.

    These are all its replicas but min.insync.replicas - 1. Where there are fewer replicas than that, all of them are needed
    (kafka.cluster.Partition.effectiveMinIsr).
    """
    ordered = _ordered(np.asarray(replicas, np.int32))
    count = (ordered >= 0).sum(axis=1)
    needed = np.clip(min_isr, 1, np.maximum(count, 1))
    for number, least in np.unique(np.stack([count, needed], axis=1)[count > 0], axis=0).tolist():
        rows = ordered[(count == number) & (needed == least)]
        yield from (rows[:, list(places)] for places in combinations(range(number), number - least + 1))


def distinct_sets(rows: Iterable[NDArray[np.int32]]) -> Sets:
    """Returns the distinct sets among rows of broker ids in any order, -1 for none, in ascending order."""
    return counted_sets(rows)[0]


def counted_sets(rows: Iterable[NDArray[np.int32]]) -> tuple[Sets, NDArray[np.int64]]:
    """Returns the distinct sets as `distinct_sets` does, and how many rows have each."""
    ordered = [_ordered(each) for each in rows]
    width = max((each.shape[1] for each in ordered), default=0)
    wide = [np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=NOBODY) for each in ordered]
    every = np.concatenate(wide) if wide else np.empty((0, 0), np.int32)
    every = every[(every >= 0).any(axis=1)] if width else every
    if not len(every):
        return np.empty((0, width), np.int32), np.zeros(0, np.int64)
    base = int(every.max()) + 2
    if base**width >= 2**63:
        sets, counts = np.unique(every, axis=0, return_counts=True)
        return sets, counts
    # of one number each: far faster to sort than rows
    _, first, counts = np.unique(_keys(every, base), return_index=True, return_counts=True)
    return every[first], counts


def sizes_of(sets: Sets) -> NDArray[np.int64]:
    """Returns how many brokers each set has."""
    return (sets >= 0).sum(axis=1, dtype=np.int64)


def loss_probability(sets: Sets, brokers: Iterable[int], failures: int, seed: int = 0) -> Chance:
    """Returns the probability that `failures` of the brokers, any of them as likely as any other, include a whole set.

    `brokers`: the ids of all. Exact where no set is smaller than that, or where so few choices are possible that all are looked
    at; else from draws by `seed`, with an interval. Raises ValueError for more failures than brokers, or fewer than 0.
    """
    ids = np.unique(np.fromiter(brokers, np.int32))
    if not 0 <= failures <= len(ids):
        raise ValueError(f"{failures} failures of {len(ids)} brokers")
    sizes = sizes_of(sets)
    if not len(sets) or failures < sizes.min():
        return _exact(0.0)
    ways = comb(len(ids), failures)
    if failures == sizes.min():
        return _exact(int((sizes == failures).sum()) / ways)
    places = _places(sets, ids)
    if ways <= EXACT_UP_TO_CHOICES:
        chosen = np.array(list(combinations(range(len(ids)), failures)), np.int32)
        return _exact(int(holds_a_set(places, chosen, len(ids)).sum()) / ways)
    random = np.random.default_rng([seed, failures])
    chosen = np.stack([random.choice(len(ids), failures, replace=False) for _ in range(DRAWS)]).astype(np.int32)
    hits = int(holds_a_set(places, chosen, len(ids)).sum())
    return Chance(hits / DRAWS, *clopper_pearson(hits, DRAWS), DRAWS)


def holds_a_set(sets: Sets, failed: NDArray[np.int32], count: int) -> NDArray[np.bool_]:
    """Tells for each row of `failed`, so many distinct places among 0 to count - 1, whether some set lies within.

    Small sets first, and a row that holds one isn't looked at again. Either the sets are gone through, or the subsets of who
    failed are looked up among them, whichever are fewer.
    """
    held = np.zeros(len(failed), np.bool_)
    sizes = sizes_of(sets)
    for size in np.unique(sizes):
        if size > failed.shape[1]:
            break
        some = sets[sizes == size][:, :size]
        if comb(failed.shape[1], int(size)) < len(some) and (count + 1) ** int(size) < 2**63:
            _look_up(some, failed, held, count + 1)
        else:
            _go_through(some, failed, held, count)
    return held


def _look_up(sets: Sets, failed: NDArray[np.int32], held: NDArray[np.bool_], base: int) -> None:
    keys = np.sort(_keys(sets, base))
    ordered = np.sort(failed, axis=1)
    subsets = combinations(range(failed.shape[1]), sets.shape[1])
    while True:
        open_rows = np.flatnonzero(~held)
        places = list(islice(subsets, max(1, CELLS_AT_ONCE // max(1, len(open_rows) * sets.shape[1]))))
        if not places or not len(open_rows):
            return
        asked = _keys(ordered[open_rows][:, np.array(places)], base)
        found = keys[np.minimum(np.searchsorted(keys, asked), len(keys) - 1)] == asked
        held[open_rows[found.any(axis=1)]] = True


def _go_through(sets: Sets, failed: NDArray[np.int32], held: NDArray[np.bool_], count: int) -> None:
    down = np.zeros((len(failed), count), np.bool_)
    np.put_along_axis(down, failed.astype(np.int64), True, axis=1)
    start = 0
    while start < len(sets):
        open_rows = np.flatnonzero(~held)
        if not len(open_rows):
            return
        end = start + max(1, CELLS_AT_ONCE // (len(open_rows) * sets.shape[1]))
        within = down[open_rows][:, sets[start:end]].all(axis=2)
        held[open_rows[np.any(within, axis=1)]] = True
        start = end


def _places(sets: Sets, ids: NDArray[np.int32]) -> Sets:
    """Sets by the brokers' places among `ids`. Raises ValueError for a broker that isn't there."""
    places = np.searchsorted(ids, sets).astype(np.int32)
    there = sets >= 0
    if not np.array_equal(ids[np.minimum(places, len(ids) - 1)][there], sets[there]):
        raise ValueError("a set has a broker that is not among the brokers")
    return np.where(there, places, NOBODY).astype(np.int32)


def _ordered(rows: NDArray[np.int32]) -> Sets:
    """Each row ascending, -1 last."""
    last = np.iinfo(np.int32).max
    ordered = np.sort(np.where(rows < 0, last, rows), axis=1)
    return np.where(ordered == last, NOBODY, ordered).astype(np.int32)


def _keys(rows: NDArray[np.int32], base: int) -> NDArray[np.int64]:
    """A number for each row along the last axis, in the order of the rows."""
    keys = np.zeros(rows.shape[:-1], np.int64)
    for column in range(rows.shape[-1]):
        keys = keys * base + rows[..., column] + 1
    return keys


def _exact(probability: float) -> Chance:
    return Chance(probability, probability, probability)
