"""The documentation names every key and every column there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from pydantic import BaseModel

from emulator.faults.generator_kinds import GENERATORS
from emulator.faults.kinds import FAULT_KINDS
from emulator.graphs.schema import GRAPH_TABLES
from emulator.outcomes import queries
from emulator.outcomes.view_texts import HELPER_VIEWS
from emulator.scenario import load_run, shapes
from emulator.scenario.commands import COMMAND_KINDS
from emulator.scenario.config_keys import KEYS
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.asked import ask

ROOT = Path(__file__).parents[1]
TABLES = (ROOT / "docs" / "tables.md").read_text("utf-8")
GRAPHS = (ROOT / "docs" / "graphs.md").read_text("utf-8")
SCENARIO_FILE = (ROOT / "docs" / "scenario_file.md").read_text("utf-8")
SHAPES = [
    value
    for value in vars(shapes).values()
    if isinstance(value, type) and issubclass(value, shapes.Shape) and value is not shapes.Shape
]


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


def test_views(tmp_path: Path) -> None:
    """Each has a row, which ends with its columns."""
    (tmp_path / "scenarios").mkdir()
    for view in HELPER_VIEWS:
        row = re.search(rf"^\| {view} \|.*\|$", section_of(TABLES, "Views on top"), re.MULTILINE)
        assert row is not None, view
        assert row.group().endswith(f"| {', '.join(ask(tmp_path, f'SELECT * FROM {view}')[0])} |"), view


INITIAL = "[[initial.replicas]] and [[initial.partitions]]"
PLACES = {
    "ScaleShape": ("[cluster]", "`[cluster.scale]` makes"),
    "ClusterShape": ("[cluster]", ""),
    "TopicShape": ("[[topics]]", ""),
    "WorkloadShape": ("[[workload]]", ""),
    "ConsumerShape": ("[[consumers]]", ""),
    "FaultShape": ("[[faults]]", ""),
    "SweepShape": ("[[sweeps]]", ""),
    "CommandShape": ("[[commands]]", ""),
    "InitialPartitionShape": (INITIAL, "| initial.partitions |"),
    "InitialReplicaShape": (INITIAL, "| initial.replicas |"),
    "InitialRemoteSegmentShape": (INITIAL, "| initial.remote_segments |"),
    "FragmentShape": (INITIAL, "| initial.ledgers |"),
    "InitialLedgerShape": (INITIAL, "| initial.ledgers |"),
    "RemoteStorageShape": ("[remote_storage]", ""),
    "InitialShape": (INITIAL, ""),
    "ScenarioShape": ("Top level", ""),
}
"""Where the page tells of a shape: the section, and how the lines in it begin; "": tables of the section, and what is code."""
ELSEWHERE = {("CommandShape", "retry"): "## Ledgers", ("ScenarioShape", "remote_storage"): "## [remote_storage]"}
"""Keys that another section tells of."""


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_keys_of_the_scenario_file(shape: type[BaseModel]) -> None:
    """Each key in the words of its own shape: in a cell of its table, or as code."""
    section, paragraph = PLACES[shape.__name__]
    told = told_in(section_of(SCENARIO_FILE, section), paragraph)
    for name, field in shape.model_fields.items():
        key = field.alias or name
        if (shape.__name__, key) in ELSEWHERE:
            assert key in section_of(SCENARIO_FILE, ELSEWHERE[shape.__name__, key].removeprefix("## "), whole=True)
        else:
            assert key in told, key


def test_a_key_that_stands_elsewhere_only_is_not_told() -> None:
    section = "| key | meaning |\n|---|---|\n| rounds, round_ms | in seed |\n\nSee `mode`: name.\n"
    assert told_in(section, "") == {"key", "meaning", "rounds", "round_ms", "in", "seed", "mode"}
    assert section_of("## A\nx\n## B\ny\n", "A") == "x\n"


def section_of(page: str, heading: str, whole: bool = False) -> str:
    """The text below a heading, to the next of any level; `whole`: of the same level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^##{' ' if whole else ''}|\Z)", page, re.DOTALL | re.MULTILINE)
    assert found is not None, heading
    return found.group(1)


def told_in(section: str, paragraph: str) -> set[str]:
    """The words in rows of tables and in code, of the lines from that which begins with `paragraph`, to the next empty one."""
    if paragraph:
        section = next(part[part.index(paragraph) :] for part in section.split("\n\n") if paragraph in part)
        section = section.partition("\n")[0] if paragraph.startswith("|") else section
    code = re.findall(r"`[^`]+`", section) + re.findall(r"^\|.*\|$", section, re.MULTILINE)
    return {word for one in code for word in re.findall(r"\w+", one)}


def test_kinds_and_their_keys() -> None:
    """Each kind begins a row, or a point, which has what it takes."""
    for section, kinds in (
        ("[[faults]]", {kind: (*of.required, *of.optional) for kind, of in FAULT_KINDS.items()}),
        ("[[commands]]", dict.fromkeys(COMMAND_KINDS, ())),
    ):
        text = section_of(SCENARIO_FILE, section)
        others = section_of(SCENARIO_FILE, "Ledgers", whole=True)
        for kind, keys in kinds.items():
            row = re.search(rf"^\| {kind} \|.*$", text, re.MULTILINE)
            assert row or f"`{kind}`" in others, kind
            for key in keys if row else ():
                assert re.search(rf"\b{key}\b", row.group()), (kind, key)
    text = section_of(SCENARIO_FILE, "[[fault_generators]]")
    of_all = text[text.index("The first two") :]
    for kind, generator in GENERATORS.items():
        point = re.search(rf"^- `{kind}`:.*?(?=^- |^$)", text, re.DOTALL | re.MULTILINE)
        assert point is not None, kind
        for parameter in generator.parameters:
            assert f"`{parameter}`" in point.group() + of_all, (kind, parameter)


def test_config_keys_and_their_defaults() -> None:
    for key in KEYS.values():
        if key.effect:
            assert re.search(rf"[(| `,]{re.escape(key.name)}[`, |=:)]", SCENARIO_FILE), key.name
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
