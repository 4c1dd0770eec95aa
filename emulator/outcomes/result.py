"""The tables of a run in Python: DuckDB's relations, from which pandas and Arrow have theirs, or Spark's DataFrames."""

from __future__ import annotations

import os
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING

import duckdb

from emulator.errors import InputError, did_you_mean
from emulator.outcomes.duckdb_tables import NotHere, add_helper_view, connect, is_unfinished
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS, no_tables, with_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_SPARK = "emulator.read(DIR).spark(session)"


class Result:
    """A run: each of its tables and helper views (docs/tables.md) is an attribute, a relation of DuckDB.

    A relation reads nothing until it is asked: `.df()` gives pandas, `.to_arrow_table()` Arrow, `.filter`, `.aggregate`, `.join`
    and others another relation. A table that the run did not write is empty. No Java starts.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Raises InputError for a folder on this machine that holds no table of a run."""
        self.folder = os.fspath(folder)
        self._views: set[str] = set()
        if self._path is not None and not self.tables:
            raise no_tables(self.folder)

    def __getattr__(self, name: str) -> duckdb.DuckDBPyRelation:
        known = [*ALL_COLUMNS, *HELPER_VIEWS]
        if name not in known:
            raise AttributeError(f"a run has no table or view {name}{did_you_mean(name, known)}")
        for view in HELPER_VIEWS:
            if view in with_sources([name]) and view not in self._views:
                add_helper_view(self.duckdb, view)
                self._views.add(view)
        return self.duckdb.sql(f'FROM "{name}"')

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *ALL_COLUMNS, *HELPER_VIEWS]

    def __repr__(self) -> str:
        return f"emulator.read({self.folder!r})"

    @property
    def tables(self) -> list[str]:
        """The tables that the run wrote; of a folder that is not on this machine those that it may have."""
        path = self._path
        return [name for name in ALL_COLUMNS if path is None or os.path.isdir(os.path.join(path, name))]

    @cached_property
    def duckdb(self) -> duckdb.DuckDBPyConnection:
        """The connection that the relations are of, with the tables as views: `.duckdb.sql("SELECT ... FROM outcomes")`.

        It opens no other file. Raises InputError where DuckDB can't read the run.
        """
        if self._path is None:
            raise InputError(f"{self.folder}: is not on this machine; allowed: {BY_SPARK}")
        try:
            if is_unfinished(self._path):
                raise NotHere("a run has not finished publishing its tables")
            return connect(self._path, ALL_COLUMNS, None)
        except (NotHere, duckdb.Error, OSError) as error:
            raise InputError(f"{self.folder}: {' '.join(str(error).split())}; allowed: {BY_SPARK}") from error

    def spark(self, session: SparkSession) -> SimpleNamespace:
        """The same tables and views as DataFrames, attributes too; they are temporary views of the session as well.

        Raises InputError where no table is, or where they cannot be read.
        """
        from emulator.outcomes.sql import register_run

        names = register_run(session, self.folder)
        return SimpleNamespace(**{name: session.table(name) for name in names})

    @property
    def _path(self) -> str | None:
        """The folder on this machine; None for one elsewhere."""
        path = self.folder.removeprefix("file://").removeprefix("file:")
        return None if "://" in path else path
