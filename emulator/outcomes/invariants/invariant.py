"""A row of the table `invariants`, and the table."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from emulator.table_columns.spark_columns import OUTPUT_TABLES


class Invariant(NamedTuple):
    """A row: `says` what must hold, `predicate` finds where it does not, `looked_at`: when, `source`: who says so."""

    invariant: str
    says: str
    predicate: str
    looked_at: str
    source: str


def invariant_table(*groups: tuple[Invariant, ...]) -> pa.Table:
    """The table `invariants` of these groups."""
    columns = [pa.array(column, pa.string()) for column in zip(*(row for group in groups for row in group), strict=True)]
    return pa.table(columns, OUTPUT_TABLES["invariants"].names)
