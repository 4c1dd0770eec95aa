"""One StructType per table of a graph, of the columns of `emulator.graphs.table_columns`."""

from __future__ import annotations

from pyspark.sql.types import StructType

from emulator.graphs.table_columns import GRAPH_COLUMNS
from emulator.table_columns.spark_columns import schema_of

GRAPH_TABLES: dict[str, StructType] = {table: schema_of(columns) for table, columns in GRAPH_COLUMNS.items()}


def graph_went(out: str) -> str:
    """Returns what a run says that has removed the graph of the tables before."""
    return f"the graph in {out} was of the tables before: it is removed; write it anew with: emulator graph {out} --out {out}"
