"""`emulator.rounds.play`: rounds as a transformation of a DataFrame with a row a replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StructField, StructType

from emulator.arrow.schemas import to_arrow_schema
from emulator.engine.state_inputs import GROUP_PARTITIONS, states_scenario
from emulator.engine.state_rows import play_rows
from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.scenario import Scenario
from emulator.table_columns.spark_columns import OUTPUT_TABLES

STATE_COLUMNS = StructType(
    [
        *(StructField(f.name, f.dataType, True, f.metadata) for f in OUTPUT_TABLES["replica_states"].fields),
        StructField("replicas", ArrayType(IntegerType()), True, {"comment": "broker ids, the preferred leader first"}),
        StructField("carried", BinaryType(), True, {"comment": "what else a round needs; null: begin from the columns"}),
    ]
)
"""Columns of a state."""

NEEDED = ("topic", "partition", "broker", "replicas")

Rows = DataFrame | Sequence[Mapping[str, Any]]


def play_states(
    state: DataFrame,
    faults: Rows,
    workload: Rows,
    cluster: Mapping[str, Any],
    topics: Sequence[Mapping[str, Any]],
    rounds: int,
    protocol: str,
    round_ms: int,
) -> DataFrame:
    """As emulator.rounds.play."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or rounds < 1:
        raise InputError(f"play: rounds: {quoted(rounds)} is no number of rounds; allowed: 1 or more")
    for name in state.columns:
        if name not in STATE_COLUMNS.names:
            problem = f"unknown column {quoted(name)}{did_you_mean(name, STATE_COLUMNS.names)}"
            raise InputError(f"play: state: {problem}; allowed: {listing(STATE_COLUMNS.names)}")
    for name in NEEDED:
        if name not in state.columns:
            raise InputError(f"play: state: column {name} is missing; allowed: {listing(STATE_COLUMNS.names)}")
    scenario = states_scenario(_rows(faults), _rows(workload), cluster, topics, protocol, round_ms)
    columns = [
        (F.col(field.name) if field.name in state.columns else F.lit(None)).cast(field.dataType).alias(field.name)
        for field in STATE_COLUMNS
    ]

    def of_group(table: pa.Table) -> pa.Table:  # Spark reads its hints
        return _play(scenario, rounds, table)

    whole = state.select(*columns).withColumn("scenario_id", F.coalesce("scenario_id", F.lit(0)))
    group = F.floor(F.col("partition") / GROUP_PARTITIONS).alias("group")
    return whole.groupBy("scenario_id", "topic", group).applyInArrow(of_group, STATE_COLUMNS)


def _play(scenario: Scenario, rounds: int, table: pa.Table) -> pa.Table:
    """A group's rows: the columns of the state, in its types."""
    played = play_rows(scenario, rounds, table)
    schema = to_arrow_schema(STATE_COLUMNS)
    return pa.table([_as(played.column(field.name), field.type) for field in schema], schema=schema)


def _as(column: Any, kind: pa.DataType) -> Any:
    return column if column.type == kind else column.cast(kind)


def _rows(given: Rows) -> list[Mapping[str, Any]]:
    """Rows as they are given in a scenario file: what is null is not there."""
    rows = [row.asDict(recursive=True) for row in given.collect()] if isinstance(given, DataFrame) else given
    return [{name: value for name, value in row.items() if value is not None} for row in rows]
