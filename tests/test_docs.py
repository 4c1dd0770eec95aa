"""The documentation names every key and every column there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from pydantic import BaseModel

from emulator.configs import KEYS
from emulator.faults.generators import GENERATORS
from emulator.faults.kinds import FAULT_KINDS
from emulator.graphs.schema import GRAPH_TABLES
from emulator.outcomes import queries
from emulator.outcomes.view_texts import HELPER_VIEWS
from emulator.scenario import load_run, shapes
from emulator.scenario.commands import COMMAND_KINDS
from emulator.schema import OUTPUT_TABLES

ROOT = Path(__file__).parents[1]
TABLES = (ROOT / "docs" / "tables.md").read_text("utf-8")
GRAPHS = (ROOT / "docs" / "graphs.md").read_text("utf-8")
SCENARIO_FILE = (ROOT / "docs" / "scenario_file.md").read_text("utf-8")
SHAPES = [value for value in vars(shapes).values() if isinstance(value, type) and issubclass(value, shapes.Shape)]


@pytest.mark.parametrize("table", OUTPUT_TABLES)
def test_tables(table: str) -> None:
    section = re.search(rf"^## {table}$.*?(?=^## )", TABLES, re.DOTALL | re.MULTILINE)
    assert section is not None
    rows = [
        f"| {field.name} | {field.dataType.simpleString()} | {field.metadata['comment']} |"
        for field in OUTPUT_TABLES[table].fields
    ]
    assert "\n".join(["|---|---|---|", *rows, ""]) in section.group()


@pytest.mark.parametrize("table", GRAPH_TABLES)
def test_tables_of_graphs(table: str) -> None:
    rows = [f"| {f.name} | {f.dataType.simpleString()} | {f.metadata['comment']} |" for f in GRAPH_TABLES[table].fields]
    assert "\n".join([f"## {table}", "", "| column | type | meaning |", "|---|---|---|", *rows, ""]) in GRAPHS


def test_views() -> None:
    for view in HELPER_VIEWS:
        assert f"| {view} |" in TABLES


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_keys_of_the_scenario_file(shape: type[BaseModel]) -> None:
    for name, field in shape.model_fields.items():
        assert re.search(rf"\b{field.alias or name}\b", SCENARIO_FILE), name


def test_kinds_and_their_keys() -> None:
    names = [*FAULT_KINDS, *GENERATORS, *COMMAND_KINDS]
    names += [parameter for generator in GENERATORS.values() for parameter in generator.parameters]
    for name in names:
        assert re.search(rf"\b{name}\b", SCENARIO_FILE), name


def test_config_keys_and_their_defaults() -> None:
    for key in KEYS.values():
        if key.effect:
            assert key.name in SCENARIO_FILE
            if key.name == key.setting and key.default != "" and "flush" not in key.name:
                assert f"| {str(key.default).lower()} |" in SCENARIO_FILE


@pytest.mark.parametrize("page", ["docs/your_scenario.md", "docs/scenario_file.md"])
def test_the_scenarios_shown_are_valid(page: str, tmp_path: Path) -> None:
    shown = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    whole = [text for text in shown if "rounds" in text]
    assert whole
    for text in whole:
        (tmp_path / "shown.toml").write_text(text)
        assert len(load_run(str(tmp_path / "shown.toml")).scenarios) == 2


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every link within the project names a file that is there, and a heading of it."""
    for target in links_of(page):
        if "://" in target:
            continue
        name, _, heading = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        assert other.is_relative_to(ROOT), target
        assert other.exists(), target
        assert not heading or heading in anchors_of(other), target


def test_there_are_links() -> None:
    assert len(links_of(ROOT / "README.md")) > 15
    assert "limited-bandwidth" in anchors_of(ROOT / "docs" / "your_scenario.md")


def links_of(page: Path) -> list[str]:
    """Where the links and pictures of a page lead."""
    found = []
    for block in MarkdownIt().enable("table").parse(page.read_text("utf-8")):
        for token in block.children or []:
            if token.info != "auto":  # a type like struct<a:int> is taken for one
                found += [str(token.attrs[key]) for key in ("href", "src") if key in token.attrs]
    return found


def anchors_of(page: Path) -> list[str]:
    """What links can name of a page: its headings, in small letters, with dashes for blanks."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_each_bundled_question_is_found_by_what_it_answers() -> None:
    """docs/questions.md names every bundled question, and no other."""
    text = (ROOT / "docs" / "questions.md").read_text("utf-8")
    assert set(re.findall(r"@(\w+)", text)) == set(queries())
    assert [number for number in range(1, 16) if f"| {number}. " not in text] == []
