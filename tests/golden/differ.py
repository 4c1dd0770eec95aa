"""Rows of golden tables that are otherwise on compiled rounds: changed/SCENARIO.jsonl, beside the cells of changed_cells.toml.

A line is {"table", "why", "key", "cells"}: of the row with this key, each such cell as [in the golden, now]; or a whole row,
{"table", "why", "gone"} or {"table", "why", "come"}. `why` names a reason of changed_cells.toml, which says who decided. Written
once, by `python -m tests.golden.differ SCENARIO ...`, from a run of both engines, as long as both are there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emulator.session import get_session
from tests.golden.cases import BY_NAME, Case, run_case
from tests.golden.tables import Table, golden_lines
from tests.golden.take import TABLES

CHANGED = Path(__file__).with_name("changed")

KEYS = {
    "broker_rounds": ("scenario_id", "broker", "from_round"),
    "ledgers": ("scenario_id", "topic", "partition", "ledger"),
    "outcomes": ("scenario_id", "topic", "partition"),
    "replicas": ("scenario_id", "topic", "partition", "broker"),
    "trace": ("scenario_id", "topic", "partition", "round", "broker"),
    "trace_partitions": ("scenario_id", "topic", "partition", "round"),
}
"""Columns that name a row; of other tables whole rows come and go."""

Line = dict[str, Any]


def differing_rows(name: str, old: Table, new: Table) -> list[Line]:
    """The lines of a table, without their reasons."""
    columns = list(old.columns)
    gone, come = _only_in(old, new), _only_in(new, old)
    if name not in KEYS:
        return [*({"table": name, "gone": row} for row in gone), *({"table": name, "come": row} for row in come)]
    places = [columns.index(column) for column in KEYS[name]]
    before, after = ({tuple(row[at] for at in places): row for row in rows} for rows in (gone, come))
    lines: list[Line] = [{"table": name, "gone": before[key]} for key in before.keys() - after.keys()]
    lines += [{"table": name, "come": after[key]} for key in after.keys() - before.keys()]
    for key in sorted(before.keys() & after.keys(), key=str):
        pairs = zip(columns, before[key], after[key], strict=True)
        lines.append({"table": name, "key": list(key), "cells": {c: [o, n] for c, o, n in pairs if o != n}})
    return lines


def _only_in(one: Table, other: Table) -> list[list[Any]]:
    there = {json.dumps(row) for row in other.rows}
    return [row for row in one.rows if json.dumps(row) not in there]


def undo_rows(scenario: str, name: str, table: Table) -> list[str]:
    """Take a table of today back to its golden; what of the lines is not so."""
    path = CHANGED / f"{scenario}.jsonl"
    lines: list[Line] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    lines = [line for line in lines if line["table"] == name]
    if not lines:
        return []
    columns, problems = list(table.columns), []
    by_text = {json.dumps(row): row for row in table.rows}
    places = [columns.index(column) for column in KEYS.get(name, ())]
    by_key = {tuple(row[at] for at in places): row for row in table.rows}
    for line in lines:
        if "come" in line and by_text.pop(json.dumps(line["come"]), None) is None:
            problems.append(f"{path.name}: {name} has no such row: {line['come']}")
        if "key" in line:
            row = by_key.get(tuple(line["key"]))
            for column, (old, new) in line["cells"].items():
                if row is None or row[columns.index(column)] != new:
                    problems.append(f"{path.name}: {name}: {column} of {line['key']} is not {new}")
                    continue
                row[columns.index(column)] = old
    table.rows[:] = [*by_text.values(), *(line["gone"] for line in lines if "gone" in line)]
    table.sort()
    return problems


def reason(scenario: str, line: Line) -> str:
    """Which of the reasons a line has, by what of it differs."""
    cells = line.get("cells", {})
    if line["table"] == "trace" and set(cells) == {"fetch_state"}:
        return "unanswered"
    if cells and set(cells) <= {"local_bytes"} and scenario.startswith("core_random"):
        return "empty-log"
    if scenario == "core_random_elr" and line["table"] == "events":
        return "no-epoch"
    own = {
        "core_imported": "own-bytes",
        "core_initial_logs": "cache-of-its-own",
        "tiered_mutants": "tier-mutants",
        "ledgers": "refused-at-once",
    }
    return own.get(scenario, "mutants")


def write(case: Case, spark: SparkSession, folder: Path) -> None:
    """Run a case on both engines and write the lines of what differs."""
    (folder / "old").mkdir(parents=True)
    (folder / "new").mkdir()
    old, new = run_case(case, spark, folder / "old", "expressions"), run_case(case, spark, folder / "new")
    lines = []
    for name in old:
        golden = (TABLES / case.name / f"{name}.jsonl").read_text().splitlines()
        if golden_lines(name, old[name]) != golden:
            print(f"{case.name}, {name}: the engine of before does not give the golden")
            continue
        lines += [{**line, "why": reason(case.name, line)} for line in differing_rows(name, old[name], new[name])]
    CHANGED.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n" for line in lines)
    (CHANGED / f"{case.name}.jsonl").write_text(text)
    print(f"{case.name}: {len(lines)} lines", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        session = get_session(master="local[2]", conf={"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "2"})
        for scenario in sys.argv[1:]:
            write(BY_NAME[scenario], session, Path(scratch) / scenario)
