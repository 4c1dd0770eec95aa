"""Spark's types as Arrow's: what Spark's own functions, of the version installed here, give."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import DateType, StructType

from emulator.arrow.schemas import from_arrow_schema, to_arrow_schema
from emulator.engine.rows import TABLES
from emulator.engine.state_frames import STATE_COLUMNS
from emulator.table_columns import Column
from emulator.table_columns.arrow_columns import arrow_schema, schema_of
from emulator.table_columns.spark_columns import OUTPUT_TABLES

SCHEMAS = {**OUTPUT_TABLES, "state": STATE_COLUMNS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_arrow_schemas_are_sparks(name: str) -> None:
    from pyspark.sql.pandas import types

    of_spark = types.to_arrow_schema(SCHEMAS[name])
    assert to_arrow_schema(SCHEMAS[name]).equals(of_spark)
    assert from_arrow_schema(of_spark) == types.from_arrow_schema(of_spark)


@pytest.mark.parametrize("name", OUTPUT_TABLES)
def test_schemas_made_without_spark_are_the_same(name: str) -> None:
    assert arrow_schema(name).equals(to_arrow_schema(OUTPUT_TABLES[name]))


@pytest.mark.parametrize("name", TABLES)
def test_spark_schemas_are_sparks(name: str) -> None:
    from pyspark.sql.pandas import types

    assert from_arrow_schema(TABLES[name]) == types.from_arrow_schema(TABLES[name])


def test_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match="no Arrow type for date"):
        to_arrow_schema(StructType().add("day", DateType()))
    with pytest.raises(ValueError, match="no Arrow type for date"):
        schema_of([Column("day", "array<date>", "")])
    with pytest.raises(ValueError, match="no Spark type for Arrow's date32"):
        from_arrow_schema(pa.schema([("day", pa.date32())]))
