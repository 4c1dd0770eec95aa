"""Which rows of the workload each partition has, for all partitions at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import InputError
from emulator.inputs.arrays.columns import PackedLists, distinct_rows, distinct_sequences, offsets_of, spread
from emulator.inputs.arrays.topics import TopicPlaces
from emulator.rounds.kafka.constants import ACKS_ALL, FOREVER
from emulator.scenario import Scenario
from emulator.scenario.configs import effective
from emulator.scenario.globs import Globs, parse_partitions, single_ranges
from emulator.scenario.rates import EVEN_ALLOWED, records_a_round

FROM, TO, RECORDS, RECORD_BYTES, ACKS, MORE, OF, TOO_LARGE = range(8)
"""Columns of a workload row as numbers: ACKS is ACKS_ALL or its like; MORE of OF rounds have one record more than RECORDS
(rates.py); TOO_LARGE: 1 if no leader takes its records.
"""

_ACKS = ("all", "1", "0")
"""By the numbers that constants.py has for them."""

MAX_MESSAGE_BYTES = "max.message.bytes"
MOST_UNEVEN_ROUNDS = 8_000_000
"""Rounds with a record more that all workloads of a scenario may have together."""


@dataclass(frozen=True, eq=False)
class Workloads:
    """`of_partition`: by partition_id, which workload it has.

    `lists`: the rows of each workload, in file order, without those that append nothing; `first_acks`: by workload, acks
    of its first row in the file (ACKS_ALL without any).
    """

    of_partition: np.ndarray
    lists: PackedLists
    first_acks: np.ndarray


def workloads(scenario: Scenario, places: TopicPlaces) -> Workloads:
    """The workloads of a scenario's partitions."""
    table = _numbers(scenario)
    row, first, last = ranges_of_rows(scenario, places)
    table, row = _with_too_large(scenario, places, table, row, first)
    # Partitions between two neighbouring ends of ranges have the same rows: they are a segment.
    is_begin = np.zeros(places.partition_count + 1, bool)
    is_begin[0] = is_begin[first] = is_begin[last + 1] = True
    begins = np.flatnonzero(is_begin[:-1])
    number = np.cumsum(is_begin) - 1
    begin, end = number[first], number[last] + 1
    segment, of_range = spread(begin, end - begin), np.repeat(row, end - begin)
    order = np.argsort(segment, kind="stable")
    segment, of_range = segment[order], of_range[order]
    first_acks = np.full(len(begins), ACKS_ALL)
    firsts = np.flatnonzero(np.diff(segment, prepend=-1))
    first_acks[segment[firsts]] = table[of_range[firsts], ACKS]
    appends = (table[:, RECORDS] + table[:, MORE] > 0) & (table[:, FROM] < scenario.rounds)
    segment, of_range = segment[appends[of_range]], of_range[appends[of_range]]
    example, content = distinct_rows([table[:, column] for column in range(table.shape[1])])
    counts = np.bincount(segment, minlength=len(begins))
    _, sequence = distinct_sequences(counts, content[of_range])
    examples, of_segment = distinct_rows([sequence, first_acks])
    rows_of = spread(offsets_of(counts)[examples], counts[examples])
    lists = PackedLists(table[example[content[of_range[rows_of]]]], offsets_of(counts[examples]))
    if (uneven := int(uneven_rounds(lists.rows, scenario.rounds).sum())) > MOST_UNEVEN_ROUNDS:
        problem = f"workload: records_per_second gives {uneven} rounds a record more than the others (scenario {scenario.name})"
        raise InputError(f"{problem}; allowed: up to {MOST_UNEVEN_ROUNDS}: {EVEN_ALLOWED}")
    sizes = np.diff(begins, append=places.partition_count)
    return Workloads(np.repeat(of_segment, sizes), lists, first_acks[examples])


def refuse_uneven(scenarios: Iterable[Scenario]) -> None:
    """Raises InputError, as `workloads` does, for the first scenario whose records a second are too uneven to be played."""
    looked_at: set[int] = set()
    for scenario in scenarios:
        rates = scenario.workload.column("records_per_second")
        if rates.null_count < len(rates) and id(scenario.workload) not in looked_at:
            looked_at.add(id(scenario.workload))
            workloads(scenario, TopicPlaces(scenario))


