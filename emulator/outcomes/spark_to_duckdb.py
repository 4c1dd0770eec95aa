"""Spark's SQL as DuckDB's, where both give the same rows; anything else is `Untranslatable`, and Spark's to answer.

sqlglot knows the grammars of both. What is allowed is listed here: a construct whose answer could differ in a cell is either
rewritten into a macro of `emulator.outcomes.duckdb_macros`, which has Spark's rules, or left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from emulator.outcomes.column_names import Untranslatable, column_names
from emulator.outcomes.only_reads import DIALECT


class Translation(NamedTuple):
    """DuckDB's text of a query; `columns`: how Spark names those of the answer, None: as DuckDB does (there is a star)."""

    sql: str
    columns: list[str] | None


SAME = (
    *(exp.Select, exp.From, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Distinct, exp.Subquery),
    *(exp.Union, exp.Except, exp.Intersect, exp.With, exp.CTE, exp.Table, exp.TableAlias, exp.Alias, exp.Join, exp.Lateral),
    *(exp.Values, exp.Tuple, exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Dot),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.NullSafeEQ, exp.Between, exp.In),
    *(exp.Exists, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Add, exp.Sub, exp.Mul, exp.Neg),
    *(exp.Sum, exp.Count, exp.Min, exp.Max, exp.Avg, exp.Filter, exp.Window, exp.WindowSpec, exp.IgnoreNulls),
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue),
    *(exp.Abs, exp.Sqrt, exp.Lower, exp.Upper),
    *(exp.Struct, exp.PropertyEQ, exp.Array, exp.VarMap, exp.Lambda, exp.MapKeys, exp.Explode, exp.Length),
    *(exp.Bracket, exp.DataType, exp.Cast, exp.ArraySize, exp.ArraySort, exp.DPipe),
    *(exp.Translate, exp.Like, exp.Escape, exp.Anonymous),
)
"""Constructs that mean the same in both, or that `_REWRITES` makes so."""

OF_DUCKDB = (
    *("list", "list_filter", "map_entries", "map_from_entries", "concat_ws", "quantile_cont"),
    *("arg_min_null", "arg_max_null", "first"),
)
"""Functions of DuckDB that a rewriting calls, beside macros."""

INTEGERS = (exp.DType.INT, exp.DType.BIGINT)


def translate(query: exp.Expr) -> Translation:
    """Returns DuckDB's text of a query of Spark's dialect; raises Untranslatable."""
    columns = column_names(query)
    tree = query.copy()
    for aggregate in list(tree.find_all(exp.CountIf, exp.ArrayAgg, exp.ArrayUniqueAgg)):
        _rewrite_aggregate(aggregate)
    for select in list(tree.find_all(exp.Select)):
        _join_stacks(select)
    # From the leaves up: what is rewritten has rewritten parts.
    for node in reversed(list(tree.bfs())):
        rewrite = _REWRITES.get(type(node))
        if rewrite is not None:
            rewritten = rewrite(node)
            if rewritten is not node:
                node.replace(rewritten)
        elif not isinstance(node, SAME):
            raise Untranslatable(type(node).__name__)
    return Translation(tree.sql("duckdb", identify=True, copy=False), columns)


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _macro(name: str, *parts: str) -> Callable[[exp.Expr], exp.Expr]:
    """Rewrites a function into a macro, with these of its parts as arguments, and none but them."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        if any(value for part, value in node.args.items() if part not in parts and value not in (None, False, True, [])):
            raise Untranslatable(f"{type(node).__name__} with further arguments")
        return _call(name, *(node.args[part] for part in parts))

    return rewrite


def _rewrite_aggregate(node: exp.Expr) -> None:
    """Spark's lists have no nulls, and of no rows they are empty; of no rows it counts 0."""
    if isinstance(node, exp.CountIf):
        node.replace(exp.Count(this=exp.Case().when(node.this.copy(), exp.Literal.number(1)), big_int=True))
        return
    whole = node
    while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
        whole = whole.parent
    value = node.this.copy()
    known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    chosen = exp.Distinct(expressions=[value]) if isinstance(node, exp.ArrayUniqueAgg) else value
    listed = _call("list", chosen)
    if isinstance(node.parent, exp.Filter):
        node.parent.expression.set("this", exp.and_(node.parent.expression.this.copy(), known))
        node.replace(listed)
    else:
        filtered = exp.Filter(this=listed, expression=exp.Where(this=known))
        if whole is node:
            whole = filtered
            node.replace(whole)
        else:
            node.replace(filtered)
    whole.replace(_call("spark_list", whole.copy()))


