"""Rows that tasks have packed: a file of their own says what Spark's would, and is there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from emulator.arrow import packs as arrow_packs
from emulator.arrow.frames import frame_of
from emulator.arrow.packs import PackedRows, pack, write_packs
from emulator.arrow.schemas import to_arrow_schema
from emulator.storage.output_directory import OutputDirectory
from emulator.storage.table_writer import TableWriter
from emulator.table_columns.spark_columns import OUTPUT_TABLES

TABLE = "leader_epochs"
COLUMNS = to_arrow_schema(OUTPUT_TABLES[TABLE]).remove_metadata()


def rows(count: int, first: int = 0) -> pa.Table:
    """Rows of TABLE, its columns in another order."""
    columns = {f.name: pa.array([str(first + at) for at in range(count)]).cast(f.type) for f in COLUMNS}
    return pa.table(columns, schema=COLUMNS).select(COLUMNS.names[::-1])


def packs_of(*tables: pa.Table) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield pa.record_batch([pa.array([None, pack(table)], pa.binary())], names=["packs"])


def test_a_task_writes_one_file_in_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_packs, "ROW_GROUP_ROWS", 5)
    (told,) = write_packs(str(tmp_path / TABLE), "run", COLUMNS, packs_of(rows(3), rows(4, 3), rows(2, 7)))
    assert told.to_pydict() == {"rows": [9]}
    (path,) = (tmp_path / TABLE).iterdir()
    assert path.name == "part-00000-run.parquet"
    file = pq.ParquetFile(path)
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [7, 2]
    assert file.read() == rows(9).select(COLUMNS.names)


def test_without_rows_there_is_no_file(tmp_path: Path) -> None:
    (told,) = write_packs(str(tmp_path / TABLE), "run", COLUMNS, packs_of())
    assert told.to_pydict() == {"rows": [0]}
    assert not (tmp_path / TABLE).exists()


def test_what_fails_leaves_no_file(tmp_path: Path) -> None:
    def breaks() -> Iterator[pa.RecordBatch]:
        yield from packs_of(rows(3))
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        list(write_packs(str(tmp_path), "run", COLUMNS, breaks()))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("counts", [(3, 4), (0, 0)], ids=["rows", "no rows"])
def test_by_tasks_and_by_spark_a_table_is_the_same(spark: SparkSession, tmp_path: Path, counts: tuple[int, ...]) -> None:
    packs = pa.table({"packs": pa.array([pack(rows(count, 3 * at)) for at, count in enumerate(counts)], pa.binary())})
    packed = PackedRows(frame_of(spark, packs).repartition(2), rows(0).schema)
    found = []
    for out, whole in ((tmp_path / "by tasks", packed), (tmp_path / "by Spark", packed.rows())):
        directory = OutputDirectory(spark, str(out))
        directory.stage()
        directory.write(TABLE, whole)
        directory.commit()
        found.append(spark.read.parquet(str(out / TABLE)))
        by_task = [path.name for path in (out / TABLE).iterdir() if path.name.endswith(f"-{directory.run_id}.parquet")]
        assert bool(by_task) == (whole is packed)
    assert found[0].schema == found[1].schema
    assert found[0].count() == sum(counts)
    assert_df_equality(*found, ignore_row_order=True)


def test_where_the_folder_is_not_this_machines_spark_writes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TableWriter, "_own_folder", lambda self, table: None)
    directory = OutputDirectory(spark, str(tmp_path / "out"))
    directory.stage()
    packs = pa.table({"packs": pa.array([pack(rows(3))], pa.binary())})
    directory.write(TABLE, PackedRows(frame_of(spark, packs), rows(0).schema))
    directory.commit()
    assert spark.read.parquet(str(tmp_path / "out" / TABLE)).count() == 3
    assert (tmp_path / "out" / TABLE / "_SUCCESS").exists()


def test_a_wrong_column_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    directory = OutputDirectory(spark, str(tmp_path / "out"))
    directory.stage()
    packs = pa.table({"packs": pa.array([pack(rows(3).drop_columns(["topic"]))], pa.binary())})
    with pytest.raises(ValueError, match=r"leader_epochs: missing columns \['topic'\]"):
        directory.write(TABLE, PackedRows(frame_of(spark, packs), rows(0).drop_columns(["topic"]).schema))
