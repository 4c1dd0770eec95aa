"""Answers a query over the tables of a run by DuckDB, in Spark's dialect and with Spark's rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from emulator.errors import InputError, did_you_mean, listing, quoted
from emulator.outcomes.column_names import Untranslatable
from emulator.outcomes.duckdb_tables import NotHere, OpenTables, is_unfinished
from emulator.outcomes.several_folders import labels_of
from emulator.outcomes.spark_to_duckdb import translate
from emulator.outcomes.view_texts import ALL_COLUMNS, HELPER_VIEWS, names_in, no_tables, refuse_without_graph

if TYPE_CHECKING:
    from emulator.outcomes.prices import PricesShape

ROWS_FETCHED = 10_000


class OnlySpark(Exception):
    """Says what of a query, or of a folder, is Spark's."""


def run_duckdb(
    folders: Mapping[str, str | None],
    sql: str,
    tree: exp.Expr | None,
    prices: PricesShape | None,
    is_bundled: bool = False,
    opened: dict[int, OpenTables] | None = None,
) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Returns the column names of a query's answer and an iterator over its rows.

    `folders`: by the address of each run its local path, None where it has none. `tree`: the query as `parse_reading` gives it;
    `is_bundled`: it is a bundled question; `opened`: what queries before this one opened, by their prices' id. Raises OnlySpark
    before the first row for whatever Spark has to be asked, and InputError for a table or column that is not there.
    """
    local = {uri: folder for uri, folder in folders.items() if folder is not None}
    if len(local) < len(folders):
        raise OnlySpark("the tables are in no local folder")
    for uri, folder in local.items():
        if is_unfinished(folder):
            raise OnlySpark("a run has not finished publishing its tables")
        present = [name for name in ALL_COLUMNS if os.path.isdir(os.path.join(folder, name))]
        if not present:
            raise no_tables(uri)
        if is_bundled:
            refuse_without_graph(uri, sql, present)
    if tree is None:
        raise OnlySpark("it is no SELECT")
    refuse_unknown_tables(tree)
    try:
        translation = translate(tree)
        tables = {} if opened is None else opened
        if id(prices) not in tables:
            tables[id(prices)] = OpenTables(dict(zip(labels_of(list(local)), local.values(), strict=True)), prices)
        tables[id(prices)].add(names_in(sql))
    except (Untranslatable, NotHere, duckdb.Error, OSError) as error:
        raise OnlySpark(_line(error)) from error
    connection = tables[id(prices)].connection.cursor()
    try:
        connection.execute(translation.sql)
        described = [(str(name), str(kind)) for name, kind, *_ in connection.description or ()]
        _refuse_kinds(kind for _, kind in described)
    except (duckdb.Error, OnlySpark) as error:
        connection.close()
        if isinstance(error, duckdb.BinderException) and "Referenced column" in str(error):
            raise InputError(f"SQL: {_line(error)}") from error
        raise OnlySpark(_line(error)) from error
    columns = translation.columns or [name for name, _ in described]
    return columns, _rows(connection, [place for place, (_, kind) in enumerate(described) if kind == "HUGEINT"])


def refuse_unknown_tables(tree: exp.Expr) -> None:
    """Raises InputError for the first table of a query that is none of the run, no view, and not named in it."""
    known = {*ALL_COLUMNS, *HELPER_VIEWS, *(cte.alias.lower() for cte in tree.find_all(exp.CTE))}
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if name and name not in known:
            problem = f"no table or view of the run is named {quoted(table.name)}{did_you_mean(name, known)}"
            raise InputError(f"SQL: {problem}; allowed: {listing([*ALL_COLUMNS, *HELPER_VIEWS])}")


def _rows(connection: duckdb.DuckDBPyConnection, sums: list[int]) -> Iterator[tuple[Any, ...]]:
    """`sums`: the columns of 128 bits, which must fit Spark's 64."""
    with connection:
        while rows := connection.fetchmany(ROWS_FETCHED):
            for row in rows:
                if any(row[place] is not None and not -(2**63) <= row[place] < 2**63 for place in sums):
                    raise InputError("SQL: a sum is beyond 64 bits; allowed: of doubles, as in sum(CAST(x AS DOUBLE))")
                yield tuple(value.replace(tzinfo=timezone.utc) if isinstance(value, datetime) else value for value in row)


def _refuse_kinds(kinds: Iterable[str]) -> None:
    for kind in kinds:
        if kind.startswith("DECIMAL") or ("TIMESTAMP" in kind and kind != "TIMESTAMP"):
            more = " (write CAST(... AS DOUBLE) for a double)" if kind.startswith("DECIMAL") else ""
            raise OnlySpark(f"a column is of the type {kind}{more}")


def _line(error: Exception) -> str:
    """What DuckDB says in its first lines, without the query."""
    text = str(error).split("\n\nLINE ", 1)[0]
    for prefix in ("Binder Error: ", "Catalog Error: "):
        text = text.removeprefix(prefix)
    return " ".join(text.split()) or type(error).__name__
