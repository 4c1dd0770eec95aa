"""Spark works queries out: its own SQL, a temporary view for each table that was worked out."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructField, StructType

from emulator.arrow.frames import frame_of
from emulator.rounds.relational.queries.query import Engine, Query

SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    # Small tables are broadcast where a verb says so; the others stand by the same partitions and need no shuffle.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.join.preferSortMergeJoin": "false",
    # Spark would carry all conditions of a plan from checkpoint to checkpoint.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.analyzer.maxIterations": "1000",
    # Spark describes every plan to its listeners, here some dozens in a round that nobody looks at.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "100",
    "spark.sql.debug.maxToStringFields": "1",
    # Compiling expressions takes longer than working them out.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of the session while rounds are played (`emulator.session.settings_held`)."""

_numbers = itertools.count()


class _View:
    """A temporary view, which goes when no query is left that has it."""

    def __init__(self, frame: DataFrame) -> None:
        self.name = f"relational_{next(_numbers)}"
        frame.createOrReplaceTempView(self.name)
        catalog = frame.sparkSession.catalog
        weakref.finalize(self, catalog.dropTempView, self.name).atexit = False


class OnSpark(Engine):
    """Spark, in `tasks` tasks."""

    deepest = 8
    """Spark's analysis of a query takes the square of how deep it is nested."""

    def __init__(self, spark: SparkSession, tasks: int) -> None:
        self.spark = spark
        self._tasks = tasks

    def expression(self, text: str) -> str:
        """The same."""
        return text

    def quoted(self, name: str) -> str:
        """In backticks."""
        return f"`{name}`"

    def half_join(self, how: str) -> str:
        """LEFT SEMI JOIN."""
        return f"LEFT {how.upper()} JOIN"

    def all_but(self, names: Sequence[str]) -> str:
        """* EXCEPT."""
        return f"* EXCEPT ({', '.join(map(self.quoted, names))})"

    def exploded(self, query: Query, name: str, entries: str) -> str:
        """A generator."""
        return f"SELECT *, explode({entries}) AS {self.quoted(name)} FROM {query.source}"

    def stacked(self, query: Query, rows: Sequence[Mapping[str, str]]) -> str:
        """Likewise."""
        values = ", ".join(text for row in rows for text in row.values())
        names = ", ".join(map(self.quoted, rows[0]))
        return f"SELECT *, stack({len(rows)}, {values}) AS ({names}) FROM {query.source}"

    def frame(self, query: Query) -> DataFrame:
        """The query as a DataFrame."""
        return self.spark.sql(query.text)

    def of_frame(self, frame: DataFrame) -> Query:
        """A DataFrame as a query."""
        view = _View(frame)
        return Query(self, view.name, tuple(frame.columns), (view,))

    def read(self, table: pa.Table) -> Query:
        """As a frame."""
        return self.of_frame(frame_of(self.spark, table))

    def stored(self, table: pa.Table, key: Sequence[str]) -> Query:
        """Parted by its key, and sorted."""
        parted = frame_of(self.spark, table).repartition(self._tasks, F.col(key[0])).sortWithinPartitions(*key)
        return self.of_frame(_kept(parted))

    def shallow(self, query: Query) -> Query:
        """Analyzed once, as a view."""
        return self._viewed(self.frame(query), query)

    def settle(self, queries: Sequence[Query], to_stay: bool = True) -> list[Query]:
        """Checkpointed side by side; rows stay parted as they were."""
        with ThreadPoolExecutor(len(queries) or 1) as pool:
            frames = pool.map(lambda query: (_kept if to_stay else _checkpointed)(self.frame(query)), queries)
            return [self.of_frame(frame) for frame in frames]

    def compacted(self, query: Query) -> Query:
        """In as many parts as there are tasks."""
        return self.of_frame(_kept(self.frame(query).coalesce(self._tasks)))

    def arrow(self, query: Query) -> pa.Table:
        """By Arrow."""
        return self.frame(query).toArrow()

    def table(self, query: Query, schema: StructType) -> DataFrame:
        """As a frame."""
        rows = self.frame(query)
        return rows.select([_typed(rows, field) for field in schema.fields])

    def _viewed(self, frame: DataFrame, query: Query) -> Query:
        view = _View(frame)
        return Query(self, view.name, query.columns, (view, *query.held))


def _checkpointed(frame: DataFrame) -> DataFrame:
    """The same rows without what led to them, parted as they were."""
    return frame.localCheckpoint()


def _kept(frame: DataFrame) -> DataFrame:
    """The same, for rows that go on to the next round.

    Persisted first: Spark gives a checkpoint its estimate of the rows' size, a number that every join squares.
    """
    kept = frame.persist()
    try:
        return kept.localCheckpoint()
    finally:
        kept.unpersist()


def _typed(rows: DataFrame, field: StructField) -> Column:
    name, kind = field.name, field.dataType.simpleString()
    given = f"`{name}`" if name in rows.columns else f"CAST(null AS {kind})"
    if not isinstance(field.dataType, ArrayType):
        return F.expr(f"CAST({given} AS {kind})").alias(name)
    # The contract's arrays hold no nulls.
    entry = "named_struct('epoch', coalesce(x.epoch, -1), 'start_offset', coalesce(x.start_offset, -1L))"
    value = entry if isinstance(field.dataType.elementType, StructType) else "coalesce(x, -1)"
    return F.expr(f"transform({given}, x -> {value}) AS {name}")
