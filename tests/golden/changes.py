"""Cells that are meant to differ from the goldens: changed_cells.toml.

    [[changed]]
    scenario = "core_commands"                # a golden scenario, or "*": all of them that have the row
    table = "events"
    key = { scenario_id = 0, topic = "pay", partition = 1, round = 12, kind = "election" }
    column = "cause"
    old = 3                                   # as in the golden; absent: null
    new = 4                                   # as it is now; absent: null
    source = "docs/kafka_rounds.md, step 2"   # who decided

`key` names columns, and values as they are now, that one row only has. With column "*" a whole row is meant, of which `old` and
`new` are tables: without `old` it is one more, without `new` it is gone. It has no `key`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli

from tests.golden.tables import Table

FILE = Path(__file__).with_name("changed_cells.toml")
ROW = EVERY = "*"
KEYS = {"scenario", "table", "key", "column", "old", "new", "source"}

Change = dict[str, Any]


def read_changes(path: Path = FILE) -> list[Change]:
    """All of them, each checked to say what it has to."""
    changes: list[Change] = tomli.loads(path.read_text()).get("changed", [])
    for change in changes:
        missing = {"scenario", "table", "column", "source"} - change.keys()
        if missing or change.keys() - KEYS or not change["source"].strip():
            raise ValueError(f"{path.name}: {change}: missing {sorted(missing)}, or other keys than {sorted(KEYS)}, or no source")
    return changes


def read_reasons(path: Path = FILE) -> dict[str, str]:
    """The reasons of changed/*.jsonl (differ.py), by name: what is so, and who says it."""
    reasons: dict[str, str] = tomli.loads(path.read_text()).get("reasons", {})
    return reasons


def undo(changes: list[Change], scenario: str, name: str, table: Table) -> list[str]:
    """Take the changes of a table of today back, so that it has to be the golden; return what of them is not so."""
    problems = []
    own = [change for change in changes if change["table"] == name and change["scenario"] in (scenario, EVERY)]
    for change in own:
        problem = _undo_one(change, table)
        if problem:
            problems.append(f"{FILE.name}: {problem}: {change}")
    if own:
        table.sort()
    return problems


def _undo_one(change: Change, table: Table) -> str | None:
    names = list(table.columns)
    whole = change["column"] == ROW
    if whole and "new" not in change:
        table.rows.append([change["old"].get(column) for column in names])
        return None
    key = change["new"] if whole else change["key"]
    if not key.keys() <= set(names) or not whole and change["column"] not in names:
        return "the table has no such column"
    found = [row for row in table.rows if all(row[names.index(column)] == value for column, value in key.items())]
    if not found and not whole and change["scenario"] == EVERY:
        return None
    if len(found) != 1:
        return f"{len(found)} rows have this key"
    row = found[0]
    if whole:
        at = next(at for at, one in enumerate(table.rows) if one is row)
        table.rows[at : at + 1] = [[change["old"].get(column) for column in names]] if "old" in change else []
        return None
    cell = names.index(change["column"])
    if row[cell] != change.get("new"):
        return f"it is {row[cell]!r}"
    row[cell] = change.get("old")
    return None
