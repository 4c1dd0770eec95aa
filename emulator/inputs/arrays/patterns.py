"""What is appended in each round: spans of workloads, and the patterns of batches that they and initial logs repeat."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from emulator.inputs.arrays.columns import PackedLists, distinct_rows, distinct_sequences, offsets_of, spread
from emulator.inputs.arrays.rates import in_whole_rounds
from emulator.inputs.arrays.workload import ACKS, FROM, RECORD_BYTES, RECORDS, TO, TOO_LARGE
from emulator.rounds.kafka.constants import ACKS_ALL, ACKS_NONE, FOREVER, UNKNOWN
from emulator.rounds.kafka.input_records import Batch, Pattern, WorkloadSpan
from emulator.rounds.records import rows

_ROUND_BITS = 40


class Appends(NamedTuple):
    """`first_span`: by workload; `of_sizes`: by record size, the pattern of one such record."""

    spans: Any
    patterns: Any
    batches: Any
    first_span: np.ndarray
    of_sizes: np.ndarray


def appends(lists: PackedLists, sizes: np.ndarray) -> Appends:
    """The spans of these workloads, with their patterns and those of single records of these `sizes`."""
    lists = in_whole_rounds(lists)
    round_, workload, at, row = _in_force(lists)
    is_large = lists.rows[row, TOO_LARGE] != 0
    too_large = np.zeros(len(round_), np.int64)
    np.add.at(too_large, at[is_large], lists.rows[row[is_large], RECORDS])
    at, row = at[~is_large], row[~is_large]
    content = lists.rows[row][:, [RECORDS, RECORD_BYTES, ACKS]]
    counts = np.bincount(at, minlength=len(round_))
    free = content[:, 2] != ACKS_ALL
    single = np.column_stack([np.ones_like(sizes), sizes, np.full_like(sizes, ACKS_ALL)])
    batches = np.concatenate([content, content[free], single])
    counts_free = np.bincount(at[free], minlength=len(round_))
    pattern, patterns, packed = _patterns(np.concatenate([counts, counts_free, np.ones(len(sizes), np.int64)]), batches)
    every, unconditional, of_sizes = np.split(pattern, [len(round_), 2 * len(round_)])
    begins = np.diff(workload, prepend=-1) > 0
    differs = begins | (np.diff(every, prepend=-2) != 0) | (np.diff(unconditional, prepend=-2) != 0)
    differs |= np.diff(too_large, prepend=-1) != 0
    kept = np.flatnonzero(differs)
    first_span = offsets_of(np.bincount(workload[kept], minlength=len(lists.counts)) + 1)
    spans = rows(WorkloadSpan, int(first_span[-1]))
    spans["from_round"], spans["pattern"], spans["unconditional"] = FOREVER, UNKNOWN, UNKNOWN
    places = np.arange(len(kept)) + workload[kept]  # each workload before has one more, at FOREVER
    spans["from_round"][places] = round_[kept]
    spans["pattern"][places] = every[kept]
    spans["unconditional"][places] = unconditional[kept]
    spans["too_large"][places] = too_large[kept]
    return Appends(spans, patterns, packed, first_span[:-1], of_sizes)


def _in_force(lists: PackedLists) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(rounds in which something may begin for a workload, the workloads; (place of a round, row in force then), in order)."""
    of_row = np.repeat(np.arange(len(lists.counts)), lists.counts)
    begin = of_row << _ROUND_BITS | lists.rows[:, FROM]
    ends = lists.rows[:, TO] < FOREVER
    end = of_row << _ROUND_BITS | lists.rows[:, TO]
    rounds = np.sort(np.concatenate([np.arange(len(lists.counts)) << _ROUND_BITS, begin, end[ends]]))
    rounds = rounds[np.flatnonzero(np.diff(rounds, prepend=-1))]
    workload, round_ = rounds >> _ROUND_BITS, rounds & ((1 << _ROUND_BITS) - 1)
    first = np.searchsorted(rounds, begin)
    last = np.where(ends, np.searchsorted(rounds, end), np.searchsorted(workload, of_row, "right"))
    at, row = spread(first, last - first), np.repeat(np.arange(len(of_row)), last - first)
    order = np.argsort(at, kind="stable")
    return round_, workload, at[order], row[order]


def _patterns(counts: np.ndarray, batches: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """Of sequences of batches (records, record_bytes, acks): (pattern of each, UNKNOWN for none; patterns; batches)."""
    _, content = distinct_rows(list(batches.T))
    examples, kind = distinct_sequences(counts, content)
    number = np.cumsum(counts[examples] > 0) - 1
    pattern = np.where(counts > 0, number[kind], UNKNOWN)
    examples = examples[counts[examples] > 0]
    sizes = counts[examples]
    chosen = batches[spread(offsets_of(counts)[examples], sizes)]
    begins = np.cumsum(sizes) - sizes
    patterns, packed = rows(Pattern, len(examples)), rows(Batch, len(chosen))
    if not len(examples):
        return pattern, patterns, packed
    size_bytes = chosen[:, 0] * chosen[:, 1]
    patterns["records"] = np.add.reduceat(chosen[:, 0], begins)
    patterns["size_bytes"] = np.add.reduceat(size_bytes, begins)
    smallest, largest = np.minimum.reduceat(chosen[:, 1], begins), np.maximum.reduceat(chosen[:, 1], begins)
    patterns["record_bytes"] = np.where(smallest == largest, smallest, UNKNOWN)
    patterns["first_batch"] = begins
    patterns["batch_count"] = sizes
    patterns["unconditional_records"] = np.add.reduceat(chosen[:, 0] * (chosen[:, 2] != ACKS_ALL), begins)
    patterns["unacknowledged_records"] = np.add.reduceat(chosen[:, 0] * (chosen[:, 2] == ACKS_NONE), begins)
    packed["end"] = _within(chosen[:, 0], begins, sizes)
    packed["end_bytes"] = _within(size_bytes, begins, sizes)
    packed["acked_on_append"] = chosen[:, 2] != ACKS_ALL
    packed["unacknowledged"] = chosen[:, 2] == ACKS_NONE
    return pattern, patterns, packed


def _within(values: np.ndarray, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Running sums that start anew with each pattern; sums over all patterns may wrap around, which cancels out."""
    sums = np.cumsum(values)
    return sums - np.repeat(sums[begins] - values[begins], sizes)