def _numbers(scenario: Scenario) -> np.ndarray:
    """The workload as rows of numbers; a row that lasts to the run's end ends at FOREVER."""
    table = scenario.workload
    columns = [table.column(n).to_numpy() for n in ("from_round", "to_round", "records_per_round", "record_bytes")]
    columns.append(pc.index_in(table.column("acks"), pa.array(_ACKS)).to_numpy())
    more, of = np.zeros(table.num_rows, np.int64), np.ones(table.num_rows, np.int64)
    per_second = table.column("records_per_second")
    has_rest = np.zeros(0, np.int64)
    if per_second.null_count < len(per_second):
        has_rest = np.flatnonzero(pc.is_valid(per_second).to_numpy())
    for row in has_rest.tolist():
        rate = records_a_round(per_second[row].as_py(), scenario.round_ms)
        more[row], of[row] = rate.numerator % rate.denominator, rate.denominator
    numbers = np.column_stack([*(column.astype(np.int64) for column in columns), more, of, np.zeros_like(more)])
    numbers[numbers[:, TO] >= scenario.rounds, TO] = FOREVER
    numbers[has_rest, TO] = np.maximum(np.minimum(numbers[has_rest, TO], scenario.rounds), numbers[has_rest, FROM])
    return numbers


def _with_too_large(
    scenario: Scenario, places: TopicPlaces, table: np.ndarray, row: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(the rows, those of them that ranges have) where records above their topic's max.message.bytes are rows of their own.

    `row`, `first`: of ranges, each within a topic, the row and the first partition.
    """
    most = np.array([effective(scenario.config, topic.config, MAX_MESSAGE_BYTES) for topic in scenario.topics], np.int64)
    topic = np.searchsorted(places.first, first, "right") - 1
    is_large = table[row, RECORD_BYTES] > most[topic]
    if not is_large.any():
        return table, row
    refused = table.copy()
    refused[:, TOO_LARGE] = 1
    return np.concatenate([table, refused]), row + is_large * len(table)


def uneven_rounds(rows: np.ndarray, rounds: int) -> np.ndarray:
    """By row of a workload, how many of its rounds have a record more than the others."""
    in_force = np.maximum(np.minimum(rows[:, TO], rounds) - rows[:, FROM], 0)
    found: np.ndarray = in_force // rows[:, OF] * rows[:, MORE] + in_force % rows[:, OF] * rows[:, MORE] // rows[:, OF]
    return found


def ranges_of_rows(scenario: Scenario, places: TopicPlaces) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, first partition_id, last) of all that rows are for, by row; within it topic by topic, in the order of its text."""
    table = scenario.workload
    encoded = table.column("topic").combine_chunks().dictionary_encode()
    globs = Globs(encoded.dictionary.to_pylist())
    topics = places.matching(globs)
    code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    row, low, high = _partition_ranges(table.column("partitions").combine_chunks(), int(places.counts.max(initial=0)))
    counts = np.array([len(matching) for matching in topics], np.int64)
    matches = PackedLists(np.concatenate([*topics, np.zeros(0, np.int64)]), offsets_of(counts))
    counts = matches.counts[code[row]]
    topic = matches.rows[spread(matches.offsets[code[row]], counts)]
    row, low, high = np.repeat(row, counts), np.repeat(low, counts), np.repeat(high, counts)
    high = np.minimum(high, places.counts[topic] - 1)
    kept = low <= high
    return row[kept], (places.first[topic] + low)[kept], (places.first[topic] + high)[kept]


def _partition_ranges(texts: pa.StringArray, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, first partition, last) of all ranges of `partitions` texts such as "0-3,7", by row; null is all of `most`."""
    row = np.arange(len(texts))
    if texts.null_count == len(texts):
        return row, np.zeros_like(row), np.full_like(row, most - 1)
    first, last = single_ranges(texts)
    is_null = pc.is_null(texts).to_numpy(zero_copy_only=False)
    several = np.flatnonzero(~is_null & pc.is_null(first).to_numpy(zero_copy_only=False))
    low = pc.fill_null(first, 0).to_numpy(zero_copy_only=False).copy()
    high = np.where(is_null, most - 1, pc.fill_null(last, -1).to_numpy(zero_copy_only=False))
    if len(several):
        more = [(i, *ends) for i in several.tolist() for ends in parse_partitions(texts[i].as_py())]
        rest = np.delete(np.column_stack([row, low, high]), several, axis=0)
        row, low, high = np.concatenate([rest, np.array(more, np.int64)]).T
        order = np.argsort(row, kind="stable")
        row, low, high = row[order], low[order], high[order]
    return row, low, high
