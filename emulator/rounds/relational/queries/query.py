"""Tables as queries that are made step by step, as Spark's DataFrames are, and worked out where a round says `settled`.

Their texts are SQL in Spark's dialect. What works them out is Spark (`on_spark.py`), or DuckDB for what fits one machine
(`on_duckdb.py`): there a query is planned in a hundredth of the time.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_NAMED = re.compile(r"(.+) AS (\w+)", re.DOTALL)
_WORD = re.compile(r"\w+")
_HOW = {"inner": "JOIN", "left": "LEFT JOIN", "full": "FULL JOIN"}
HALF = ("semi", "anti")
"""Joins that give rows of the left table only."""


class Engine(ABC):
    """What works queries out: its dialect, and the tables that it has worked out."""

    deepest: int | None = None
    """How many queries may be nested in one; None: any number."""

    @abstractmethod
    def expression(self, text: str) -> str:
        """An expression of Spark's dialect in that of this engine."""

    @abstractmethod
    def quoted(self, name: str) -> str:
        """A column's name."""

    def chosen(self, query: Query, named: Collection[tuple[str, str]], left_out: Sequence[str] | None = None) -> str:
        """The query of a table's columns but those `left_out`, None: of none of them, and of others by their names and texts."""
        return f"SELECT {', '.join([*self.star(left_out), *self.listed(named)])} FROM {query.source}"

    def listed(self, named: Iterable[tuple[str, str]]) -> list[str]:
        """Columns by their names and texts, as they stand behind SELECT."""
        return [self.quoted(n) if n == t else f"{self.expression(t)} AS {self.quoted(n)}" for n, t in named]

    def star(self, left_out: Sequence[str] | None) -> list[str]:
        """All columns but some; None: no column."""
        return [] if left_out is None else [self.all_but(left_out) if left_out else "*"]

    @abstractmethod
    def half_join(self, how: str) -> str:
        """How a semi or anti join is called."""

    @abstractmethod
    def all_but(self, names: Sequence[str]) -> str:
        """All columns but some."""

    @abstractmethod
    def exploded(self, query: Query, name: str, entries: str) -> str:
        """The text of `Query.exploded`."""

    @abstractmethod
    def stacked(self, query: Query, rows: Sequence[Mapping[str, str]]) -> str:
        """The text of `Query.stacked`."""

    @abstractmethod
    def read(self, table: pa.Table) -> Query:
        """A small table of the driver."""

    @abstractmethod
    def stored(self, table: pa.Table, key: Sequence[str]) -> Query:
        """A table of the driver as a round starts with it, by the first column of its key where there are several tasks."""

    @abstractmethod
    def settle(self, queries: Sequence[Query], to_stay: bool = True) -> list[Query]:
        """The queries worked out; `to_stay`: for further rounds, not for this one only."""

    @abstractmethod
    def shallow(self, query: Query) -> Query:
        """The same query under a name, so that no text is nested too deep."""

    @abstractmethod
    def arrow(self, query: Query) -> pa.Table:
        """The rows of a query in the driver."""

    @abstractmethod
    def table(self, query: Query, schema: StructType) -> DataFrame | pa.Table:
        """A query with the columns of a table of a run; those that it lacks are null."""

    def compacted(self, query: Query) -> Query:
        """The query worked out, in few parts."""
        return query.settled()


