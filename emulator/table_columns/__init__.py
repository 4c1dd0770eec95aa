"""The columns of every output table, each with its unit and meaning: the only place for them. Without Spark's types.

`emulator.table_columns.spark_columns` has them as Spark's StructTypes.
"""

from __future__ import annotations

from emulator.table_columns.columns import Column
from emulator.table_columns.of_consumers import CONSUMER_COUNTERS, CONSUMERS_TABLES
from emulator.table_columns.of_groups import GROUPS_TABLES
from emulator.table_columns.of_ledgers import LEDGERS_TABLES
from emulator.table_columns.of_partitions import PARTITIONS_TABLES
from emulator.table_columns.of_rounds import LIST_OFFSETS, ROUNDS_TABLES
from emulator.table_columns.of_runs import RUNS_TABLES

__all__ = ["CONSUMER_COUNTERS", "LIST_OFFSETS", "OPEN_TABLES", "TABLE_COLUMNS", "Column"]

TABLE_COLUMNS: dict[str, tuple[Column, ...]] = {
    **RUNS_TABLES,
    **PARTITIONS_TABLES,
    **CONSUMERS_TABLES,
    **ROUNDS_TABLES,
    **LEDGERS_TABLES,
    **GROUPS_TABLES,
}
OPEN_TABLES = frozenset({"scenarios"})
"""Tables whose further columns depend on the scenario file."""
