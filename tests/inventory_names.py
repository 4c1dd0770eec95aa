"""Every name that a user meets, from the code and the documentation themselves, by category.

Scenario keys are dotted paths, as in "workload.acks"; those of generators begin with "fault_generators." and the kind. Options
are named by their command, as in "import kafka --describe".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import click
from pydantic import BaseModel

from emulator.cli import commands
from emulator.faults.generator_kinds import GENERATORS
from emulator.faults.kinds import FAULT_KINDS
from emulator.outcomes import queries
from emulator.outcomes.view_texts import HELPER_VIEWS
from emulator.outcomes.views import ALL_TABLES
from emulator.scenario.commands import COMMAND_KINDS
from emulator.scenario.config_keys import KEYS
from emulator.scenario.ledger_configs import LEDGER_KEYS
from emulator.scenario.ledgers import LEDGER_COMMANDS
from emulator.scenario.protocols import PROTOCOLS
from emulator.scenario.quorum_configs import GROUP_KEYS
from emulator.scenario.shapes import ScenarioShape
from tests.golden.cases import CASES
from tests.golden.shown import shown, whole_rows

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def names() -> dict[str, list[str]]:
    """The names by category, each once, in order."""
    found = {
        "tables": list(ALL_TABLES),
        "columns": [f"{table}.{field.name}" for table, schema in ALL_TABLES.items() for field in schema.fields],
        "views": list(HELPER_VIEWS),
        "questions": list(queries()),
        "scenario_keys": [*_keys_of(ScenarioShape), *_keys_of_generators(), "variants.name"],
        "config_keys": [*(name for name, key in KEYS.items() if key.effect), *LEDGER_KEYS, *GROUP_KEYS],
        "faults": list(FAULT_KINDS),
        "generators": list(GENERATORS),
        "commands": list({**COMMAND_KINDS, **LEDGER_COMMANDS}),
        "protocols": list(PROTOCOLS),
        "events": _event_kinds(),
        "invariants": _invariants(),
        "options": list(_options(commands, "")),
        "make": _make_names(),
        "functions": _functions_shown(),
    }
    return {category: sorted(set(of_category)) for category, of_category in found.items()}


def _keys_of(shape: type[BaseModel], before: str = "") -> Iterator[str]:
    for name, field in shape.model_fields.items():
        path = f"{before}{field.alias or name}"
        yield path
        for inner in _shapes_in(field.annotation):
            if path != "sweeps.fault":  # a row of `faults`, with the same keys
                yield from _keys_of(inner, f"{path}.")


def _shapes_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _shapes_in(inner)


def _keys_of_generators() -> Iterator[str]:
    for kind, generator in GENERATORS.items():
        for parameter in generator.parameters:
            yield f"fault_generators.{kind}.{parameter}"


def _event_kinds() -> list[str]:
    """Those in the table of docs/tables.md, those of ledgers and topics in its text, and others that goldens have."""
    text = (ROOT / "docs" / "tables.md").read_text("utf-8")
    table = re.search(r"^\| kind \| what happened \|$\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    kinds = [kind for row in table[1].splitlines()[1:] for kind in row.split("|")[1].strip().split(", ")]
    of_ledgers, of_topics = text.split("## ledgers\n")[1], text.split("## topics\n")[1]
    for told in (of_ledgers.partition("has the\nkinds")[2], of_topics.partition("Events:")[2]):
        kinds += re.findall(r"`([a-z_]+)`", told.partition("\n\n")[0])
    return [*kinds, *(kind for case in CASES for kind in shown(case.name)["events"])]


def _invariants() -> list[str]:
    """Those that the goldens of a run of each system list."""
    return [row["invariant"] for case in ("core_commands", "tiered_unclean", "ledgers") for row in whole_rows(case, "invariants")]


def _options(command: click.Command, before: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _options(inner, f"{before}{name} ")
        return
    for parameter in command.params:
        told = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(click.Context(command))
        yield f"{before}{told.strip('[]')}"


def _make_names() -> list[str]:
    """Targets and variables of the Makefile."""
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    return [*phony[1].split(), *re.findall(r"^([A-Z_]+) \?=", text, re.MULTILINE)]


def _functions_shown() -> list[str]:
    """What the pages' examples in Python import from the project and give it by keyword, and the jobs they name."""
    shown = []
    for page in PAGES:
        text = page.read_text("utf-8")
        shown += re.findall(r"\bjobs/\w+\.py\b", text)
        for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            tree = list(ast.walk(ast.parse(block)))
            imported = [node for node in tree if isinstance(node, ast.ImportFrom) and node.module]
            ours = {a.name: node.module for node in imported if node.module.startswith("emulator") for a in node.names}
            shown += [f"{module}.{name}" for name, module in ours.items()]
            for call in (node for node in tree if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                if call.func.id in ours:
                    shown += [f"{ours[call.func.id]}.{call.func.id}({keyword.arg}=)" for keyword in call.keywords]
    return shown
