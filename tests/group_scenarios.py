"""Scenarios of groups for tests, and the tables of a run's groups, played as one block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emulator.engine.play_group_blocks import group_payload, play_group_payload
from emulator.inputs.quorum_arrays.prepare import PreparedGroups
from emulator.outcomes.compiled_ledgers import ledger_names
from emulator.scenario import Run, load_run


def tables_of(run: Run) -> dict[str, list[dict[str, Any]]]:
    """The rows of a block with all groups of a run."""
    groups = PreparedGroups(run.scenarios)
    names = ledger_names(run.scenarios, *groups.numbers(0, groups.count))
    tables = play_group_payload(0, group_payload(names, groups.payload(0, groups.count)))
    return {name: table.to_pylist() for name, table in tables.items()}


def example(name: str) -> Run:
    """A scenario file that the pages name."""
    return load_run(str(Path(__file__).parents[1] / "datasets" / "examples" / f"{name}.toml"))


def load(folder: Path, text: str) -> Run:
    path = folder / "scenario.toml"
    path.write_text(text)
    return load_run(str(path))
