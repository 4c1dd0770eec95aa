"""Every column of a table is encoded in the way that is meant for it, and read as it was."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.arrow.encodings import BY_DIFFERENCES, RISING, encodings
from emulator.table_columns.arrow_columns import arrow_schema
from emulator.table_columns.spark_columns import OUTPUT_TABLES


@pytest.mark.parametrize("table", OUTPUT_TABLES)
def test_every_column_of_parquet_is_named_once(table: str, tmp_path: Path) -> None:
    schema = arrow_schema(table)
    told = encodings(schema)
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet", **told)
    written = pq.ParquetFile(tmp_path / "empty.parquet").schema
    paths = [written.column(at).path for at in range(len(written.names))]
    if set(RISING) & set(paths):
        assert sorted([*told["use_dictionary"], *told["column_encoding"]]) == sorted(paths)
    else:
        assert told == {}


def test_numbers_go_by_differences_and_the_rest_by_dictionaries(tmp_path: Path) -> None:
    columns = {
        "topic": pa.array(["orders"] * 40_000),
        "partition": pa.array([*range(39_999), None], pa.int32()),
        "isr": pa.array([[1, 2, 3]] * 40_000, pa.list_(pa.field("element", pa.int32()))),
    }
    rows, path = pa.table(columns), tmp_path / "t.parquet"
    pq.write_table(rows, path, **encodings(rows.schema))
    group = pq.ParquetFile(path).metadata.row_group(0)
    found = {group.column(at).path_in_schema: group.column(at).encodings for at in range(3)}
    assert BY_DIFFERENCES in found["partition"]
    assert not any("DICTIONARY" in name for name in found["partition"])
    assert all("RLE_DICTIONARY" in found[path] for path in ("topic", "isr.list.element"))
    assert group.column(1).total_compressed_size < 10_000, "of 160,000 bytes"
    assert pq.read_table(path) == rows
    assert duckdb.read_parquet(str(path)).fetchall() == list(zip(*rows.to_pydict().values(), strict=True))
