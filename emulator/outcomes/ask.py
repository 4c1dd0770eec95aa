"""Answers a query over the tables of a run: by DuckDB, where the run fits this machine, or by Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from emulator.errors import InputError
from emulator.outcomes.only_reads import parse_reading
from emulator.outcomes.resolve import resolve
from emulator.storage.local_folder import local_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from emulator.outcomes.duckdb_tables import OpenTables
    from emulator.outcomes.prices import PricesShape
    from emulator.outcomes.sql import TablesOnSpark

Answer = tuple[list[str], Iterator[tuple[Any, ...]]]


class Asker:
    """Asks the tables of one run, or those of several as one.

    `engine`: "duckdb" or "spark"; None: DuckDB for a run in a local folder that fits this machine's memory, and Spark for any
    other, and for what DuckDB does not answer as Spark does. `start_spark`: gives the session, asked for once it is needed.
    `tell`: is told why, where a query is Spark's that DuckDB was asked first. `beside`: further runs, whose scenarios come after
    those of `uri`, named by their folders; DuckDB alone answers of several.
    """

    def __init__(
        self,
        uri: str,
        engine: str | None,
        start_spark: Callable[[], SparkSession],
        tell: Callable[[str], None] | None = None,
        beside: Sequence[str] = (),
    ) -> None:
        self.uri = uri
        self._folders = {one: local_folder(one) for one in (uri, *beside)}
        if beside and engine == "spark":
            raise InputError(f"{beside[0]}: Spark is asked of one run; allowed: local folders, without Spark's options")
        self._engine = engine
        self._start_spark = start_spark
        self._tell = tell
        self._on_spark: dict[int, TablesOnSpark] = {}
        self._opened: dict[int, OpenTables] = {}

    def ask(self, query: str, prices: PricesShape | None = None) -> Answer:
        """Returns the column names of a query's answer and an iterator over its rows.

        `query`: SQL of Spark's dialect over the views of `emulator.outcomes.views`, or "@name" for a bundled question. `prices`:
        what the view `prices` has, None for the bundled table. Raises InputError, from the iterator as well, for a query that is
        wrong or does more than read, and with "duckdb" for what only Spark answers.
        """
        sql = resolve(query)
        tree = parse_reading(sql)
        if self._engine != "spark":
            from emulator.outcomes.duckdb_sql import OnlySpark, run_duckdb

            try:
                return run_duckdb(self._folders, sql, tree, prices, query.startswith("@"), self._opened)
            except OnlySpark as error:
                if len(self._folders) > 1:
                    problem = f"beside other runs: {error}"
                    raise InputError(f"{self.uri}: {problem}; allowed: local folders that fit this machine") from error
                if self._engine == "duckdb":
                    problem = f"DuckDB does not answer this as Spark does: {error}"
                    raise InputError(f"SQL: {problem}; allowed: --engine spark") from error
                if self._tell is not None:
                    self._tell(str(error))
        from emulator.outcomes.sql import TablesOnSpark

        if id(prices) not in self._on_spark:
            self._on_spark[id(prices)] = TablesOnSpark(self.uri, self._start_spark(), prices)
        return self._on_spark[id(prices)].ask(query)

    def rows(self, query: str, prices: PricesShape | None = None) -> list[Mapping[str, Any]]:
        """The rows of an answer by the names of its columns."""
        columns, rows = self.ask(query, prices)
        return [dict(zip(columns, row, strict=True)) for row in rows]
