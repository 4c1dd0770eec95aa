"""A query only reads the tables of its run: what would write, run something or read elsewhere is refused."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser

from emulator.errors import InputError, quoted

DIALECT = "spark"


class _Spark(Spark):
    """Spark's dialect, in which struct(a = b) is a struct of one truth value, and no field named a."""

    class Parser(SparkParser):
        KEY_VALUE_DEFINITIONS = (exp.Alias, exp.PropertyEQ)  # type: ignore[assignment]


READING_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "DESCRIBE", "DESC", "SHOW", "EXPLAIN", "SET")
"""What a statement that changes nothing begins with; SET changes only the session of its own that a query runs in."""

CALLS_OF_JAVA = frozenset({"REFLECT", "JAVA_METHOD", "TRY_REFLECT"})
READERS = ("READ_", "PARQUET_", "SNIFF_CSV")
"""What functions that read files begin with, in Spark's dialects and DuckDB's."""

ALLOWED = "one statement that reads the run's tables: SELECT, WITH, VALUES, TABLE, DESCRIBE, SHOW or EXPLAIN"

# Of what it only passes on: that is not the user's to know.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def parse_reading(sql: str) -> exp.Expr | None:
    """Returns the query as a tree; None for what only Spark can tell the sense, or the mistake, of.

    Raises InputError, one line, for what does more than read the tables of a run: it writes, sets something up, runs a program
    or Java, or reads a file. Of what cannot be parsed here the words decide.
    """
    dialect = _Spark()
    try:
        tokens = dialect.tokenize(sql)
    except SqlglotError:  # as a text without its end, which Spark tells the place of
        _refuse_words(sql.upper().split())
        return None
    _refuse_words([token.text.upper() for token in tokens])
    try:
        statements = [statement for statement in dialect.parser().parse(tokens, sql) if statement is not None]
    except (SqlglotError, RecursionError):
        return None
    if len(statements) > 1:
        raise InputError(f"SQL: there are {len(statements)} statements; allowed: {ALLOWED}")
    if not statements:
        return None
    statement = statements[0]
    for node in statement.walk():
        if isinstance(node, exp.DML | exp.DDL) and not isinstance(node, exp.Query):
            raise _refusal(f"{type(node).__name__.upper()} writes")
        if isinstance(node, exp.QueryTransform):
            raise _refusal("TRANSFORM runs a program")
        if isinstance(node, exp.Table) and _is_elsewhere(node):
            raise _refusal(f"{quoted(node.sql(DIALECT))} is no table of the run")
        if isinstance(node, exp.Func) and _function_name(node) in CALLS_OF_JAVA:
            raise _refusal(f"{_function_name(node).lower()} calls Java")
    return statement if isinstance(statement, exp.Query) else None


def first_word(sql: str) -> str:
    """What a statement begins with, in capitals; an empty text for none."""
    try:
        return _first([token.text.upper() for token in _Spark().tokenize(sql)])
    except SqlglotError:
        return _first(sql.upper().split())


def _first(words: Sequence[str]) -> str:
    return next((word for word in words if word != "("), "")


def _refuse_words(words: Sequence[str]) -> None:
    first = _first(words)
    if first and first not in READING_WORDS:
        raise _refusal(f"a query cannot begin with {quoted(first)}")
    if first not in ("EXPLAIN", "SHOW", "DESCRIBE", "DESC", "SET"):
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
            if word == "INSERT" and before != "." and after in ("INTO", "OVERWRITE"):
                raise _refusal("INSERT writes")
            if word in CALLS_OF_JAVA and after == "(":
                raise _refusal(f"{word.lower()} calls Java")
            if word == "USING" and before == ")" and after not in ("(", "") and {"TRANSFORM", "MAP", "REDUCE"} & {*words}:
                raise _refusal("TRANSFORM runs a program")


def _is_elsewhere(table: exp.Table) -> bool:
    """Whether what stands for a table is one of another database, or a file."""
    source = table.this
    read_by = isinstance(source, exp.Func) and _function_name(source).startswith(READERS)
    return table.args.get("db") is not None or read_by or not re.fullmatch(r"\w+", table.name or "_")


def _function_name(node: exp.Func) -> str:
    return str(node.name if isinstance(node, exp.Anonymous) else node.sql_name()).upper()


def _refusal(problem: str) -> InputError:
    return InputError(f"SQL: {problem}; allowed: {ALLOWED}")
