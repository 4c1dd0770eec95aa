"""Writes TOML: what the generators of scenario files need of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def table(name: str, row: Mapping[str, Any]) -> list[str]:
    """One entry of the array of tables `name` as lines."""
    return [f"[[{name}]]", *(f"{key} = {value(of_key)}" for key, of_key in row.items())]


def value(of: Any) -> str:
    """A TOML value: JSON but for tables.

    >>> value({"a.b": [1, True], "c": "d"})
    '{ "a.b" = [1, true], "c" = "d" }'
    """
    if isinstance(of, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {value(one)}" for key, one in of.items()) + " }"
    if isinstance(of, list):
        return "[" + ", ".join(map(value, of)) + "]"
    return json.dumps(of)
