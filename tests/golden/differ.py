"""Rows of golden tables that are otherwise on compiled rounds: changed/SCENARIO.jsonl, beside the cells of changed_cells.toml.

A line is {"table", "why", "key", "cells"}: of the row with this key, each such cell as [in the golden, now]; or a whole row,
{"table", "why", "gone"} or {"table", "why", "come"}. `why` names a reason of changed_cells.toml, which says who decided.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden.tables import Table

CHANGED = Path(__file__).with_name("changed")

KEYS = {
    "broker_rounds": ("scenario_id", "broker", "from_round"),
    "invariants": ("invariant",),
    "ledgers": ("scenario_id", "topic", "partition", "ledger"),
    "outcomes": ("scenario_id", "topic", "partition"),
    "replicas": ("scenario_id", "topic", "partition", "broker"),
    "trace": ("scenario_id", "topic", "partition", "round", "broker"),
    "trace_partitions": ("scenario_id", "topic", "partition", "round"),
}
"""Columns that name a row; of other tables whole rows come and go."""

OF_VIEWS = ("empty-isr",)
"""Reasons that are about a view itself: it has other rows over the golden tables, too."""

ASKED_OTHERWISE = ("ledger-questions", "ledgers-in-tiers")
"""Reasons that are about a question, or a view: its golden answer is no answer any more, only today's, and the worked one of
outcomes/data/answers."""

Line = dict[str, Any]


def is_asked_otherwise(scenario: str, name: str) -> bool:
    """Whether a question of today is another one than that of the golden."""
    return any(line["table"] == name and line["why"] in ASKED_OTHERWISE for line in _lines(scenario))


@cache
def _lines(scenario: str) -> list[Line]:
    path = CHANGED / f"{scenario}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def of_views(scenario: str, name: str, columns: list[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The golden rows of a view, or of a question's answer, as the view has them today over the golden tables."""
    lines = [line for line in _lines(scenario) if line["table"] == name and line["why"] in OF_VIEWS]
    gone = [line["gone"] for line in lines if "gone" in line]
    come = [dict(zip(columns, line["come"], strict=True)) for line in lines if "come" in line]
    return [row for row in rows if [row[column] for column in columns] not in gone] + come


def undo_rows(scenario: str, name: str, table: Table) -> list[str]:
    """Take a table of today back to its golden; what of the lines is not so."""
    path = CHANGED / f"{scenario}.jsonl"
    lines = [line for line in _lines(scenario) if line["table"] == name]
    if not lines:
        return []
    columns, problems = list(table.columns), []
    by_text: dict[str, list[list[Any]]] = {}  # a row may be there twice
    for row in table.rows:
        by_text.setdefault(json.dumps(row), []).append(row)
    places = [columns.index(column) for column in KEYS.get(name, ())]
    by_key = {tuple(row[at] for at in places): row for row in table.rows}
    for line in lines:
        if "come" in line:
            if not (alike := by_text.get(json.dumps(line["come"]))):
                problems.append(f"{path.name}: {name} has no such row: {line['come']}")
            else:
                alike.pop()
        if "key" in line:
            row = by_key.get(tuple(line["key"]))
            for column, (old, new) in line["cells"].items():
                if row is None or row[columns.index(column)] != new:
                    problems.append(f"{path.name}: {name}: {column} of {line['key']} is not {new}")
                    continue
                row[columns.index(column)] = old
    kept = [row for alike in by_text.values() for row in alike]
    table.rows[:] = [*kept, *(line["gone"] for line in lines if "gone" in line)]
    table.sort()
    return problems
