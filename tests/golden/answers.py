"""What the bundled questions and the views answer to the tables of a golden scenario."""

from __future__ import annotations

import json
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emulator.outcomes import queries
from emulator.outcomes.ask import Asker
from emulator.outcomes.view_texts import HELPER_VIEWS
from emulator.outcomes.views import ALL_TABLES, register
from tests.golden.tables import LATER, LATER_ANSWERS, Table, as_table

DIGITS = 9
"""Significant digits of what Spark adds up in any order."""


SETS = ("leader_rounds",)
"""What has sets in it, in no order: in the goldens they stand as Spark has them."""


def answers(out: Path, spark: SparkSession, names: Collection[str] = ()) -> dict[str, Table]:
    """Answers by name: a view's, or "ask_" and a question's; those with these names, or all."""
    session = spark.newSession()
    # By their names: views that others add up are then worked out once.
    register(session, str(out), {*ALL_TABLES, *HELPER_VIEWS} if not names else {*names})
    chosen = {name: sql for name, sql in asked().items() if name in (names or asked())}
    found = {name: as_table(name, session.sql(sql).toArrow()) for name, sql in chosen.items()}
    for table in found.values():
        table.rows = [[rounded(cell) for cell in row] for row in table.rows]
        table.sort()
    return found


def answers_by_duckdb(out: Path, spark: SparkSession, goldens: Path) -> dict[str, Table]:
    """The same by DuckDB, sooner, but for SETS; the names of types are Spark's, of the goldens in this folder."""
    found, tables = answers(out, spark, SETS), Asker(str(out), "duckdb", lambda: spark)
    for name, sql in asked().items():
        if name in found:
            continue
        golden = goldens / f"{name}.jsonl"
        kinds = json.loads(golden.read_text().partition("\n")[0])["columns"] if golden.exists() else {}
        columns, rows = tables.ask(sql)
        kept = [at for at, column in enumerate(columns) if column not in LATER.get(name, ())]
        cells = [[_in_order(columns[at], rounded(row[at])) for at in kept] for row in rows]
        found[name] = Table({columns[at]: kinds.get(columns[at]) for at in kept}, cells)
        found[name].sort()
    return found


def _in_order(column: str, cell: Any) -> Any:
    """Spark puts the keys of a map in order, by which it groups."""
    return json.dumps(dict(sorted(json.loads(cell).items())), separators=(",", ":")) if column == "overrides" else cell


def asked() -> dict[str, str]:
    """Queries by name: of all views, and all bundled questions."""
    views = {view: f"SELECT * FROM {view}" for view in HELPER_VIEWS}
    own = views | {f"ask_{name}": query.sql for name, query in queries().items()}
    return {name: sql for name, sql in own.items() if name not in LATER_ANSWERS}


def rounded(cell: Any) -> Any:
    """A cell with DIGITS digits of every double in it."""
    if isinstance(cell, list):
        return [rounded(inner) for inner in cell]
    if isinstance(cell, dict):
        return {key: rounded(inner) for key, inner in cell.items()}
    if isinstance(cell, Decimal):
        return str(cell)
    return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell
