"""How files use each other (docs/architecture.md, Where a rule lives)."""

from __future__ import annotations

import ast
from pathlib import Path

import networkx as nx

import emulator
from emulator.packing.requirements import OF_OTHER_COMMANDS

ROOT = Path(emulator.__file__).parent.parent
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "emulator").rglob("*.py")
}


def imported(module: str) -> set[str]:
    """What a file imports, in functions and for types only as well: names of modules, or of what is in them."""
    names = set()
    for node in ast.walk(ast.parse(FILES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {name if (name := f"{node.module}.{alias.name}") in FILES else node.module for alias in node.names}
    return names


IMPORTS = {module: imported(module) for module in FILES}


def test_no_files_import_each_other_in_a_circle() -> None:
    uses = nx.DiGraph((module, used) for module, names in IMPORTS.items() for used in names & FILES.keys())
    assert len(uses) > 500
    assert [sorted(circle) for circle in nx.strongly_connected_components(uses) if len(circle) > 1] == []


def test_rounds_know_nothing_of_spark_but_for_the_relational_ones() -> None:
    users = {module for module, names in IMPORTS.items() if any(f"{name}.".startswith("pyspark.") for name in names)}
    of_rounds = {module for module in users if module.startswith("emulator.rounds.")}
    assert {module for module in of_rounds if not module.startswith("emulator.rounds.relational.")} == set()
    assert of_rounds


def test_one_file_imports_numba() -> None:
    assert [m for m, names in IMPORTS.items() if any(f"{name}.".startswith("numba.") for name in names)] == []
    assert [m for m, path in FILES.items() if 'import_module("numba' in path.read_text("utf-8")] == [
        "emulator.rounds.compiled_cache"
    ]


def test_a_run_does_with_what_an_archive_of_pack_has() -> None:
    """Wherever an import stands, but for what answers questions, and what has DuckDB play relational rounds where it is there."""
    uses = nx.DiGraph((module, used) for module, names in IMPORTS.items() for used in names & FILES.keys())
    others = ("emulator.outcomes.ask", "emulator.outcomes.result", "emulator.rounds.relational.queries.on_duckdb")
    assert [module for module in others if module not in uses] == []
    uses.remove_nodes_from(others)
    for start in ("emulator.cli.run", "emulator.cli.exits", "emulator.engine.play_blocks"):
        reached = nx.descendants(uses, start) | {start}
        assert {m for m in reached if OF_OTHER_COMMANDS & {name.partition(".")[0] for name in IMPORTS[m]}} == set()
    importers = [m for m, names in IMPORTS.items() if OF_OTHER_COMMANDS & {name.partition(".")[0] for name in names}]
    assert {name.partition(".")[0] for module in importers for name in IMPORTS[module]} >= OF_OTHER_COMMANDS
