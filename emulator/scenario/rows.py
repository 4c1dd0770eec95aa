"""Rows of one source (a list in the scenario file, a table file, a generator), checked all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.errors import InputError, did_you_mean, quoted
from emulator.scenario.globs import GLOB_CHARACTERS, known_topics_listed, matching_topics
from emulator.scenario.places import Location, Places
from emulator.scenario.table_files import Column, absolute_path, read_table, row_place, sha256_of


@dataclass(frozen=True)
class Rows:
    """A table and how its values are named: `place(row, column)`, rows counted from 0."""

    table: pa.Table
    file: str
    place: Callable[[int, str], str]

    def error(self, row: int, column: str, problem: str, allowed: str | None = None) -> InputError:
        """Builds the error for one value."""
        return InputError.at(self.file, self.place(row, column), problem, allowed)

    def has_any(self, column: str) -> bool:
        """Whether some row has a value of this column: of most tables most columns have none, and need no look."""
        values = self.table.column(column)
        return values.null_count < len(values)

    def refuse(self, bad: Any, column: str, problem: str, allowed: str | Callable[[int], str]) -> None:
        """Raises InputError for the first row where `bad` (Arrow booleans; null is false) holds.

        `problem` may use {value}; `allowed` may be a function of the row.
        """
        if pc.any(bad).as_py():
            row = pc.index(bad, True).as_py()
            value = self.table.column(column)[row].as_py()
            words = allowed if isinstance(allowed, str) else allowed(row)
            raise self.error(row, column, problem.format(value=quoted(value)), words)

    def check_range(self, column: str, low: float, high: float | None = None) -> None:
        """Raises InputError for the first value of `column` below `low` or above `high`."""
        values = self.table.column(column)
        if not self.has_any(column):
            return
        words = f"{low} or more" if high is None else f"{low} to {high}"
        bad = pc.less(values, low)
        if high is not None:
            bad = pc.or_(bad, pc.greater(values, high))
        self.refuse(bad, column, "{value} is out of range", words)

    def check_interval(self) -> None:
        """Raises InputError for the first row whose rounds are negative or whose interval is empty or backwards."""
        self.check_range("from_round", 0)
        if not self.has_any("to_round"):
            return
        start, end = self.table.column("from_round"), self.table.column("to_round")
        self.refuse(
            pc.less_equal(end, start),
            "to_round",
            "{value} is not after from_round",
            lambda row: f"more than from_round, {start[row].as_py()}, or absent for until the end",
        )

    def check_member(self, column: str, known: Sequence[Any], what: str, allowed: str) -> None:
        """Raises InputError for the first value of `column` that is not one of `known`; nulls pass."""
        if not self.has_any(column):
            return
        values = self.table.column(column)
        bad = pc.and_(pc.is_valid(values), pc.invert(pc.is_in(values, value_set=pa.array(known, values.type))))
        self.refuse(bad, column, f"{what} {{value}} does not exist", allowed)

    def check_topics(self, partitions: Mapping[str, int]) -> np.ndarray:
        """Returns, for each row, the most partitions of a topic that its glob matches (0 for a null topic).

        `partitions`: by topic name. Raises InputError for the first glob that matches no topic.
        """
        encoded = self.table.column("topic").combine_chunks().dictionary_encode()
        limits = []
        for code, glob in enumerate(encoded.dictionary.to_pylist()):
            matches = matching_topics(glob, partitions)
            if not matches:
                row = pc.index(encoded.indices, code).as_py()
                what = "no topic is called" if GLOB_CHARACTERS.isdisjoint(glob) else "no topic matches"
                problem = f"{what} {quoted(glob)}{did_you_mean(glob, partitions)}"
                raise self.error(row, "topic", problem, known_topics_listed(partitions))
            limits.append(max(partitions[name] for name in matches))
        codes = pc.fill_null(encoded.indices, len(limits)).to_numpy(zero_copy_only=False)
        return np.array([*limits, 0], np.int64)[codes]

    def check_partition(self, limits: np.ndarray) -> None:
        """Raises InputError for the first `partition` not below its row's limit; nulls pass."""
        if not self.has_any("partition"):
            return
        self.refuse(
            pc.greater_equal(self.table.column("partition"), pa.array(limits)),
            "partition",
            "{value} is not a partition of the topic",
            lambda row: f"0 to {limits[row] - 1}",
        )


def rows_of_list(places: Places, location: Location, entries: Sequence[Mapping[str, Any]], schema: pa.Schema) -> Rows:
    """The rows of a list of tables in the scenario file; keys that are no column of `schema` are left out."""
    table = no_rows(schema)
    if entries:
        table = pa.table([_column([entry.get(f.name) for entry in entries], f.type) for f in schema], schema=schema)
    return Rows(table, places.file, lambda row, column: places.name(*location, row, column))


@cache
def no_rows(schema: pa.Schema) -> pa.Table:
    """An empty table."""
    return schema.empty_table()


def _column(values: list[Any], of_type: pa.DataType) -> pa.Array:
    return pa.nulls(len(values), of_type) if values.count(None) == len(values) else pa.array(values, of_type)


class TableFiles:
    """Reads table files, each once, however many variants use it."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, tuple[str, ...]], pa.Table] = {}

    def rows(self, path: str, columns: Mapping[str, Column], extra: bool = False) -> Rows:
        """The rows of a file with the declared columns; raises InputError as read_table does."""
        key = (path, tuple(columns))
        if key not in self._tables:
            self._tables[key] = read_table(path, columns, extra)
        return Rows(self._tables[key], path, row_place)

    def digests(self) -> dict[str, str]:
        """By absolute path or URI the SHA-256 of every file that was read."""
        return {absolute_path(path): sha256_of(path) for path in sorted({path for path, _ in self._tables})}
