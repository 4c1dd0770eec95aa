"""Rows of a final state, made by hand: what a test does not say is as in a quiet, empty partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from emulator.arrow_schemas import to_arrow_schema
from emulator.expressions.kafka.state import STATE_COLUMNS, STATE_DDL

NULL_UNLESS_GIVEN = {"world", "feed", "trace", "leader_log", "remote_leo", "lead_start", "segments"}


def state_row(**given: Any) -> dict[str, Any]:
    """One row: numbers 0, flags false, arrays empty, believed and client leader as the controller's."""
    row: dict[str, Any] = {}
    for name, (kind, _) in STATE_COLUMNS.items():
        if name in NULL_UNLESS_GIVEN or kind.startswith("STRUCT"):
            row[name] = None
        else:
            row[name] = [] if kind.startswith("ARRAY") else kind != "BOOLEAN" and 0
    row.update({"own_bit": 1 << given.get("slot", 0), "members": 1})
    row.update({name: given.get("leader", 0) for name in ("client_leader", "believed_leader")})
    unknown = set(given) - set(row)
    assert not unknown, unknown
    return {**row, **given}


def state_frame(spark: SparkSession, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """The rows as a state, in two Spark partitions."""
    schema = cast(StructType, StructType.fromDDL(STATE_DDL))
    table = pa.Table.from_pylist(list(rows), to_arrow_schema(schema))
    return spark.createDataFrame(table, schema=schema).repartition(2, "scenario_id", "partition_id")


def epochs(*entries: tuple[int, int]) -> list[dict[str, int]]:
    """An epoch cache."""
    return [{"epoch": epoch, "start_offset": start} for epoch, start in entries]


def log(*entries: tuple[int, int], record_bytes: int = 10) -> list[dict[str, Any]]:
    """A log of one-record batches; a run that starts at the LEO may be given as well."""
    return [
        {
            "start_offset": start,
            "epoch": epoch,
            "start_bytes": start * record_bytes,
            "batch_records": 1,
            "batch_bytes": record_bytes,
            "pattern": None,
            "round": -1,
        }
        for epoch, start in entries
    ]
