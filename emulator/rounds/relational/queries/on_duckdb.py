"""DuckDB works queries out, in this process: sqlglot has each expression of Spark's dialect in DuckDB's, once in a process.

What is not listed here is refused: an expression whose value could differ is none.
"""

from __future__ import annotations

import itertools
import re
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import duckdb
import pyarrow as pa
from pyspark.sql.types import StructType
from sqlglot import exp, parse_one

from emulator.arrow.schemas import to_arrow_schema
from emulator.outcomes.column_names import Untranslatable
from emulator.outcomes.only_reads import DIALECT
from emulator.rounds.relational.queries.query import Engine, Query

SAME = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT,
    exp.LTE, exp.GT, exp.GTE, exp.Is, exp.In, exp.Case, exp.If, exp.Coalesce, exp.Greatest, exp.Least, exp.Add, exp.Sub, exp.Mul,
    exp.Neg, exp.Mod, exp.IntDiv, exp.Cast, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.Min, exp.Max, exp.Count, exp.Star,
    exp.LogicalOr, exp.LogicalAnd, exp.Filter, exp.Where, exp.Window, exp.WindowSpec, exp.Order, exp.Ordered, exp.RowNumber,
    exp.Lag, exp.Lead, exp.Array, exp.Dot, exp.PropertyEQ,
)  # fmt: skip
"""What means the same in both."""

ROWS_A_THREAD = 100_000
"""DuckDB parts a table so: of a smaller one several threads only wait for each other."""

FOR_FEW_ROWS = {"filter_pushdown", "unused_columns"}
"""Steps of DuckDB's planning, which is nearly all that a query over few rows takes, that earn what they take there: the others
take a quarter of it for nothing."""

_WORDS = re.compile(r"\b(returning)\b")
"""Columns whose names are words of sqlglot's grammar."""

_numbers = itertools.count()


