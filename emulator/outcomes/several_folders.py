"""The tables of several runs as those of one, in DuckDB: each folder's scenarios after those of the folder before."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.outcomes.view_texts import ALL_COLUMNS


def as_one(table: str, selects: Sequence[str], firsts: Sequence[int], labels: Sequence[str]) -> str:
    """The query of a table of all folders, from the query of it in each of them.

    `firsts`: what is added to the scenario_id of each; `labels`: what stands before the names of its scenarios, and of what
    sweeps made of them.
    """
    if len(selects) == 1:
        return selects[0]
    shifted = [
        f"SELECT * {_replaced(table, first, label)} FROM ({select})"
        for select, first, label in zip(selects, firsts, labels, strict=True)
    ]
    return " UNION ALL BY NAME ".join(shifted)


def labels_of(uris: Sequence[str]) -> list[str]:
    """What folders are called by: their last names, or their addresses as they are given where two have the same one."""
    names = [uri.rstrip("/").rpartition("/")[2] for uri in uris]
    return names if len(set(names)) == len(names) else list(uris)


def _replaced(table: str, first: int, label: str) -> str:
    if all(column.name != "scenario_id" for column in ALL_COLUMNS[table]):
        return ""
    replaced = [f"CAST(scenario_id + {first} AS INTEGER) AS scenario_id"]
    if table == "scenarios":
        prefix = "'" + f"{label}: ".replace("'", "''") + "'"
        variant = f"MAP {{'sweep.variant': {prefix} || coalesce(overrides['sweep.variant'], 'base')}}"
        of_sweep = f"CASE WHEN overrides['sweep.seed'] IS NULL THEN overrides ELSE map_concat(overrides, {variant}) END"
        replaced += [f"{prefix} || name AS name", f"{of_sweep} AS overrides"]
    return f"REPLACE ({', '.join(replaced)})"
