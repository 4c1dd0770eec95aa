"""Names the places of a scenario file in messages, and turns a shape's complaint into the one-line error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from emulator.errors import InputError, did_you_mean, listing, one_line, quoted

Location = tuple[str | int, ...]

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
TYPES_ALLOWED: Mapping[str, str] = {
    "int_type": "an integer",
    "float_type": "a number",
    "string_type": "a string",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


@dataclass(frozen=True)
class Places:
    """The spots of one resolved scenario in its file.

    `data`: the file's tables, merged with a variant's. `prefix`: the variant, as the file has it. `origins`: for
    entries of merged lists, by location, where the file has them.
    """

    file: str
    data: Mapping[str, Any]
    prefix: str = ""
    origins: Mapping[Location, str] = field(default_factory=dict)

    def name(self, *location: str | int) -> str:
        """Returns the text for a location, such as `topics[0] (orders).config."min.insync.replicas"`."""
        text, node = "", self.data
        for depth, step in enumerate(location):
            node = _child(node, step)
            origin = self.origins.get(location[: depth + 1])
            text = origin if origin is not None else text + _step_text(step, node, first=not text)
        return ".".join(part for part in (self.prefix, text) if part) or "file"

    def is_added(self, location: Location) -> bool:
        """Whether a variant added this entry of a list, which the base has none of that name for."""
        return self.prefix.startswith("variants") and self.origins.get(location, "").startswith(f"{location[0]}[")

    def error(self, location: Location, problem: str, allowed: str | None = None) -> InputError:
        """Builds the error for a location of the file."""
        return InputError.at(self.file, self.name(*location), problem, allowed)

    def shape_error(self, error: ValidationError) -> InputError:
        """Turns the first complaint of a shape into the one-line error."""
        detail = error.errors(include_url=False)[0]
        location, problem, allowed = _describe(detail)
        return self.error(location, problem, allowed)


def entry_name(index: int, entry: object) -> str:
    """How an entry of a list of tables is named: its index, and its name if it has one."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return f"[{index}] ({one_line(name)})" if isinstance(name, str) else f"[{index}]"


def key_name(key: str) -> str:
    """A key as TOML writes it: bare, or quoted when it has other characters."""
    return one_line(key) if BARE_KEY.match(key) else quoted(key)


def _child(node: Any, step: str | int) -> Any:
    if isinstance(node, Mapping):
        return node.get(step)
    if isinstance(node, list) and isinstance(step, int) and step < len(node):
        return node[step]
    return None


def _step_text(step: str | int, node: Any, first: bool) -> str:
    if isinstance(step, int):
        return entry_name(step, node)
    return key_name(step) if first else "." + key_name(step)


def _describe(detail: ErrorDetails) -> tuple[Location, str, str | None]:
    """The location, what is wrong and what is allowed."""
    kind, location, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if kind == "unknown_key":
        key, known = context["key"], context["known"]
        return (*location, key), f"unknown key {quoted(key)}{did_you_mean(key, known)}", listing(known)
    if kind == "missing":
        return location, "is missing", "a value, it has no default"
    value = quoted(detail["input"])
    if kind == "not_a_moment":
        return location, f"{value} is no moment of a round", str(context["allowed"])
    if kind == "no_duration":
        return location, f"{value} {context['why']}", str(context["allowed"])
    if kind in TYPES_ALLOWED:
        return location, f"{value} is of the wrong type", TYPES_ALLOWED[kind]
    if kind == "literal_error":
        return location, f"{value} is not known", str(context["expected"]).replace("'", '"')
    bounds = {
        "greater_than_equal": "{ge} or more", "greater_than": "more than {gt}",
        "less_than_equal": "{le} or less", "less_than": "less than {lt}",
    }  # fmt: skip
    if kind in bounds:
        return location, f"{value} is out of range", bounds[kind].format(**context)
    if kind in ("too_short", "too_long"):
        limit = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return location, f"has {context['actual_length']} entries", f"{limit} entries"
    if kind == "string_too_short":
        return location, "is empty", f"at least {context['min_length']} character"
    if kind == "string_too_long":
        return location, f"{value} is too long", f"at most {context['max_length']} characters"
    if kind == "string_pattern_mismatch":
        return location, f"{value} has characters it must not have", "1 to 249 of letters, digits, '.', '_' and '-'"
    return location, f"{value}: {detail['msg']}", None