@dataclass(frozen=True, eq=False)
class Query:
    """A table that is not worked out yet.

    source: what stands behind FROM, a table of the `columns`. held: tables that have to stay while this query is there.
    depth: how many queries are nested in it. is_small: every task gets the whole table, when another one is joined with it
    (`broadcast`). other_columns: where it is another query with other columns, which ones.
    """

    engine: Engine
    source: str
    columns: tuple[str, ...]
    held: tuple[object, ...] = ()
    depth: int = 0
    is_small: bool = False
    other_columns: OtherColumns | None = None

    @property
    def text(self) -> str:
        """The query by itself."""
        source = self.source
        return source[1:-1] if source.startswith("(") else f"SELECT * FROM {source}"

    def select(self, *texts: str) -> Query:
        """Columns, by their names or as `EXPRESSION AS name`."""
        named = [_parted(text) for text in texts]
        return self._made(self.engine.chosen(self, named), [name for name, _ in named])

    def with_columns(self, **texts: str) -> Query:
        """The table with more columns, or other values of them; all of them see the values before."""
        before = self._other_columns
        if not before.all_see_the_same(texts.values()):
            before = OtherColumns(self)
        return self._with(replace(before, made={**before.made, **texts}), dict.fromkeys((*self.columns, *texts)))

    def where(self, condition: str) -> Query:
        """The rows of which this is so."""
        return self._made(f"SELECT * FROM {self.source} WHERE {self.engine.expression(condition)}", self.columns)

    def drop(self, *names: str) -> Query:
        """The table without columns, those of them that it has."""
        there = [name for name in names if name in self.columns]
        if not there:
            return self
        kept = [name for name in self.columns if name not in there]
        before = self._other_columns
        made = {name: text for name, text in before.made.items() if name not in there}
        return self._with(replace(before, made=made, dropped=before.dropped | set(there)), kept)

    def renamed(self, **names: str) -> Query:
        """The table with other names of columns, each by the one before."""
        known = {old: new for old, new in names.items() if old in self.columns}
        return self.select(*(f"{name} AS {known[name]}" if name in known else name for name in self.columns))

    def join(self, other: Query, keys: str | Sequence[str], how: str = "inner") -> Query:
        """Join by columns of the same names. `how`: inner, left, full, semi, anti."""
        keys = [keys] if isinstance(keys, str) else list(keys)
        using = f"USING ({', '.join(map(self.engine.quoted, keys))})"
        theirs = [name for name in other.columns if name not in keys]
        return self._joined(other, using, how, [*keys, *(name for name in self.columns if name not in keys)], theirs)

    def join_where(self, other: Query, condition: str, how: str = "inner") -> Query:
        """Join by a condition."""
        return self._joined(other, f"ON {self.engine.expression(condition)}", how, list(self.columns), list(other.columns))

    def broadcast(self) -> Query:
        """The same, as a small table for joins."""
        return replace(self, is_small=True)

    def union(self, *others: Query, missing: bool = False) -> Query:
        """The rows of all, by the names of columns. `missing`: what another one lacks is null."""
        queries = [self, *others]
        parts = []
        for query in queries:
            lacks = set(self.columns) - set(query.columns)
            if (lacks and not missing) or set(query.columns) - set(self.columns):
                raise ValueError(f"a union of other columns: {sorted(set(self.columns) ^ set(query.columns))}")
            listed = ", ".join("null AS " + self.engine.quoted(c) if c in lacks else self.engine.quoted(c) for c in self.columns)
            parts.append(f"SELECT {listed} FROM {query.source}")
        return _cut(Query(self.engine, f"({' UNION ALL '.join(parts)})", self.columns, *_around(queries)))

    def distinct(self) -> Query:
        """The rows once each."""
        return self._made(f"SELECT DISTINCT * FROM {self.source}", self.columns)

    def group_by(self, *keys: str) -> Grouped:
        """Rows of the same keys, for `agg`."""
        return Grouped(self, keys)

    def exploded(self, name: str, entries: str) -> Query:
        """A row for each entry of a list, as a column more."""
        return self._made(self.engine.exploded(self, name, self.engine.expression(entries)), [*self.columns, name])

    def stacked(self, rows: Sequence[Mapping[str, str]]) -> Query:
        """Several rows of each one: its columns, and those that `rows` say, by SQL."""
        translated = [{name: self.engine.expression(text) for name, text in row.items()} for row in rows]
        return self._made(self.engine.stacked(self, translated), [*self.columns, *rows[0]])

    def settled(self) -> Query:
        """The same rows, worked out."""
        return self.engine.settle([self])[0]

    def rows(self) -> list[dict[str, Any]]:
        """The rows, in the driver."""
        found: list[dict[str, Any]] = self.engine.arrow(self).to_pylist()
        return found

    @property
    def _other_columns(self) -> OtherColumns:
        return self.other_columns or OtherColumns(self)

    def _with(self, other: OtherColumns, columns: Iterable[str]) -> Query:
        """What `other` says, as one query."""
        of = other.of
        left_out = [name for name in of.columns if name in other.made or name in other.dropped]
        made = of._made(of.engine.chosen(of, other.made.items(), left_out), columns)
        return replace(made, other_columns=other) if made.depth else made

    def _made(self, text: str, columns: Iterable[str]) -> Query:
        return _cut(Query(self.engine, f"({text})", tuple(columns), *_around([self])))

    def _joined(self, other: Query, on: str, how: str, own: list[str], theirs: list[str]) -> Query:
        engine, left, right = self.engine, self, other
        both = set(own) & set(theirs)
        if how not in HALF and both:
            raise ValueError(f"both tables of a join have {sorted(both)}")
        hint, named = ("/*+ BROADCAST(small) */ ", " AS small") if other.is_small else ("", "")
        kind = engine.half_join(how) if how in HALF else _HOW[how]
        text = f"(SELECT {hint}* FROM {left.source} {kind} {right.source}{named} {on})"
        columns = left.columns if how in HALF else (*own, *theirs)
        return _cut(Query(engine, text, columns, *_around([left, right])))


@dataclass(frozen=True)
class OtherColumns:
    """A query with columns made by these texts, and without some. Columns that see the same values are made at once.

    An engine binds all columns of a table once more for each query that is nested in another one.
    """

    of: Query
    made: Mapping[str, str] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()

    def all_see_the_same(self, texts: Iterable[str]) -> bool:
        """Whether these texts name no column that is another one, or none, in `of`."""
        return not any(word in self.made or word in self.dropped for text in texts for word in _WORD.findall(text))


@dataclass(frozen=True)
class Grouped:
    """Rows of the same keys."""

    query: Query
    keys: tuple[str, ...]

    def agg(self, *texts: str) -> Query:
        """A row for each group: keys, and aggregates as `EXPRESSION AS name`."""
        named = [(key, key) for key in self.keys] + [_parted(text) for text in texts]
        query = self.query
        by = ", ".join(map(query.engine.quoted, self.keys))
        listed = ", ".join(query.engine.listed(named))
        return query._made(f"SELECT {listed} FROM {query.source} GROUP BY {by}", [name for name, _ in named])


def _parted(text: str) -> tuple[str, str]:
    """Name and expression."""
    found = _NAMED.fullmatch(text)
    return (found[2], found[1]) if found else (text, text)


def _around(queries: Iterable[Query]) -> tuple[tuple[object, ...], int]:
    """What a query made of these holds, and its depth."""
    queries = list(queries)
    held = {id(one): one for query in queries for one in query.held}
    return tuple(held.values()), 1 + max(query.depth for query in queries)


def _cut(query: Query) -> Query:
    deepest = query.engine.deepest
    return query if deepest is None or query.depth < deepest else query.engine.shallow(query)
