"""Deep-merges a variant over the base, and says what it changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from emulator.errors import did_you_mean, listing, quoted
from emulator.scenario.places import Location, Places, entry_name, key_name
from emulator.scenario.shapes import ScenarioShape

BASE_NAME = "base"
MAX_NAME_CHARS = 200
NOT_IN_VARIANTS = ("mode", "time_buckets", "variants", "sweeps")

# Keys that say the same thing in different ways: a variant that gives one takes back the others of the base.
_OF_COPYSETS = ("scatter_width", "backup_racks")
_PLACED = ("partitions", "replication_factor", "placement", "placement_start", "placement_shift", *_OF_COPYSETS)
_UNIFORM = ("duration_rounds_min", "duration_rounds_max")
SUPERSEDES: Mapping[str, tuple[str, ...]] = {
    "brokers": ("brokers_file", "import", "scale"),
    "brokers_file": ("brokers", "first_broker_id", "racks", "import", "scale"),
    "import": ("brokers", "first_broker_id", "brokers_file"),
    "assignment": _PLACED,
    **dict.fromkeys(_PLACED, ("assignment",)),
    "placement": ("assignment", *_OF_COPYSETS),
    "mean_duration_rounds": _UNIFORM,
    **dict.fromkeys(_UNIFORM, ("mean_duration_rounds",)),
}


def check_variants(places: Places) -> list[dict[str, Any]]:
    """Returns the file's variants, each a table with a name of its own.

    Raises InputError when `variants` is something else, or a variant gives a key that variants must not.
    """
    variants = places.data.get("variants", [])
    if not _is_tables(variants):
        raise places.error(("variants",), "is not a list of tables", "[[variants]] tables, each with a name")
    allowed = [key for key in ScenarioShape.model_fields if key not in NOT_IN_VARIANTS]
    seen = {BASE_NAME}
    for index, variant in enumerate(variants):
        here: Location = ("variants", index)
        name = variant.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS:
            found = "is missing" if name is None else f"{quoted(name)} is not a name"
            raise places.error((*here, "name"), found, f"a string of 1 to {MAX_NAME_CHARS} characters")
        if name in seen:
            raise places.error((*here, "name"), f"{quoted(name)} is taken", 'a name of its own, other than "base"')
        seen.add(name)
        for key in variant:
            if key in NOT_IN_VARIANTS:
                raise places.error((*here, key), f"{quoted(key)} cannot differ between variants", listing(allowed))
            if key not in allowed:
                raise places.error((*here, key), f"unknown key {quoted(key)}{did_you_mean(key, allowed)}", listing(allowed))
    return list(variants)


def merge_variant(places: Places, index: int) -> Places:
    """Merges variant `index` over the base: tables by key, lists of tables by `name`, all else replaced.

    A list entry is merged into every entry of the base with its name, and appended if there is none. Returns the
    places of the merged file, which name what they come from.
    """
    variant = places.data["variants"][index]
    change = {key: value for key, value in variant.items() if key != "name"}
    return merge_change(places, change, "variants" + entry_name(index, variant))


def merge_change(places: Places, change: Mapping[str, Any], prefix: str) -> Places:
    """Merges what variants or cases of sweeps change, as merge_variant does. `prefix`: where the file says so."""
    base = {key: value for key, value in places.data.items() if key not in ("variants", "sweeps")}
    origins: dict[Location, str] = {}
    merged = _merge_tables(base, change, (), "", origins)
    return Places(places.file, merged, prefix, origins)


def list_overrides(variant: Mapping[str, Any]) -> dict[str, str]:
    """Returns what a variant changes: dotted place -> value as JSON; entries of lists go by name, else by index."""
    changes: dict[str, str] = {}
    for key, value in variant.items():
        if key != "name":
            _flatten(value, key, changes)
    return changes


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)


def _merge_tables(
    base: Mapping[str, Any], change: Mapping[str, Any], location: Location, path: str, origins: dict[Location, str]
) -> dict[str, Any]:
    superseded = {other for key in change for other in SUPERSEDES.get(key, ())} - set(change)
    merged = {key: value for key, value in base.items() if key not in superseded}
    for key in merged.keys() - change.keys():
        kept: Location = (*location, key)
        origins[kept] = f"{BASE_NAME}.{_joined(path, key)}"
    for key, value in change.items():
        old = merged.get(key)
        here, inner = (*location, key), _joined(path, key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merge_tables(old, value, here, inner, origins)
        elif _is_tables(value) and (old is None or _is_tables(old)) and (value or old):
            merged[key] = _merge_lists(old or [], value, here, inner, origins)
        else:
            merged[key] = value
    return merged


def _merge_lists(
    base: list[dict[str, Any]],
    change: list[dict[str, Any]],
    location: Location,
    path: str,
    origins: dict[Location, str],
) -> list[dict[str, Any]]:
    merged = list(base)
    for index, entry in enumerate(base):
        inherited: Location = (*location, index)
        origins[inherited] = f"{BASE_NAME}.{path}{entry_name(index, entry)}"
    for index, entry in enumerate(change):
        name = entry.get("name")
        matches = [i for i, old in enumerate(base) if isinstance(name, str) and old.get("name") == name]
        for i in matches:
            named = _joined(path, str(name))
            here: Location = (*location, i)
            origins[here] = named
            merged[i] = _merge_tables(merged[i], entry, here, named, origins)
        if not matches:
            own: Location = (*location, len(merged))
            origins[own] = path + entry_name(index, entry)
            merged.append(entry)
    return merged


def _joined(path: str, key: str) -> str:
    return f"{path}.{key_name(key)}" if path else key_name(key)


def _flatten(value: Any, place: str, changes: dict[str, str]) -> None:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            if key != "name" or not place.endswith("." + str(inner)):
                _flatten(inner, f"{place}.{key}", changes)
    elif _is_tables(value) and value:
        for index, entry in enumerate(value):
            name = entry.get("name")
            _flatten(entry, f"{place}.{name}" if isinstance(name, str) else f"{place}[{index}]", changes)
    else:
        changes[place] = json.dumps(value, default=str)
