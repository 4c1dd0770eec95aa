"""Records a second as records a round: exact over time, whole in every round."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from emulator.scenario.rows import Rows
from emulator.scenario.shapes import MAX_RECORDS_PER_ROUND

PER_ROUND, PER_SECOND = "records_per_round", "records_per_second"
MOST_DECIMALS = 6
MOST_UNEVEN_ROUNDS = 2_000_000
"""Rounds of a row that may have one record more than the others."""
MOST_PARTS = 4_000_000
"""Stretches of whole records a round that all rates may come to in windows."""
EVEN_ALLOWED = "a rate that is whole records a round, longer rounds, or rate_window_rounds"


def records_a_round(records_per_second: float, round_ms: int) -> Fraction:
    """The rate as it was written, in records a round.

    >>> records_a_round(0.3, 500)
    Fraction(3, 20)
    """
    return Fraction(repr(records_per_second)) * round_ms / 1000


def mean_records_a_round(workload: pa.Table, round_ms: int) -> np.ndarray:
    """Returns the records a round of each row of a scenario's workload, on average: with the rest of rates that have one."""
    by_rate = workload.column(PER_SECOND).to_numpy().astype(np.float64) * round_ms / 1000  # NaN: whole records a round
    return np.where(np.isnan(by_rate), workload.column(PER_ROUND).to_numpy(), by_rate)


def in_rounds(rows: Rows, rounds: int, round_ms: int, window_rounds: int) -> pa.Table:
    """Workload rows with whole records a round in `records_per_round`; `records_per_second` stays where there is a rest.

    With a window of several rounds none stays. from_round and to_round are filled. Raises InputError for the first row with none
    or both of the rates, or an impossible one.
    """
    table = rows.table
    per_round, per_second = table.column(PER_ROUND), table.column(PER_SECOND)
    if not rows.has_any(PER_SECOND) and not per_round.null_count:
        return table
    given = pc.is_valid(per_second)
    both = pc.and_(given, pc.is_valid(per_round))
    rows.refuse(both, PER_ROUND, "{value} stands beside records_per_second", "one of the two")
    neither = pc.index(pc.and_(pc.is_null(per_round), pc.is_null(per_second)), True).as_py()
    if neither >= 0:
        raise rows.error(neither, PER_ROUND, "no value", "it or records_per_second")
    if not pc.any(given).as_py():
        return table
    whole, rest = per_round.to_pylist(), per_second.to_pylist()
    spans = zip(table.column("from_round").to_pylist(), table.column("to_round").to_pylist(), strict=True)
    for row, (rate, (start, end)) in enumerate(zip(rest, spans, strict=True)):
        if rate is None:
            continue
        if not 0 <= rate < float("inf"):
            raise rows.error(row, PER_SECOND, f"{rate} is out of range", "0 or more")
        if (Fraction(repr(rate)) * 10**MOST_DECIMALS).denominator > 1:
            raise rows.error(row, PER_SECOND, f"{rate} is too fine", f"up to {MOST_DECIMALS} decimals")
        found = records_a_round(rate, round_ms)
        if ceil(found) > MAX_RECORDS_PER_ROUND:
            raise rows.error(row, PER_SECOND, f"{rate} is out of range", f"up to {MAX_RECORDS_PER_ROUND} records a round")
        whole[row] = floor(found)
        rest[row] = None if found == whole[row] else rate
        uneven = floor((found - whole[row]) * max(min(end, rounds) - start, 0))
        if window_rounds == 1 and uneven > MOST_UNEVEN_ROUNDS:
            problem = f"{rate} gives {uneven} rounds a record more than the others"
            raise rows.error(row, PER_SECOND, problem, f"up to {MOST_UNEVEN_ROUNDS} such rounds: {EVEN_ALLOWED}")
    table = _with(table, {PER_ROUND: pa.array(whole, pa.int64()), PER_SECOND: pa.array(rest, pa.float64())})
    return table if window_rounds == 1 else _in_windows(Rows(table, rows.file, rows.place), rounds, round_ms, window_rounds)


def _in_windows(rows: Rows, rounds: int, round_ms: int, window_rounds: int) -> pa.Table:
    """A row with a rest as rows of whole records a round, in its place."""
    names = ("from_round", "to_round", PER_ROUND)
    columns = (rows.table.column(name).to_pylist() for name in (*names, PER_SECOND))
    parts, count = [np.zeros((0, 3), np.int64)], 0
    sizes = []
    for row, (start, end, whole, rate) in enumerate(zip(*columns, strict=True)):
        own = np.array([[start, end, whole]])
        length = min(end, rounds) - start
        if rate is not None and length > 0:
            if (count := count + 2 * -(-length // window_rounds)) > MOST_PARTS:
                problem = f"rates come to more than {MOST_PARTS} stretches of whole records a round"
                raise rows.error(row, PER_SECOND, problem, "a longer rate_window_rounds")
            own = _parts(records_a_round(rate, round_ms) - whole, length, window_rounds) + [start, start, whole]
        parts.append(own)
        sizes.append(len(own))
    table = rows.table.take(np.repeat(np.arange(len(sizes)), sizes))
    filled = {name: pa.array(values) for name, values in zip(names, np.concatenate(parts).T, strict=True)}
    return _with(table, filled | {PER_SECOND: pa.nulls(table.num_rows, pa.float64())})


def _parts(rest: Fraction, length: int, window_rounds: int) -> np.ndarray:
    """(first round, end, 0 or 1 record more), by which a rest below a record a round is sent: in each window at its start.

    At the end of each window as many records have been sent as the rest comes to; a last one that is cut begins like the others.
    """
    edges = np.arange(-(-length // window_rounds) + 1, dtype=np.int64) * window_rounds
    more, of = rest.numerator, rest.denominator
    sent = edges // of * more + edges % of * more // of
    middle = edges[:-1] + np.diff(sent)
    begins, ends = (np.column_stack(pair).reshape(-1) for pair in ((edges[:-1], middle), (middle, edges[1:])))
    found = np.column_stack([begins, np.minimum(ends, length), np.resize([1, 0], len(begins))])
    return found[found[:, 0] < found[:, 1]]


def _with(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table
