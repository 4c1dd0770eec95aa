"""What a golden scenario shows: which names of the inventory its file uses, and its tables have something for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import tomli

from tests.golden.cases import SCENARIOS
from tests.golden.take import TABLES

NOTHING = (None, 0, 0.0, False, "", [], {})
"""Cells that show nothing."""


@cache
def shown(case: str) -> dict[str, set[str]]:
    """Names by category of the inventory."""
    given = tomli.loads((SCENARIOS / f"{case}.toml").read_text("utf-8"))
    wholes = [given, *given.get("variants", [])]
    kinds = {table: {row["kind"] for whole in wholes for row in whole.get(table, []) if "kind" in row} for table in LISTS}
    told = {path.stem: _columns_told(path.read_text("utf-8").splitlines()) for path in (TABLES / case).glob("*.jsonl")}
    events, violations = (whole_rows(case, name) for name in ("events", "violations"))
    return {
        "tables": {name for name, columns in told.items() if columns},
        "columns": {f"{name}.{column}" for name, columns in told.items() for column in columns},
        "views": {name for name, columns in told.items() if columns},
        "questions": {name.removeprefix("ask_") for name, columns in told.items() if columns and name.startswith("ask_")},
        "scenario_keys": {key for whole in wholes for key in _keys(whole, "")} | {f"variants.{key}" for key in ("name",)},
        "config_keys": {key for whole in wholes for key in _config_keys(whole)},
        "faults": kinds["faults"],
        "generators": kinds["fault_generators"],
        "commands": kinds["commands"],
        "protocols": {whole["protocol"] for whole in wholes if "protocol" in whole} | ({"kafka"} - given.keys()),
        "events": {row["kind"] for row in events},
        "invariants": {row["invariant"] for row in violations},
    }


LISTS = ("faults", "fault_generators", "commands")


@cache
def whole_rows(case: str, table: str) -> list[dict[str, Any]]:
    """The rows of a table that is stored whole; none of another."""
    path = TABLES / case / f"{table}.jsonl"
    if not path.exists():
        return []
    head, *rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [dict(zip(head["columns"], row, strict=True)) for row in rows if isinstance(row, list)]


def _columns_told(lines: list[str]) -> set[str]:
    """The columns of a table that have some cell which is not nothing."""
    head, *rest = map(json.loads, lines)
    columns = list(head["columns"])
    if not rest or isinstance(rest[0], list):
        return {name for at, name in enumerate(columns) if any(row[at] not in NOTHING for row in rest)}
    empty = {_sha256_of_same(cell, head["rows"]) for cell in NOTHING}
    return {line["column"] for line in rest if "column" in line and line["sha256"] not in empty}


def _sha256_of_same(cell: Any, rows: int) -> str:
    return hashlib.sha256((json.dumps(cell) + "\n").encode() * rows).hexdigest()


def _keys(given: Mapping[str, Any], before: str) -> Iterator[str]:
    """Dotted paths of all keys; of a generator with its kind; what is in a config is none."""
    for key, value in given.items():
        yield f"{before}{key}"
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping) and key not in ("config", "features", "variants"):
                kind = f"{inner['kind']}." if key == "fault_generators" else ""
                yield from _keys(inner, f"{before}{key}.{kind}")


def _config_keys(given: Any) -> Iterator[str]:
    if isinstance(given, list):
        for inner in given:
            yield from _config_keys(inner)
    elif isinstance(given, Mapping):
        yield from given.get("config", {})
        for inner in given.values():
            yield from _config_keys(inner)
