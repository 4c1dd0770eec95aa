"""Rows of tests/quick_rows.py are records: the same memory, numbers, and errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, constant, counter, part_of, rows
from tests.quick_rows import quick


class Sample(Record):
    """Names of fields are those of methods of arrays, too."""

    partition: int = constant("")
    runs: List = part_of(List, "")
    told: int = counter("")


class Both(NamedTuple):
    samples: Rows[Sample]
    numbers: np.ndarray


@pytest.fixture
def records() -> Rows[Sample]:
    return rows(Sample, 3)  # type: ignore[no-any-return]


def test_fields_are_those_of_the_records(records: Rows[Sample]) -> None:
    given = Both(records, np.arange(3))
    both = quick(given)
    assert type(both) is Both and both.numbers is given.numbers
    row, record = both.samples[1], records[1]
    row.told, row.runs.count, row.partition = 7, 8, -9
    assert (record.told, record.runs.count, record.partition) == (7, 8, -9)
    record.told += 1
    row.runs.count += 1
    assert (type(row.told), row.told, record.runs.count) == (np.int64, 8, 9)
    assert "'told': np.int64(8)" in repr(row) and "'count': np.int64(9)" in repr(both.samples)
    assert len(both.samples) == len(records) and both.samples[1:][0].told == 8


def test_what_does_not_fit_is_told_of(records: Rows[Sample]) -> None:
    samples = quick(records)
    with pytest.raises(IndexError):
        samples[3]
    with pytest.raises(AttributeError):
        samples[0].nothing  # noqa: B018
    with pytest.raises(OverflowError):
        samples[0].told = 2**63
    samples[0].told = 2**62
    with pytest.warns(RuntimeWarning, match="overflow"):
        samples[0].told *= 2
