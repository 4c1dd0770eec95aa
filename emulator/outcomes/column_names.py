"""How Spark names the columns of an answer."""

from __future__ import annotations

from sqlglot import exp


class Untranslatable(Exception):
    """Says what of a query only Spark answers."""


def column_names(query: exp.Expr) -> list[str] | None:
    """Returns how Spark names the columns of an answer; None where a star stands for some; raises Untranslatable."""
    while not isinstance(query, exp.Select):
        if isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        else:
            raise Untranslatable("names of columns")
    if any(isinstance(chosen, exp.Star) or chosen.is_star for chosen in query.expressions):
        if any(join.args.get("using") or join.args.get("method") for join in query.args.get("joins") or ()):
            raise Untranslatable("columns of a star over USING")
        for chosen in query.expressions:
            if not (chosen.is_star or isinstance(chosen, exp.Alias | exp.Column)):
                raise Untranslatable("names of columns beside a star")
        return None
    return [_column_name(chosen) for chosen in query.expressions]


def _column_name(chosen: exp.Expr) -> str:
    """The name that Spark gives a column: as it prints the expression."""
    if isinstance(chosen, exp.Alias):
        return str(chosen.alias)
    if isinstance(chosen, exp.Column | exp.Dot):
        return str(chosen.name)
    if isinstance(chosen, exp.Literal):
        return str(chosen.this)
    if isinstance(chosen, exp.Count) and isinstance(chosen.this, exp.Star):
        return "count(1)"
    if isinstance(chosen, exp.Sum | exp.Min | exp.Max | exp.Avg | exp.Count) and isinstance(chosen.this, exp.Column):
        return f"{chosen.sql_name().lower()}({_column_name(chosen.this)})"
    if isinstance(chosen, exp.Add | exp.Sub | exp.Mul | exp.Div):
        sign = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}[type(chosen)]
        return f"({_column_name(chosen.left)} {sign} {_column_name(chosen.right)})"
    raise Untranslatable("the name of a column without one (give it with AS)")