def _literal(node: exp.Expr) -> exp.Expr:
    """1.5 is a decimal in both, of which each computes in its own way: only where a double is wanted it stands as one."""
    if node.is_string or node.this.isdigit() or "e" in node.this.lower():
        return node
    if isinstance(node.parent, exp.Cast) and node.parent.to.is_type("double"):
        return node
    if isinstance(node.parent, exp.Quantile):
        return node
    raise Untranslatable(f"a decimal number, {node.this} (write {node.this}D for a double)")


def _cast(node: exp.Expr) -> exp.Expr:
    kind, value = node.args["to"], node.this
    if kind.is_type(*INTEGERS) and not (isinstance(value, exp.Null) or value.is_int):
        return exp.Cast(this=_call("spark_trunc", value), to=kind)
    if kind.is_type(*INTEGERS, "double") or isinstance(value, exp.Null):
        return exp.Cast(this=value, to=kind)
    if kind.is_type("text"):
        return _call("spark_text", value)
    raise Untranslatable(f"CAST AS {kind.sql(DIALECT)}")


def _whole(name: str) -> Callable[[exp.Expr], exp.Expr]:
    """Spark's are whole numbers, DuckDB's doubles."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        if node.args.get("decimals") is not None:
            raise Untranslatable(f"{name} with a scale")
        return exp.Cast(this=_call(name, node.this), to=exp.DataType.build("bigint"))

    return rewrite


def _word(node: exp.Expr) -> exp.Expr:
    """ORDER BY ALL."""
    if node.name.upper() == "ALL" and isinstance(node.parent, exp.Ordered):
        return node
    raise Untranslatable(node.name)


def _round(node: exp.Expr) -> exp.Expr:
    scale = node.args.get("decimals")
    if scale is not None and not (isinstance(scale, exp.Literal) and scale.this.isdigit()):
        raise Untranslatable("ROUND with a scale that is no number")
    return _call("spark_round", node.this, scale if scale is not None else exp.Literal.number(0))


def _concat(node: exp.Expr) -> exp.Expr:
    texts = [part if part.is_string else _call("spark_text", part) for part in node.expressions]
    joined = texts[0]
    for text in texts[1:]:
        joined = exp.DPipe(this=joined, expression=text, safe=False)
    return exp.Paren(this=joined)


def _concat_ws(node: exp.Expr) -> exp.Expr:
    """Of one list, or of single values; Spark flattens a mixture."""
    separator, *parts = node.expressions
    if len(parts) == 1:
        return _call("spark_join", parts[0], separator)
    return _call("concat_ws", separator, *(_call("spark_text", part) for part in parts))


def _text_to_map(node: exp.Expr) -> exp.Expr:
    """Spark's delimiters are regular expressions: only those that mean themselves."""
    given = (node.args.get("pair_delim"), node.args.get("key_value_delim"))
    delimiters = [one for one in given if one is not None and one.is_string and re.fullmatch(r"[\w ,:;=]+", one.this)]
    if len(delimiters) < len(given):
        raise Untranslatable("STR_TO_MAP with delimiters that are left out, or no plain text")
    return _call("spark_str_to_map", node.this, *delimiters)


def _quantile(node: exp.Expr) -> exp.Expr:
    if not isinstance(node.args["quantile"], exp.Literal):
        raise Untranslatable("several percentiles")
    return _call("quantile_cont", node.this, node.args["quantile"])


def _like(node: exp.Expr) -> exp.Expr:
    if isinstance(node.parent, exp.Escape):
        return node
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _bracket(node: exp.Expr) -> exp.Expr:
    """Of a map by its key, or of a list by a place: element_at counts from 1, [] from 0."""
    if len(node.expressions) != 1:
        raise Untranslatable("a slice")
    place = node.expressions[0]
    if place.is_string:
        return exp.Bracket(this=node.this, expressions=[place]) if node.args.get("offset") else node
    name = "element_at" if node.args.get("offset") else "at"
    ways = "spark_try_" if node.args.get("safe") else "spark_"
    return exp.Paren(this=_call(ways + name, node.this, place))


