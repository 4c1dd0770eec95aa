"""What the bundled questions and the views answer to the tables of a golden scenario."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emulator.outcomes import queries
from emulator.outcomes.view_texts import HELPER_VIEWS
from emulator.outcomes.views import ALL_TABLES, register
from tests.golden.tables import LATER_ANSWERS, Table, as_table

DIGITS = 9
"""Significant digits of what Spark adds up in any order."""


def answers(out: Path, spark: SparkSession) -> dict[str, Table]:
    """Answers by name: a view's, or "ask_" and a question's."""
    session = spark.newSession()
    # By their names: views that others add up are then worked out once.
    register(session, str(out), {*ALL_TABLES, *HELPER_VIEWS})
    asked = {view: f"SELECT * FROM {view}" for view in HELPER_VIEWS}
    asked |= {f"ask_{name}": query.sql for name, query in queries().items()}
    found = {name: as_table(name, session.sql(sql).toArrow()) for name, sql in asked.items() if name not in LATER_ANSWERS}
    for table in found.values():
        table.rows = [[rounded(cell) for cell in row] for row in table.rows]
        table.sort()
    return found


def rounded(cell: Any) -> Any:
    """A cell with DIGITS digits of every double in it."""
    if isinstance(cell, list):
        return [rounded(inner) for inner in cell]
    if isinstance(cell, dict):
        return {key: rounded(inner) for key, inner in cell.items()}
    if isinstance(cell, Decimal):
        return str(cell)
    return float(f"{cell:.{DIGITS}g}") if isinstance(cell, float) else cell
