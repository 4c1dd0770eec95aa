"""Workload rows: appends per round, from the scenario file and from workload_file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.scenario.globs import PARTITIONS_ALLOWED, PARTITIONS_PATTERN, parse_partitions, single_ranges
from emulator.scenario.model import WORKLOAD_SCHEMA
from emulator.scenario.rates import in_rounds
from emulator.scenario.rows import Rows
from emulator.scenario.shapes import MAX_RECORD_BYTES, MAX_RECORDS_PER_ROUND
from emulator.scenario.table_files import Column

ACKS = ("0", "1", "all")
DEFAULT_RECORD_BYTES = 1000
DEFAULTS: Mapping[str, int | str] = {"from_round": 0, "record_bytes": DEFAULT_RECORD_BYTES, "acks": "all"}
"""What a row has where it says nothing."""

WORKLOAD_FILE_COLUMNS: Mapping[str, Column] = {
    name: Column(WORKLOAD_SCHEMA.field(name).type, required=name == "topic") for name in WORKLOAD_SCHEMA.names
} | {"name": Column(pa.string())}


def resolve_workload(
    sources: list[Rows], partitions: Mapping[str, int], rounds: int, round_ms: int, window_rounds: int = 1
) -> pa.Table:
    """Checks workload rows and fills in what they leave out; returns WORKLOAD_SCHEMA, sources in their order.

    `partitions`: by topic name. An absent to_round becomes the end of the run, records a second whole records a round, where
    they are or are made so in windows of several rounds. Raises InputError for the first row
    with an impossible interval or number, an unknown topic, or partitions that it does not have.
    """
    return pa.concat_tables([_resolve(rows, partitions, rounds, round_ms, window_rounds) for rows in sources])


def fill_to_round(from_round: pa.ChunkedArray, to_round: pa.ChunkedArray, rounds: int) -> pa.ChunkedArray:
    """Fills absent ends with the end of the run; never an empty interval, however late it starts."""
    if not to_round.null_count:
        return to_round
    end = pc.max_element_wise(pc.add(from_round, 1), pa.scalar(rounds, pa.int64()))
    return pc.coalesce(to_round, end)


def _resolve(rows: Rows, partitions: Mapping[str, int], rounds: int, round_ms: int, window_rounds: int) -> pa.Table:
    table = rows.table
    for name, default in DEFAULTS.items():
        if table.column(name).null_count:
            filled = pc.fill_null(table.column(name), default)
            table = table.set_column(table.column_names.index(name), name, filled)
    rows = Rows(table, rows.file, rows.place)
    rows.check_interval()
    rows.check_range("records_per_round", 0, MAX_RECORDS_PER_ROUND)
    rows.check_range("record_bytes", 1, MAX_RECORD_BYTES)
    if not set(table.column("acks").unique().to_pylist()) <= set(ACKS):
        acks = pc.invert(pc.is_in(table.column("acks"), value_set=pa.array(ACKS)))
        rows.refuse(acks, "acks", "{value} is not known", '"0", "1" or "all"')
    limits = rows.check_topics(partitions)
    if rows.has_any("partitions"):
        check_partitions(rows, limits)
    ends = fill_to_round(table.column("from_round"), table.column("to_round"), rounds)
    table = table.set_column(table.column_names.index("to_round"), "to_round", ends).select(WORKLOAD_SCHEMA.names)
    return in_rounds(Rows(table, rows.file, rows.place), rounds, round_ms, window_rounds)


def check_partitions(rows: Rows, limits: np.ndarray) -> None:
    """Raises InputError for the first `partitions` that is no list of partitions, or names one not below its row's limit."""
    texts = rows.table.column("partitions").combine_chunks()
    rows.refuse(
        pc.invert(pc.match_substring_regex(texts, f"^{PARTITIONS_PATTERN}$")),
        "partitions",
        "{value} is not a list of partitions",
        PARTITIONS_ALLOWED,
    )
    # A number or one range, nearly always: all at once. A list of several: one by one.
    first, last = single_ranges(texts)
    several = pc.and_(pc.is_valid(texts), pc.is_null(first))
    if pc.any(several).as_py():
        firsts, lasts = first.to_pylist(), last.to_pylist()
        for row in np.flatnonzero(several.to_numpy(zero_copy_only=False)):
            ranges = _ranges(rows, int(row), texts[row].as_py())
            firsts[row], lasts[row] = ranges[0][0], max(end for _, end in ranges)
        first, last = pa.array(firsts, pa.int64()), pa.array(lasts, pa.int64())
    rows.refuse(pc.less(last, first), "partitions", "{value} has a range that runs backwards", PARTITIONS_ALLOWED)
    rows.refuse(
        pc.greater_equal(last, pa.array(limits)),
        "partitions",
        "{value} names partitions that the topic does not have",
        lambda row: f"0 to {limits[row] - 1}",
    )


def _ranges(rows: Rows, row: int, text: str) -> list[tuple[int, int]]:
    try:
        return parse_partitions(text)
    except ValueError as error:
        raise rows.error(row, "partitions", f'"{text}" {error}', PARTITIONS_ALLOWED) from None
