"""What records refuse, and what mypy sees of them."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from mypy import api

from emulator.rounds.kafka import input_records, list_records, records, scratch_lists, told_records
from emulator.rounds.lists import List, append, drop_first, every, keep_first, last
from emulator.rounds.records import Record, compared, counter, dtype_of, kinds_of, rows, word_of, words_of
from emulator.rounds.slots import has

MISSPELT = """
from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.records import Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.records import Rows


@compiled
def rule(lists: Lists, replicas: Rows[Replica]) -> int:
    replicas[0].log_strat = 3
    return replicas[0].high_watermark + lists.runs[0].leo
"""


class Pair(Record):
    """Two fields."""

    leo: int = counter("records")
    epoch: int = compared("epoch")


def test_every_field_is_a_64_bit_word() -> None:
    modules = (input_records, list_records, records, scratch_lists, told_records)
    found = {r for module in modules for _, r in inspect.getmembers(module, inspect.isclass) if issubclass(r, Record)} - {Record}
    assert len(found) > 20
    for record in found:
        assert dtype_of(record).itemsize == 8 * len(kinds_of(record)), record.__name__


@pytest.mark.parametrize("name", ["round", "flags", "base", "data", "trace", "size", "copy", "min", "sum"])
def test_a_name_that_numpy_has_is_refused(name: str) -> None:
    taken = type("Taken", (Record,), {"__annotations__": {name: int}, name: compared("")})
    with pytest.raises(TypeError, match=f"np.record has attributes named {name}"):
        dtype_of(taken)


def test_a_field_without_a_kind_is_refused() -> None:
    class Bare(Record):
        leo: int

    with pytest.raises(TypeError, match="leo declared without a kind"):
        dtype_of(Bare)


def test_words_are_the_same_memory() -> None:
    pairs = rows(Pair, 2)
    words_of(pairs)[1, word_of(Pair, "epoch")] = 7
    assert pairs[1].epoch == 7
    assert pairs.dtype == np.dtype([("leo", np.int64), ("epoch", np.int64)])


def test_mypy_finds_a_misspelt_field(tmp_path: Path) -> None:
    rule = tmp_path / "misspelt_rule.py"
    rule.write_text(MISSPELT)
    told, _, status = api.run([str(rule), "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")])
    assert status == 1
    assert '"Replica" has no attribute "log_strat"; maybe "log_start"?' in told
    assert '"Replica" has no attribute "high_watermark"' in told
    assert '"Run" has no attribute "leo"' in told


def test_a_full_list_keeps_its_last_entry() -> None:
    entries, array = rows(List, 1)[0], np.zeros(4, np.int64)
    entries.limit = 3
    for value in range(1, 6):
        array[append(entries)] = value
    assert array[entries.start : entries.start + entries.count].tolist() == [1, 2, 3]
    assert entries.full == 1


def test_lists_count_their_changes() -> None:
    entries = rows(List, 1)[0]
    entries.limit = 9
    for _ in range(3):
        append(entries)
    drop_first(entries, 1)
    drop_first(entries, 0)
    keep_first(entries, 1)
    keep_first(entries, 5)
    assert (entries.start, entries.count, entries.changes) == (1, 1, 5)


def test_what_is_forgotten_is_not_looked_at() -> None:
    """A scan begins at the living: entries that are gone cost nothing, however many there were."""
    entries = rows(List, 1)[0]
    entries.limit = 1_001
    for _ in range(1_000):
        append(entries)
    drop_first(entries, 998)
    assert list(every(entries)) == [998, 999]
    assert last(entries) == 999


def test_slot_minus_one_is_in_no_mask() -> None:
    assert not has(-1, -1)
    assert has(0b100, 2)
