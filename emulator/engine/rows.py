"""What a job's tasks give Spark: tables of a block side by side, packed.

A column is a table; row i has its i-th ROWS_PER_PACK rows as an Arrow stream, null where it has no more. Spark stores bytes
many times faster than rows, and unpacks them only when a table is made, a table at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from emulator.arrow.packs import PackedRows, pack, unpack
from emulator.engine.budgets.demands import FLOW_COLUMNS
from emulator.engine.budgets.first_play import USE_COLUMNS
from emulator.engine.budgets.saturated import SATURATED_SCHEMA
from emulator.engine.fetch_use import FETCH_USE_SCHEMA
from emulator.outcomes.compiled import BLOCK_TABLES
from emulator.outcomes.compiled_groups import BLOCK_TABLES as GROUP_BLOCK_TABLES
from emulator.outcomes.compiled_ledgers import BLOCK_TABLES as LEDGER_BLOCK_TABLES
from emulator.outcomes.compiled_ledgers.traffic import LEDGER_TRAFFIC

BLOCKS_SCHEMA = pa.schema([("block", pa.int32()), ("partitions", pa.int32()), ("seconds", pa.float64())])
"""One row for each block that was played: its number, its partitions, seconds of its rounds."""

FLOWS_SCHEMA = pa.schema([(name, pa.int64()) for name in FLOW_COLUMNS])
"""What a block that shares budgets asks for where a step ends, as of budgets.demands.Flows."""

CLIENT_FLOWS_SCHEMA = pa.schema([(name, pa.int64()) for name in ("place", "demand", "connections")])
"""Likewise for producers, consumers and copies, as of budgets.client_demands.ClientFlows."""

USE_SCHEMA = pa.schema([(name, pa.int64()) for name in USE_COLUMNS])
"""What it used in the step at most, as of budgets.first_play.Use."""

COPIES_SCHEMA = pa.schema([(name, pa.int64()) for name in ("window", "broker", "copies")])
"""How many copies of a block a broker had at once in a window of the run, at most (budgets/first_copies.py)."""

BETWEEN_SCHEMA = pa.schema([("block", pa.int32()), ("payload", pa.binary()), ("state", pa.binary())])
"""What is kept of it between two steps: number, one of budgets.shared_block.block_payloads, its state; null before round 0."""

STEP_TABLES = {
    "flows": FLOWS_SCHEMA,
    "client_flows": CLIENT_FLOWS_SCHEMA,
    "use": USE_SCHEMA,
    "copies": COPIES_SCHEMA,
    "between": BETWEEN_SCHEMA,
}
"""What goes from one step of a run to the next (budgets/steps.py)."""

PARTITION_TABLES: dict[str, pa.Schema] = {
    **BLOCK_TABLES,
    "blocks": BLOCKS_SCHEMA,
    "saturated": SATURATED_SCHEMA,
    "fetch_use": FETCH_USE_SCHEMA,
    **STEP_TABLES,
}
"""Of blocks of partitions."""

LEDGER_TABLES: dict[str, pa.Schema] = {
    **LEDGER_BLOCK_TABLES,
    "ledger_traffic": LEDGER_TRAFFIC,
    "saturated": SATURATED_SCHEMA,
    "blocks": BLOCKS_SCHEMA,
}
"""Of blocks of ledgers, or of topics that are lists of them."""

GROUP_TABLES: dict[str, pa.Schema] = {**GROUP_BLOCK_TABLES, "blocks": BLOCKS_SCHEMA}
"""Of blocks of groups."""

TABLES = PARTITION_TABLES | LEDGER_TABLES | GROUP_TABLES

ROWS_PER_PACK = 50_000

OF_PACKS = {"compression": "none", "parquet.enable.dictionary": "false", "parquet.page.size.row.check.min": "1"}
"""How Parquet stores packs: as they are, and looking after each whether its buffers are full, not after a hundred."""


def blocks_row(block: int, partitions: int, seconds: float) -> pa.Table:
    """The row of BLOCKS_SCHEMA of a block."""
    values = ([block], [partitions], [seconds])
    return pa.table([pa.array(v, f.type) for v, f in zip(values, BLOCKS_SCHEMA, strict=True)], schema=BLOCKS_SCHEMA)


def rows_schema(names: Collection[str]) -> StructType:
    """The columns of these tables as Spark has them."""
    return StructType([StructField(name, BinaryType()) for name in TABLES if name in names])


def batches_of(tables: Mapping[str, pa.Table], names: Collection[str] = tuple(TABLES)) -> Iterator[pa.RecordBatch]:
    """The rows of these tables side by side, a row of `rows_schema` a batch; without rows no batch. A table that is not there
    has none.
    """
    packs = {name: _packs(tables[name], TABLES[name]) if name in tables else [] for name in TABLES if name in names}
    for at in range(max(map(len, packs.values()))):
        row = [pa.array([of_table[at] if at < len(of_table) else None], pa.binary()) for of_table in packs.values()]
        yield pa.RecordBatch.from_arrays(row, names=list(packs))


def _packs(table: pa.Table, kind: pa.Schema) -> list[bytes]:
    """The rows of a table as Arrow streams."""
    whole = table.select(kind.names).cast(kind).combine_chunks()
    return [pack(whole.slice(start, ROWS_PER_PACK)) for start in range(0, whole.num_rows, ROWS_PER_PACK)]


def packed_rows_of(rows: DataFrame, table: str) -> PackedRows:
    """The rows of one table, of a frame of `rows_schema`, as they are packed there."""
    return PackedRows(_packed(rows, table), TABLES[table])


def rows_of(rows: DataFrame, table: str) -> DataFrame:
    """Likewise, unpacked by Spark."""
    return packed_rows_of(rows, table).rows()


def table_of(rows: DataFrame, table: str) -> pa.Table:
    """Likewise in the driver, for a table that is small there."""
    return unpacked(_packed(rows, table).toArrow().to_batches(), table)


def unpacked(batches: Iterable[pa.RecordBatch], table: str) -> pa.Table:
    """The rows of one table, of batches of `batches_of`."""
    packs = (batch.select([table]) for batch in batches)
    return pa.Table.from_batches(unpack(packs), TABLES[table])


def _packed(rows: DataFrame, table: str) -> DataFrame:
    return rows.select(table).where(F.col(table).isNotNull())
