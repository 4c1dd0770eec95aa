"""Records a second as records a round: exact over time, whole in every round."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import pyarrow as pa
import pyarrow.compute as pc

from emulator.scenario.rows import Rows
from emulator.scenario.shapes import MAX_RECORDS_PER_ROUND

PER_ROUND, PER_SECOND = "records_per_round", "records_per_second"
MOST_DECIMALS = 6
MOST_UNEVEN_ROUNDS = 2_000_000
"""Rounds of a row that may have one record more than the others."""


def records_a_round(records_per_second: float, round_ms: int) -> Fraction:
    """The rate as it was written, in records a round.

    >>> records_a_round(0.3, 500)
    Fraction(3, 20)
    """
    return Fraction(repr(records_per_second)) * round_ms / 1000


def in_rounds(rows: Rows, rounds: int, round_ms: int) -> pa.Table:
    """Workload rows with whole records a round in `records_per_round`; `records_per_second` stays where there is a rest.

    from_round and to_round are filled. Raises InputError for the first row with none or both of the rates, or an impossible one.
    """
    table = rows.table
    per_round, per_second = table.column(PER_ROUND), table.column(PER_SECOND)
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
        if uneven > MOST_UNEVEN_ROUNDS:
            problem = f"{rate} gives {uneven} rounds a record more than the others"
            allowed = f"up to {MOST_UNEVEN_ROUNDS} such rounds: a rate that is whole records a round, or longer rounds"
            raise rows.error(row, PER_SECOND, problem, allowed)
    names = table.column_names
    table = table.set_column(names.index(PER_ROUND), PER_ROUND, pa.array(whole, pa.int64()))
    return table.set_column(names.index(PER_SECOND), PER_SECOND, pa.array(rest, pa.float64()))
