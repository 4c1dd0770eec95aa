"""Rows that tasks have packed as Arrow streams: unpacked by Spark, or written by tasks as Parquet as they are."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame

from emulator.arrow.encodings import encodings
from emulator.arrow.schemas import from_arrow_schema

ROW_GROUP_ROWS = 500_000
ROW_GROUP_BYTES = 64 << 20
"""A row group of a file ends at the first of the two; the bytes are those of Arrow."""

WRITTEN = pa.schema([("rows", pa.int64())])
"""What a task tells of the file that it wrote."""

_PACKING = pa.ipc.IpcWriteOptions(compression="lz4")


class PackedRows(NamedTuple):
    """A table's rows. `packs`: a frame of one column, Arrow streams; `schema`: of the rows in them."""

    packs: DataFrame
    schema: pa.Schema

    def rows(self) -> DataFrame:
        """The rows, as a frame."""
        return self.packs.mapInArrow(unpack, from_arrow_schema(self.schema))

    def and_those_of(self, others: PackedRows) -> PackedRows:
        """The rows of both, which have the same columns."""
        return self._replace(packs=self.packs.union(others.packs))


def pack(table: pa.Table) -> bytes:
    """Rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PACKING) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in the only column of these batches."""
    for batch in batches:
        for packed in batch.column(0).drop_null():
            with pa.ipc.open_stream(packed.as_buffer()) as stream:
                yield from stream


def write_packs(folder: str, run_id: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a task: write the rows of its packs as a Parquet file of a folder, in the columns of `schema`; none without rows.

    The file gets its name when it is whole: a task that is played once more writes the same one again.
    """
    task = TaskContext.get()
    number, attempt = (task.partitionId(), task.taskAttemptId()) if task else (0, 0)
    path = Path(folder, f"part-{number:05d}-{run_id}.parquet")
    unfinished = path.with_name(f".{path.name}.{attempt}")
    rows = 0
    groups = _groups(unpack(batches), schema)
    if first := next(groups, None):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with pq.ParquetWriter(unfinished, schema, **encodings(schema)) as writer:
                for group in (first, *groups):
                    writer.write_table(group)
                    rows += group.num_rows
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    yield pa.record_batch([pa.array([rows])], schema=WRITTEN)


def _groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of batches put together to row groups."""
    waiting: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size_bytes += batch.nbytes
        if rows >= ROW_GROUP_ROWS or size_bytes >= ROW_GROUP_BYTES:
            yield _group(waiting, schema)
            waiting, rows, size_bytes = [], 0, 0
    if waiting:
        yield _group(waiting, schema)


def _group(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(batches).select(schema.names).cast(schema.remove_metadata()).cast(schema)
