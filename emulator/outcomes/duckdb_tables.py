"""The tables of a run and the helper views in DuckDB, which reads their Parquet files and nothing else."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

import duckdb

from emulator.outcomes.column_names import Untranslatable
from emulator.outcomes.duckdb_macros import MACROS
from emulator.outcomes.only_reads import parse_reading
from emulator.outcomes.several_folders import as_one
from emulator.outcomes.spark_to_duckdb import translate
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS, WORKED_OUT_ONCE, helper_view_sql, with_sources
from emulator.table_columns import OPEN_TABLES, Column

if TYPE_CHECKING:
    from emulator.outcomes.prices import PricesShape

MEMORY_SHARE_OF_FILES = 4
"""A run fits this machine if the Parquet files that a query reads are at most this part of its memory."""

_COMMITS = ("_staging-", "_COMMIT")

_TYPES = {
    "int": "INTEGER",
    "bigint": "BIGINT",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "double": "DOUBLE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "array<int>": "INTEGER[]",
    "array<string>": "VARCHAR[]",
    "array<bigint>": "BIGINT[]",
    "array<struct<epoch:int,start_offset:bigint>>": "STRUCT(epoch INTEGER, start_offset BIGINT)[]",
    "array<struct<first_entry:bigint,ensemble:array<int>>>": "STRUCT(first_entry BIGINT, ensemble INTEGER[])[]",
    "array<struct<entry:bigint,acked_by:array<int>,awaited_from:array<int>>>": (
        "STRUCT(entry BIGINT, acked_by INTEGER[], awaited_from INTEGER[])[]"
    ),
    "array<struct<number:int,phase:string,lac:bigint,awaited_from:array<int>>>": (
        "STRUCT(number INTEGER, phase VARCHAR, lac BIGINT, awaited_from INTEGER[])[]"
    ),
    "array<struct<number:int,entries_read:bigint,entries_missing:bigint,awaited_from:array<int>>>": (
        "STRUCT(number INTEGER, entries_read BIGINT, entries_missing BIGINT, awaited_from INTEGER[])[]"
    ),
    "array<struct<ensemble_index:int,from_entry:bigint,to_entry:bigint>>": (
        "STRUCT(ensemble_index INTEGER, from_entry BIGINT, to_entry BIGINT)[]"
    ),
    "array<struct<rounds:int,records:bigint>>": "STRUCT(rounds INTEGER, records BIGINT)[]",
    "map<string,string>": "MAP(VARCHAR, VARCHAR)",
    "map<string,bigint>": "MAP(VARCHAR, BIGINT)",
}


class NotHere(Exception):
    """Says why DuckDB cannot read the tables of a folder as Spark does."""


class OpenTables:
    """The tables of folders and the helper views in one connection, which can open no other file, nor the network.

    `folders`: by what is said before the names of their scenarios; of several the tables are as one (several_folders.py).
    `prices`: the price table, None for the bundled one.
    """

    def __init__(self, folders: Mapping[str, str], prices: PricesShape | None) -> None:
        self._folders, self._prices = folders, prices
        self._there: set[str] = set()
        files = [file for folder in folders.values() for name in ALL_COLUMNS for file in _listed(folder, name)]
        self.connection = duckdb.connect(
            ":memory:",
            config={
                "allow_community_extensions": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            },
        )
        for macro in MACROS:
            self.connection.execute(f"CREATE MACRO {macro}")
        self.connection.execute("SET allowed_paths = ?", [[*files, *map(_without_patterns, files)]])
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")

    def add(self, names: Collection[str]) -> None:
        """From now on these tables and helper views are there. Raises NotHere, and duckdb.Error for files that are damaged."""
        wanted = with_sources(names)
        tables = {name: [_files(folder, name) for folder in self._folders.values()] for name in ALL_COLUMNS if name in wanted}
        files = [file for found in tables.values() for of_folder in found for file in of_folder]
        if sum(map(os.path.getsize, files)) > _memory_bytes() // MEMORY_SHARE_OF_FILES:
            raise NotHere("the tables are larger than what fits this machine's memory")
        for name, found in tables.items():
            if name not in self._there:
                selects = [_select(self.connection, name, of_folder) for of_folder in found]
                query = as_one(name, selects, self._first_scenarios, list(self._folders))
                self.connection.execute(f"CREATE VIEW {_quoted(name)} AS {query}")
                self._there.add(name)
        for name in HELPER_VIEWS:
            if name in wanted - self._there:
                add_helper_view(self.connection, name, self._prices)
                self._there.add(name)

    @cached_property
    def _first_scenarios(self) -> list[int]:
        """By folder the first of its scenarios, where those of all are counted through."""
        firsts = [0]
        for folder in list(self._folders.values())[:-1]:
            scenarios = _select(self.connection, "scenarios", _files(folder, "scenarios"))
            last = self.connection.execute(f"SELECT coalesce(max(scenario_id), -1) FROM ({scenarios})").fetchall()[0][0]
            firsts.append(firsts[-1] + int(last) + 1)
        return firsts


def connect(folder: str, names: Collection[str], prices: PricesShape | None) -> duckdb.DuckDBPyConnection:
    """Returns a connection that has these tables and helper views. Raises as `OpenTables.add`."""
    opened = OpenTables({"": folder}, prices)
    try:
        opened.add(names)
    except BaseException:
        opened.connection.close()
        raise
    return opened.connection


def add_helper_view(connection: duckdb.DuckDBPyConnection, name: str, prices: PricesShape | None = None) -> None:
    """Adds a helper view to a connection that has what the view builds on; one that several add up is worked out at once."""
    kind = "TABLE" if name in WORKED_OUT_ONCE else "VIEW"
    connection.execute(f"CREATE {kind} {_quoted(name)} AS {_translated(helper_view_sql(name, prices))}")


def is_unfinished(folder: str) -> bool:
    """Whether a run is publishing its tables in a folder, or was cut off from that (emulator.storage.output_directory)."""
    begin, commit = _COMMITS
    return any(name.startswith(begin) and os.path.exists(os.path.join(folder, name, commit)) for name in os.listdir(folder))


@cache
def _translated(view: str) -> str:
    """The SQL of a helper view in DuckDB's dialect: it takes longer than most answers."""
    query = parse_reading(view)
    if query is None:
        raise Untranslatable(view)
    return translate(query).sql