def _lateral(node: exp.Expr) -> exp.Expr:
    if isinstance(node.this, exp.Explode | exp.Subquery) and not node.args.get("outer"):
        return node
    raise Untranslatable("LATERAL VIEW")


def _stack_of(lateral: exp.Expr) -> exp.Expr | None:
    """LATERAL VIEW stack(n, ...): a row for each nth part of the values, as a join."""
    stack = lateral.this
    if not isinstance(stack, exp.Stack) or lateral.args.get("outer"):
        return None
    count, values = int(stack.this.this), stack.expressions
    alias = lateral.args["alias"]
    names = alias.columns
    width = len(values) // count
    if len(names) != width or width * count != len(values):
        raise Untranslatable("STACK with nulls")
    rows = []
    for first in range(0, len(values), width):
        row = zip(values[first : first + width], names, strict=True)
        rows.append(exp.Select(expressions=[exp.alias_(value.copy(), name.copy()) for value, name in row]))
    union: exp.Expr = rows[0]
    for row_of in rows[1:]:
        union = exp.Union(this=union, expression=row_of, distinct=False)
    named = exp.Lateral(this=exp.Subquery(this=union), alias=exp.TableAlias(this=alias.this.copy()))
    return exp.Join(this=named, kind="CROSS")


def _join_stacks(select: exp.Expr) -> None:
    laterals = select.args.get("laterals") or []
    for lateral in list(laterals):
        join = _stack_of(lateral)
        if join is not None:
            laterals.remove(lateral)
            select.append("joins", join)


def _anonymous(node: exp.Expr) -> exp.Expr:
    """Functions that sqlglot has no name for."""
    name, arguments = node.name.lower(), list(node.expressions)
    if name.startswith("spark_") or name in OF_DUCKDB:
        return node
    if name == "get" and len(arguments) == 2:
        return exp.Paren(this=_call("spark_get", *arguments))
    if name == "map_filter" and len(arguments) == 2 and isinstance(arguments[1], exp.Lambda):
        return _map_filter(*arguments)
    raise Untranslatable(name)


def _map_filter(values: exp.Expr, kept: exp.Expr) -> exp.Expr:
    key, value = (parameter.name for parameter in kept.expressions)

    def of_entry(node: exp.Expr) -> exp.Expr:
        named = isinstance(node, exp.Column | exp.Identifier) and node.name
        if named == key and not isinstance(node.parent, exp.Column):
            return exp.column("key", table="entry_")
        if named == value and not isinstance(node.parent, exp.Column):
            return exp.column("value", table="entry_")
        return node

    body = kept.this.copy().transform(of_entry)
    keeps = exp.Lambda(this=body, expressions=[exp.to_identifier("entry_")])
    return _call("map_from_entries", _call("list_filter", _call("map_entries", values), keeps))


_REWRITES: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Literal: _literal,
    exp.TryCast: _cast,
    exp.Var: _word,
    exp.Div: _macro("spark_divide", "this", "expression"),
    exp.IntDiv: _macro("spark_div", "this", "expression"),
    exp.Mod: _macro("spark_mod", "this", "expression"),
    exp.Ceil: _whole("spark_ceil"),
    exp.Floor: _whole("spark_floor"),
    exp.Round: _round,
    exp.Concat: _concat,
    exp.ConcatWs: _concat_ws,
    exp.Quantile: _quantile,
    exp.Like: _like,
    exp.Bracket: _bracket,
    exp.Lateral: _lateral,
    exp.Anonymous: _anonymous,
    exp.AnyValue: _macro("first", "this"),
    exp.First: _macro("first", "this"),
    exp.ArgMin: _macro("arg_min_null", "this", "expression"),
    exp.ArgMax: _macro("arg_max_null", "this", "expression"),
    exp.ArrayContains: _macro("spark_contains", "this", "expression"),
    exp.ArrayExcept: _macro("spark_except", "this", "expression"),
    exp.ArrayIntersect: lambda node: _call("spark_intersect", *node.expressions),
    exp.ArrayPosition: _macro("spark_position", "this", "expression"),
    exp.ArrayToString: _macro("spark_join", "this", "expression"),
    exp.GenerateSeries: _macro("spark_sequence", "start", "end"),
    exp.StrToMap: _text_to_map,
    exp.JSONFormat: _macro("spark_map_json", "this"),
}