class _Table:
    """A table, which goes when no query is left that has it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.name = f"relational_{next(_numbers)}"
        weakref.finalize(self, _dropped, connection, self.name).atexit = False


def _dropped(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    with suppress(duckdb.Error):  # the connection is closed
        connection.execute(f"DROP TABLE IF EXISTS {name}")


class OnDuckDB(Engine):
    """DuckDB, with nothing but what it is given."""

    def __init__(self, replicas: int = 0) -> None:
        self._connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"})
        if replicas < ROWS_A_THREAD:
            steps = {name for (name,) in self._connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()}
            self._connection.execute("SET threads = 1")
            self._connection.execute(f"SET disabled_optimizers = '{','.join(sorted(steps - FOR_FEW_ROWS))}'")
        self._connection.execute("SET enable_external_access = false")

    def expression(self, text: str) -> str:
        """By sqlglot."""
        return of_duckdb(text)

    def quoted(self, name: str) -> str:
        """In double quotes."""
        return f'"{name}"'

    def half_join(self, how: str) -> str:
        """SEMI JOIN."""
        return f"{how.upper()} JOIN"

    def all_but(self, names: Sequence[str]) -> str:
        """* EXCLUDE."""
        return f"* EXCLUDE ({', '.join(map(self.quoted, names))})"

    def chosen(self, query: Query, named: Collection[tuple[str, str]], left_out: Sequence[str] | None = None) -> str:
        """Aggregates over whole partitions are worked out by GROUP BY, and joined: a window costs four times as much."""
        columns, over = [], defaultdict[tuple[str, ...], dict[str, str]](dict)
        for name, text in named:
            expression, wholes = parted(text)
            columns.append(f"{expression} AS {self.quoted(name)}")
            for whole in wholes:
                over[whole.keys][whole.name] = whole.aggregate
        if not over:
            return super().chosen(query, named, left_out)
        joins = []
        for number, (keys, aggregates) in enumerate(over.items()):
            of_keys = {f"key_{number}_{at}": key for at, key in enumerate(keys)}
            own = ", ".join(f"{text} AS {name}" for name, text in (of_keys | aggregates).items())
            same = " AND ".join(f"rows_.{key} IS NOT DISTINCT FROM {name}" for name, key in of_keys.items())
            joins.append(f"JOIN (SELECT {own} FROM rows_ GROUP BY {', '.join(keys)}) ON {same}")
        listed = ", ".join([*(f"rows_.{star}" for star in self.star(left_out)), *columns])
        return f"WITH rows_ AS MATERIALIZED (SELECT * FROM {query.source}) SELECT {listed} FROM rows_ {' '.join(joins)}"

    def exploded(self, query: Query, name: str, entries: str) -> str:
        """unnest."""
        return f"SELECT *, unnest({entries}) AS {self.quoted(name)} FROM {query.source}"

    def stacked(self, query: Query, rows: Sequence[Mapping[str, str]]) -> str:
        """A list of structs, each a row."""
        structs = ", ".join("{" + ", ".join(f"'{name}': {text}" for name, text in row.items()) + "}" for row in rows)
        parts = ", ".join(f"stacked_.{self.quoted(name)}" for name in rows[0])
        return f"SELECT * EXCLUDE (stacked_), {parts} FROM (SELECT *, unnest([{structs}]) AS stacked_ FROM {query.source})"

    def read(self, table: pa.Table) -> Query:
        """A copy of it."""
        there = "relational_read"
        self._connection.register(there, table)
        try:
            return self._kept(f"SELECT * FROM {there}", table.column_names)
        finally:
            self._connection.unregister(there)

    def stored(self, table: pa.Table, key: Sequence[str]) -> Query:
        """Likewise."""
        return self.read(table)

    def settle(self, queries: Sequence[Query], to_stay: bool = True) -> list[Query]:
        """Tables, one after the other: each has all cores."""
        return [self._kept(query.text, query.columns) for query in queries]

    def shallow(self, query: Query) -> Query:
        """As it is."""
        return query

    def arrow(self, query: Query) -> pa.Table:
        """By Arrow."""
        return self._connection.sql(query.text).to_arrow_table()

    def table(self, query: Query, schema: StructType) -> pa.Table:
        """By Arrow."""
        rows, wanted = self.arrow(query), to_arrow_schema(schema)
        there = set(rows.column_names)
        columns = [rows[f.name].cast(f.type) if f.name in there else pa.nulls(rows.num_rows, f.type) for f in wanted]
        return pa.table(columns, schema=wanted)

    def _kept(self, text: str, columns: Sequence[str]) -> Query:
        table = _Table(self._connection)
        self._connection.execute(f"CREATE TABLE {table.name} AS {text}")
        return Query(self, table.name, tuple(columns), (table,))


class Whole(NamedTuple):
    """An aggregate over all rows that have the same `keys`, and how its value is called."""

    name: str
    keys: tuple[str, ...]
    aggregate: str


@cache
def of_duckdb(text: str) -> str:
    """An expression of Spark's dialect in DuckDB's; raises Untranslatable for one that is not listed here."""
    return _tree_of(text).sql("duckdb", identify=True)


@cache
def parted(text: str) -> tuple[str, tuple[Whole, ...]]:
    """Likewise, with names instead of its aggregates over whole partitions, and those."""
    holder = exp.Paren(this=_tree_of(text))
    wholes = []
    for window in list(holder.find_all(exp.Window)):
        keys = tuple(key.sql("duckdb", identify=True) for key in window.args.get("partition_by") or ())
        is_whole = keys and not window.args.get("order") and not window.args.get("spec")
        if is_whole and all(isinstance(key, exp.Column) for key in window.args["partition_by"]):
            wholes.append(_whole_of(keys, window.this.sql("duckdb", identify=True)))
            window.replace(exp.column(wholes[-1].name))
    return holder.this.sql("duckdb", identify=True), tuple(wholes)


@cache
def _whole_of(keys: tuple[str, ...], aggregate: str) -> Whole:
    return Whole(f"whole_{next(_numbers)}", keys, aggregate)


def _tree_of(text: str) -> exp.Expr:
    tree = parse_one("SELECT " + _WORDS.sub(r"`\1`", text), read=DIALECT).expressions[0]
    holder = exp.Paren(this=tree)
    for node in reversed(list(tree.bfs())):
        rewrite = _REWRITES.get(type(node))
        if rewrite is not None:
            node.replace(rewrite(node))
        elif not isinstance(node, (*SAME, exp.Anonymous)):
            raise Untranslatable(f"{type(node).__name__}: {text}")
    for node in list(holder.find_all(exp.Sum)):  # of 128 bits
        whole = _whole(node)
        whole.replace(exp.Cast(this=whole.copy(), to=exp.DataType.build("bigint")))
    for node in list(holder.find_all(exp.ArrayAgg)):
        _without_nulls(node)
    return holder.this


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _struct(node: exp.Expr) -> exp.Expr:
    """Fields are named as columns, by place where they are none."""
    fields = []
    for place, field in enumerate(node.expressions, 1):
        if isinstance(field, exp.PropertyEQ):
            fields.append(field)
        elif isinstance(field, exp.Alias):
            fields.append(exp.PropertyEQ(this=exp.to_identifier(field.alias), expression=field.this))
        else:
            name = field.name if isinstance(field, exp.Column) else f"col{place}"
            fields.append(exp.PropertyEQ(this=exp.to_identifier(name), expression=field))
    return exp.Struct(expressions=fields)


def _whole(aggregate: exp.Expr) -> exp.Expr:
    """An aggregate with its filter and window."""
    whole = aggregate
    while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
        whole = whole.parent
    return whole


def _without_nulls(listed: exp.Expr) -> None:
    """Spark's lists have no nulls; of no rows they are empty."""
    known = exp.Not(this=exp.Is(this=listed.this.copy(), expression=exp.Null()))
    call = _call("list", listed.this.copy())
    if isinstance(listed.parent, exp.Filter):
        condition = listed.parent.expression
        condition.set("this", exp.and_(condition.this.copy(), known))
        listed.replace(call)
        listed = call
    else:
        filtered = exp.Filter(this=call, expression=exp.Where(this=known))
        listed.replace(filtered)
        listed = filtered
    whole = _whole(listed)
    whole.replace(_call("coalesce", whole.copy(), exp.Array(expressions=[])))


def _counted(node: exp.Expr) -> exp.Expr:
    """Of no rows 0."""
    return exp.Count(this=exp.Case().when(node.this, exp.Literal.number(1)), big_int=True)


_REWRITES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.CountIf: _counted,
    exp.Sum: lambda node: node,
    exp.ArrayAgg: lambda node: node,
    exp.ArgMin: lambda node: _call("arg_min_null", node.this, node.expression),
    exp.ArgMax: lambda node: _call("arg_max_null", node.this, node.expression),
    exp.Struct: _struct,
    exp.Concat: lambda node: _call("list_concat", *node.expressions),
    exp.ArraySort: lambda node: _call("list_sort", node.this),
    exp.GenerateSeries: lambda node: _call("generate_series", node.args["start"], node.args["end"]),
    exp.BitwiseXor: lambda node: _call("xor", node.this, node.expression),
    exp.TryCast: lambda node: exp.Cast(this=node.this, to=node.args["to"]),
}