def _listed(folder: str, table: str) -> list[str]:
    """The files of a table, in the order of their names; hidden ones are none."""
    path = os.path.join(folder, table)
    if not os.path.isdir(path):
        return []
    return [os.path.join(path, name) for name in sorted(os.listdir(path)) if not name.startswith(("_", "."))]


def _files(folder: str, table: str) -> list[str]:
    """The Parquet files of a table; raises NotHere for one that has others."""
    files = _listed(folder, table)
    if any(not file.endswith(".parquet") for file in files):
        raise NotHere(f"the table {table} has other files than Parquet's")
    return files


def _select(connection: duckdb.DuckDBPyConnection, table: str, files: Collection[str]) -> str:
    """The query of a table: the columns of its schema by their names, null where the files have none of that name."""
    columns = ALL_COLUMNS[table]
    if not files:
        chosen = ", ".join(f"{_cast('NULL', column)} AS {_quoted(column.name)}" for column in columns)
        return f"SELECT {chosen} WHERE false"
    listed = ", ".join(_text(_without_patterns(file)) for file in files)
    source = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
    there = {str(name): str(kind) for name, kind, *_ in connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
    texts = []
    for column in columns:
        found = there.get(column.name)
        if found is not None and found != _TYPES[column.kind]:
            raise NotHere(f"the column {column.name} of {table} has the type {found}")
        texts.append(f"{_cast('NULL' if found is None else _quoted(column.name), column)} AS {_quoted(column.name)}")
    if table in OPEN_TABLES:
        texts += [_quoted(name) for name in there if name not in {column.name for column in columns}]
    return f"SELECT {', '.join(texts)} FROM {source}"


def _cast(value: str, column: Column) -> str:
    """Timestamps are told in UTC, without a zone."""
    if column.kind == "timestamp":
        return f"make_timestamp(epoch_us(CAST({value} AS {_TYPES[column.kind]})))"
    return value if value != "NULL" else f"CAST(NULL AS {_TYPES[column.kind]})"


def _without_patterns(path: str) -> str:
    """A path as DuckDB's readers take it: * ? [ stand for themselves."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
