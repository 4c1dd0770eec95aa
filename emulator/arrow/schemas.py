"""Spark's types as Arrow's and back, for the types that the tables here have; Spark's own functions for this are not public."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_SIMPLE: list[tuple[DataType, pa.DataType]] = [
    (BooleanType(), pa.bool_()),
    (ByteType(), pa.int8()),
    (ShortType(), pa.int16()),
    (IntegerType(), pa.int32()),
    (LongType(), pa.int64()),
    (FloatType(), pa.float32()),
    (DoubleType(), pa.float64()),
    (StringType(), pa.string()),
    (BinaryType(), pa.binary()),
    (TimestampType(), pa.timestamp("us", tz="UTC")),
]


def to_arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema of a Spark schema, nullability included; timestamps in UTC.

    Raises ValueError for a type that no table here has.
    """
    return pa.schema([_to_arrow_field(field) for field in schema])


def from_arrow_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of an Arrow schema, nullability included; raises ValueError for a type that no table here has."""
    return StructType([_from_arrow_field(field) for field in schema])


def _to_arrow_field(field: StructField) -> pa.Field:
    return pa.field(field.name, _to_arrow_type(field.dataType), field.nullable)


def _to_arrow_type(kind: DataType) -> pa.DataType:
    if isinstance(kind, ArrayType):
        return pa.list_(pa.field("element", _to_arrow_type(kind.elementType), kind.containsNull))
    if isinstance(kind, MapType):
        key = pa.field("key", _to_arrow_type(kind.keyType), False)
        return pa.map_(key, pa.field("value", _to_arrow_type(kind.valueType), kind.valueContainsNull))
    if isinstance(kind, StructType):
        return pa.struct([_to_arrow_field(field) for field in kind])
    for simple, arrow in _SIMPLE:
        if kind == simple:
            return arrow
    raise ValueError(f"no Arrow type for {kind.simpleString()}")


def _from_arrow_field(field: pa.Field) -> StructField:
    return StructField(field.name, _from_arrow_type(field.type), field.nullable)


def _from_arrow_type(kind: pa.DataType) -> DataType:
    if pa.types.is_list(kind):
        return ArrayType(_from_arrow_type(kind.value_type), kind.value_field.nullable)
    if pa.types.is_map(kind):
        return MapType(_from_arrow_type(kind.key_type), _from_arrow_type(kind.item_type), kind.item_field.nullable)
    if pa.types.is_struct(kind):
        return StructType([_from_arrow_field(field) for field in kind])
    for simple, arrow in _SIMPLE:
        if kind == arrow:
            return simple
    raise ValueError(f"no Spark type for Arrow's {kind}")
