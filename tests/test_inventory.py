"""Every name that a user meets stands in inventory.toml, with a test that uses it.

A test is "path::name"; of the goldens' one with its scenario in brackets, and then the scenario's own file and tables must show
the name (golden/shown.py): a key is set, a column has a cell that is not empty, an event or a violated invariant is there. Any
other test in brackets takes its cases from files, and has one of this name. Else the test's file must have the name as a word,
and of a key or column its table's. Tests of the reference do not count.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import tomli

from tests.golden.cases import BY_NAME
from tests.golden.shown import shown
from tests.inventory_names import names

ROOT = Path(__file__).parents[1]
GOLDEN = "tests/golden/test_golden.py::test_tables_are_golden"

Inventory = dict[str, dict[str, str]]


@cache
def inventory() -> Inventory:
    found: Inventory = tomli.loads((ROOT / "tests" / "inventory.toml").read_text("utf-8"))
    return found


@cache
def names_there_are() -> dict[str, list[str]]:
    return names()


def test_categories() -> None:
    assert inventory().keys() == names_there_are().keys()


@pytest.mark.parametrize("category", names())
def test_every_name_is_there(category: str) -> None:
    there_are, listed = set(names_there_are()[category]), set(inventory()[category])
    assert not there_are - listed, f"without a line in inventory.toml, [{category}]: {sorted(there_are - listed)}"
    assert not listed - there_are, f"nothing has these names any more: {sorted(listed - there_are)}"


@pytest.mark.parametrize("category", names())
def test_tests_use_what_they_are_named_for(category: str) -> None:
    problems = [
        f"{name}: {problem}"
        for name, test in inventory()[category].items()
        if test
        for problem in _problems(category, name, test)
    ]
    assert not problems, "\n" + "\n".join(problems)


def test_none_is_without_a_test() -> None:
    without = [f"{category}: {name}" for category, tests in inventory().items() for name, test in tests.items() if not test]
    assert not without, "\n" + "\n".join(without)


def _problems(category: str, name: str, test: str) -> list[str]:
    path, _, function = test.partition("::")
    if path.startswith("tests/reference/"):
        return ["a test of the reference runs no round of the engine"]
    function, _, case = function.partition("[")
    if function not in _functions(path):
        return [f"there is no test {test}"]
    if test.startswith(GOLDEN):
        case = case.removesuffix("]")
        if case not in BY_NAME:
            return [f"there is no golden scenario {case}"]
        return [] if name in shown(case).get(category, ()) else [f"{case} does not show it"]
    if case:
        case = case.removesuffix("]")
        files = list((ROOT / path).parent.rglob(f"{case}.*"))
        return [] if case == name and files else [f"{test} has no file of this name beside it"]
    text = (ROOT / path).read_text("utf-8")
    has_it = any(all(_has_word(text, word) for word in words) for words in _words(category, name))
    return [] if has_it else [f"{path} does not mention it"]


@cache
def _functions(path: str) -> set[str]:
    file = ROOT / path
    if not file.is_file() or not file.name.startswith("test_"):
        return set()
    tree = ast.walk(ast.parse(file.read_text("utf-8")))
    return {node.name for node in tree if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _words(category: str, name: str) -> list[tuple[str, ...]]:
    """What a test must have of a name, all of one of these: of a key its table too, of a mutant what it lacks is enough."""
    if category in ("columns", "scenario_keys"):
        return [tuple(name.split(".")[-2:])]
    if category == "options":
        command, _, option = name.rpartition(" ")
        return [(command.rpartition(" ")[2], *([option] if option.startswith("-") else []))]
    if category == "protocols":
        return [(name,), (name.partition("-mutant-")[2] or name,)]
    if category == "functions":
        return [tuple(re.findall(r"\w+", name.removesuffix(".py"))[-2 if "(" in name else -1 :])]
    return [(name,)]


def test_words() -> None:
    assert _words("functions", "emulator.run.run_emulation(mode=)") == [("run_emulation", "mode")]
    assert _words("functions", "jobs/emulate.py") == [("emulate",)]
    assert _words("options", "import kafka --out") == [("kafka", "--out")]
    assert _words("options", "sql QUERY") == [("sql",)]
    assert _words("scenario_keys", "fault_generators.rack_outages.racks") == [("rack_outages", "racks")]
    assert _words("protocols", "kafka-mutant-any-transition")[1] == ("any-transition",)
