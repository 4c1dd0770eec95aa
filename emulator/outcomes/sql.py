"""Answers a user's SQL over the tables of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from emulator.errors import InputError
from emulator.outcomes.only_reads import first_word, parse_reading
from emulator.outcomes.prices import PricesShape
from emulator.outcomes.resolve import resolve
from emulator.outcomes.view_texts import names_in, no_tables, refuse_without_graph
from emulator.outcomes.views import ALL_TABLES, register
from emulator.session import quiet_query_errors
from emulator.spark.spark_errors import SPARK_ERRORS, condensed
from emulator.storage.output_directory import OutputDirectory


def run_sql(
    uri: str, query: str, spark: SparkSession, prices: PricesShape | None = None
) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Returns the column names of a query's answer and an iterator over its rows, fetched as it goes.

    `query`: SQL over the views of `emulator.outcomes.views`, or "@name" for a bundled question. It runs in a session of
    its own: the caller's views and settings stay as they are (not over Spark Connect before 4.3).
    `prices`: what the view `prices` has, None for the bundled table.
    Structs and maps come as dict, timestamps in UTC.
    Raises `InputError`, from the iterator as well, when the folder has no tables, or the SQL is wrong or does more than read.
    """
    return TablesOnSpark(uri, spark, prices).ask(query)


class TablesOnSpark:
    """The tables of a run for several queries, in a session of their own; a view is made when one first asks for it."""

    def __init__(self, uri: str, spark: SparkSession, prices: PricesShape | None = None) -> None:
        self.uri, self.prices = uri, prices
        self._session = own_session(spark)
        self._made: set[str] = set()

    def ask(self, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """As `run_sql`."""
        sql = resolve(query)
        parse_reading(sql)
        self._made.update(register_run(self._session, self.uri, sql, self.prices, query.startswith("@"), self._made))
        return ask_registered(self._session, sql)


def ask_registered(session: SparkSession, sql: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """The column names of a query's answer and an iterator over its rows, in a session that has the views it asks for."""
    with quiet_query_errors():
        try:
            answer = session.sql(sql)
            columns = list(answer.columns)
        except SPARK_ERRORS as error:
            raise InputError(f"SQL: {condensed(error)}") from error
    return columns, _rows(answer)


def own_session(spark: SparkSession) -> SparkSession:
    """A session for one query. Spark Connect has no further ones before 4.3: it is then the caller's."""
    own = spark.newSession() if hasattr(spark, "newSession") else spark
    own.conf.set("spark.sql.session.timeZone", "UTC")
    own.conf.set("spark.sql.runSQLOnFiles", "false")  # a file's name is no table
    return own


def _may_see_any(sql: str) -> bool:
    """Whether a query that names no table may see all: it lists them, or puts a name together; no query at all asks for all."""
    return not sql or first_word(sql) == "SHOW" or "identifier" in sql.lower()


def register_run(
    spark: SparkSession,
    uri: str,
    sql: str = "",
    prices: PricesShape | None = None,
    is_bundled: bool = False,
    made: Collection[str] = (),
) -> list[str]:
    """Makes the temporary views that a query asks for, and returns their names; all for no query, or one that lists them.

    But for those that are `made`.

    Raises InputError for a folder without tables of a run, or whose tables cannot be read.
    """
    directory = OutputDirectory(spark, uri, tables=ALL_TABLES)
    try:
        directory.recover()
        if directory.is_being_published():
            raise InputError(f"{uri}: a run is publishing its tables there right now; ask again in a moment")
        present = directory.tables()
        if not present:
            raise no_tables(uri)
        if is_bundled:
            refuse_without_graph(uri, sql, present)
        # Making a view costs more than asking it.
        with quiet_query_errors():
            return register(spark, uri, names_in(sql) or (None if _may_see_any(sql) else ()), prices, made)
    except SPARK_ERRORS as error:
        raise InputError(f"{uri}: the tables there cannot be read: {condensed(error)}") from error
    except OSError as error:
        raise InputError(f"{uri}: the tables there cannot be read: {error}") from error


def _rows(answer: DataFrame) -> Iterator[tuple[Any, ...]]:
    fetched: Iterator[Row] | None = None
    while True:
        with quiet_query_errors():
            try:
                fetched = fetched or answer.toLocalIterator(prefetchPartitions=True)
                row = next(fetched, None)
            except SPARK_ERRORS as error:
                raise InputError(f"SQL: {condensed(error)}") from error
        if row is None:
            return
        yield tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return {name: _plain(inner) for name, inner in value.asDict().items()}
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime) and value.tzinfo is None:
        # PySpark hands timestamps out in the local time of this process.
        return value.astimezone(timezone.utc)
    return value
