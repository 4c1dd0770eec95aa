"""What a table has otherwise than its golden, in lines to read."""

from __future__ import annotations

import json
from typing import Any

FIRST = 10
"""So many differences of a table are told."""


def differing_lines(golden: list[str] | None, now: list[str]) -> list[str]:
    """The first differences of two tables, both as lines of a golden; none if they are the same.

    A table that came after the goldens has none; it is empty in their scenarios.
    """
    if golden is None:
        return ["has no golden"] if len(now) > 1 else []
    if golden == now:
        return []
    (was, *old), (head, *new) = map(json.loads, golden), map(json.loads, now)
    lines = _of_heads(was, head)
    if was["columns"] != head["columns"]:
        return lines
    if any(isinstance(line, dict) for line in (*old, *new)):
        lines += _of_digests(old, new)
    else:
        lines += _of_rows(list(head["columns"]), old, new)
    return [*lines[:FIRST], f"and {len(lines) - FIRST} more"] if len(lines) > FIRST else lines


def _of_heads(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    lines = [f"has {now['rows']} rows, was {was['rows']}"] if now["rows"] != was["rows"] else []
    old, new = was["columns"], now["columns"]
    others = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    lines += [f"column {name} is {new.get(name)}, was {old.get(name)}" for name in others]
    if not lines and list(old) != list(new):
        lines.append(f"columns stand as {list(new)}, were {list(old)}")
    return lines


def _of_digests(old: list[Any], new: list[Any]) -> list[str]:
    if not all(isinstance(line, dict) for line in (*old, *new)):
        return ["has digests on one side only: its size is otherwise"]
    columns = {line["column"]: line["sha256"] for line in old if "column" in line}
    lines = [f"column {line['column']} differs" for line in new if "column" in line and columns[line["column"]] != line["sha256"]]
    before, after = ({line["scenario_id"]: line for line in part if "scenario_id" in line} for part in (old, new))
    for scenario_id in sorted({*before, *after}):
        one, other = before.get(scenario_id, {}), after.get(scenario_id, {})
        if one.get("sha256") != other.get("sha256"):
            lines.append(f"rows of scenario {scenario_id} differ ({other.get('rows', 0)}, were {one.get('rows', 0)})")
    return lines


def _of_rows(columns: list[str], old: list[list[Any]], new: list[list[Any]]) -> list[str]:
    """Rows that are gone and rows that are new; a pair of them that has the same first cells is told by its other cells."""
    kept = {json.dumps(row) for row in new}, {json.dumps(row) for row in old}
    gone = [row for row in old if json.dumps(row) not in kept[0]]
    come = [row for row in new if json.dumps(row) not in kept[1]]
    lines = []
    for row in gone:
        like = max(come, key=lambda other: _alike(row, other), default=None)
        if like is None or _alike(row, like) < (len(columns) + 1) // 2:
            lines.append(f"is gone: {_told(columns, row)}")
            continue
        come.remove(like)
        cells = zip(columns, row, like, strict=True)
        same = [(name, cell) for name, cell, other in cells if cell == other][:6]
        cells = zip(columns, row, like, strict=True)
        place = " ".join(f"{name}={cell}" for name, cell in same)
        lines += [f"{name} is {other}, was {cell}, of the row {place}" for name, cell, other in cells if cell != other]
    return lines + [f"is new: {_told(columns, row)}" for row in come]


def _alike(row: list[Any], other: list[Any]) -> int:
    return sum(one == two for one, two in zip(row, other, strict=True))


def _told(columns: list[str], row: list[Any]) -> str:
    return " ".join(f"{name}={cell}" for name, cell in zip(columns, row, strict=True) if cell is not None)
