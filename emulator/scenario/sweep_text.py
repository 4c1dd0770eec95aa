"""The sweeps that a command line asks for, as text of a scenario file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from emulator.errors import InputError


def sweep_text(
    path: str, each: str | None, fault: Mapping[str, Any] | None, settings: Sequence[tuple[str | None, str, Sequence[Any]]],
    seeds: int | None,
) -> str:  # fmt: skip
    """The [[sweeps]] of a scenario file that say what a command line asks for; none of anything is no text.

    `settings`: (topic or None, setting, values). Raises InputError for a fault without `each`, and the other way round.
    """
    if (each is None) != (fault is None):
        raise InputError.at(path, "--each" if fault is None else "--fault", "stands alone", "--each and --fault together")
    sweeps: list[dict[str, Any]] = []
    if each is not None and fault is not None:
        sweeps.append({"each": each, "fault": fault})
    sweeps += [{"topic": topic, "set": name, "values": list(values)} for topic, name, values in settings]
    if seeds is not None:
        sweeps.append({"seeds": seeds})
    return "".join(f"\n[[sweeps]]\n{_toml_lines(sweep)}" for sweep in sweeps)


def _toml_lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_toml(value)}\n" for key, value in table.items() if value is not None)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)  # strings, integers and booleans are written alike
