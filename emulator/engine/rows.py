"""What a job's tasks give Spark: all tables of a block side by side in one schema.

A column is a table, a list of structs of its columns; row i has row i of each table that is that long, and an empty list for the
others. A list, as the null of a struct takes as much room on the way to Spark as a value does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from emulator.arrow_schemas import from_arrow_schema
from emulator.engine.budgets.saturated import SATURATED_SCHEMA
from emulator.outcomes.compiled import BLOCK_TABLES
from emulator.outcomes.compiled_ledgers import BLOCK_TABLES as LEDGER_BLOCK_TABLES
from emulator.schema import OUTPUT_TABLES

BLOCKS_SCHEMA = pa.schema([("block", pa.int32()), ("partitions", pa.int32()), ("seconds", pa.float64())])
"""One row for each block that was played: its number, its partitions, seconds of its rounds."""

FLOWS_SCHEMA = pa.schema([(name, pa.int64()) for name in ("flow", "demand", "followers", "produced")])
"""What a block that shares budgets asks for where a step ends, as of budgets.demands.Flows."""

COPY_FLOWS_SCHEMA = pa.schema([(name, pa.int64()) for name in ("flow", "demand", "copiers", "store_bytes")])
"""Likewise for copies to remote storage, as of budgets.copy_demands.CopyFlows."""

READ_FLOWS_SCHEMA = pa.schema([(name, pa.int64()) for name in ("broker", "fetch", "demand", "most", "readers", "partitions")])
"""Likewise for remote reads, as of budgets.read_demands.ReadFlows."""

USE_SCHEMA = pa.schema([(name, pa.int64()) for name in ("budget", "asked", "followers", "needed")])
"""What it used in the step at most, as of budgets.first_play.Use."""

BETWEEN_SCHEMA = pa.schema([("block", pa.int32()), ("payload", pa.binary()), ("state", pa.binary())])
"""What is kept of it between two steps: number, one of budgets.shared_block.block_payloads, its state; null before round 0."""

STEP_TABLES = {
    "flows": FLOWS_SCHEMA,
    "copy_flows": COPY_FLOWS_SCHEMA,
    "read_flows": READ_FLOWS_SCHEMA,
    "use": USE_SCHEMA,
    "between": BETWEEN_SCHEMA,
}
"""What goes from one step of a run to the next (budgets/steps.py)."""

PARTITION_TABLES: dict[str, pa.Schema] = {
    **BLOCK_TABLES,
    "blocks": BLOCKS_SCHEMA,
    "saturated": SATURATED_SCHEMA,
    **STEP_TABLES,
}
"""Of blocks of partitions."""

LEDGER_TABLES: dict[str, pa.Schema] = {**LEDGER_BLOCK_TABLES, "blocks": BLOCKS_SCHEMA}
"""Of blocks of ledgers, or of topics that are lists of them."""

TABLES = PARTITION_TABLES | LEDGER_TABLES

ROWS_PER_BATCH = 50_000


def blocks_row(block: int, partitions: int, seconds: float) -> pa.Table:
    """The row of BLOCKS_SCHEMA of a block."""
    values = ([block], [partitions], [seconds])
    return pa.table([pa.array(v, f.type) for v, f in zip(values, BLOCKS_SCHEMA, strict=True)], schema=BLOCKS_SCHEMA)


def _nullable(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(i).name, _nullable(kind.field(i).type)) for i in range(kind.num_fields)])
    return pa.list_(_nullable(kind.value_type)) if pa.types.is_list(kind) else kind


_LISTS: dict[str, pa.ListType] = {
    name: pa.list_(pa.struct([(field.name, _nullable(field.type)) for field in schema])) for name, schema in TABLES.items()
}


def rows_schema(names: Collection[str]) -> StructType:
    """The columns of these tables as Spark has them."""
    return from_arrow_schema(pa.schema([(name, kind) for name, kind in _LISTS.items() if name in names]))


def batches_of(tables: Mapping[str, pa.Table], names: Collection[str] = tuple(TABLES)) -> Iterator[pa.RecordBatch]:
    """The rows of these tables side by side, in modest batches; without rows no batch. A table that is not there has none."""
    whole = {n: (tables[n] if n in tables else TABLES[n].empty_table()).combine_chunks() for n in _LISTS if n in names}
    rows = max(table.num_rows for table in whole.values())
    for start in range(0, rows, ROWS_PER_BATCH):
        length = min(ROWS_PER_BATCH, rows - start)
        columns = [_lists(table.slice(start, length), _LISTS[name], length) for name, table in whole.items()]
        yield pa.RecordBatch.from_arrays(columns, names=list(whole))


def _lists(table: pa.Table, kind: pa.ListType, length: int) -> pa.Array:
    """So many lists: one of each row of the table, then empty ones."""
    fields = list(kind.value_type)
    columns = [_one_array(table.column(field.name)).cast(field.type) for field in fields]
    structs = pa.StructArray.from_arrays(columns, fields=fields)
    return pa.ListArray.from_arrays(np.minimum(np.arange(length + 1, dtype=np.int32), len(structs)), structs, type=kind)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.array([], column.type)])


def rows_of(rows: DataFrame, table: str) -> DataFrame:
    """The rows of one table, of a frame of `rows_schema`."""
    own = rows.select(F.inline(table))
    if table not in OUTPUT_TABLES:
        return own
    return own.select(*(_without_nulls(field.name, field.dataType) for field in OUTPUT_TABLES[table]))


def _without_nulls(name: str, kind: DataType) -> Column:
    """The output's arrays and maps hold no nulls, and Spark believes that of none that is stored."""
    if isinstance(kind, MapType):
        return F.transform_values(name, lambda _, value: F.coalesce(value, F.lit(0).cast(kind.valueType))).alias(name)
    if not isinstance(kind, ArrayType):
        return F.col(name)
    return F.transform(name, lambda entry: _filled(entry, kind.elementType)).alias(name)


def _filled(entry: Column, kind: DataType) -> Column:
    if isinstance(kind, StructType):
        return F.struct(*(_filled(entry[field.name], field.dataType).alias(field.name) for field in kind))
    return F.coalesce(entry, F.lit(0).cast(kind))
