"""Parses the text of a scenario file, whatever is in it."""

from __future__ import annotations

import re
from typing import Any

import tomli

from emulator.errors import InputError
from emulator.scenario.table_files import WHOLE_FILE, read_bytes

MAX_FILE_BYTES = 64 * 2**20
MAX_KEY_PARTS = 100
SCENARIO_ALLOWED = "a scenario as TOML text in UTF-8"
POSITION = re.compile(r"\s*\((?:at )?(line \d+, column \d+|(?:at )?end of document)\)\Z")
BETWEEN_KEYS = re.compile(r"[=\[\]{},#]+")
DOT_OF_KEY = re.compile(r"""[\w"'-][ \t]*\.""")


def read_toml(path: str, allowed: str = SCENARIO_ALLOWED) -> tuple[str, dict[str, Any]]:
    """Reads a TOML file; returns its text and its tables. `allowed`: what it should be, for messages.

    Raises InputError when it is missing, larger than MAX_FILE_BYTES, empty, binary, or not TOML.
    """
    data = read_bytes(path, MAX_FILE_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError.at(path, f"line {line}", "is not UTF-8 text", allowed) from None
    if not text.strip():
        raise InputError.at(path, WHOLE_FILE, "is empty", allowed)
    text = text.replace("\r\n", "\n")
    return text, parse_toml(path, text, allowed)


def parse_toml(path: str, text: str, allowed: str = SCENARIO_ALLOWED) -> dict[str, Any]:
    """Returns the tables of a TOML file's text; `path` is for messages. Raises InputError when it is not TOML."""
    _refuse_endless_keys(path, text)
    try:
        return tomli.loads(text)
    except RecursionError:
        raise InputError.at(path, WHOLE_FILE, "is nested too deeply", allowed) from None
    except ValueError as error:
        message = str(error)
        position = POSITION.search(message)
        place = position.group(1) if position else WHOLE_FILE
        raise InputError.at(path, place, f"is not TOML: {POSITION.sub('', message)}", allowed) from None


def _refuse_endless_keys(path: str, text: str) -> None:
    """Refuses keys of very many dotted parts, which take the parser quadratic time."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_KEY_PARTS and max(map(_dots, BETWEEN_KEYS.split(line))) > MAX_KEY_PARTS:
            raise InputError.at(path, f"line {number}", "has a key of too many parts", f"up to {MAX_KEY_PARTS} parts")


def _dots(text: str) -> int:
    return len(DOT_OF_KEY.findall(text))
