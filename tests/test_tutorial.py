"""The commands of docs/tutorial.md print what the page says, played by the tests' own Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.page_commands import renewed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"


@pytest.fixture
def folder(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the examples in it, as the one that the project is in."""
    shutil.copytree(ROOT / "datasets" / "examples", tmp_path / "datasets" / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("emulator.session.get_session", lambda *_, **__: spark)
    monkeypatch.setattr("emulator.session.stop_if_ours", lambda _: None)
    monkeypatch.delenv("COLUMNS", raising=False)
    yield tmp_path


def test_the_tutorial_prints_what_it_says(folder: Path) -> None:
    page = PAGE.read_text("utf-8")
    assert page.count("\n$ emulator ") == 6
    assert renewed(page) == page


def test_what_is_cut_stays_cut() -> None:
    page = "```console\n$ emulator a \\\n  b\none\n...\n$ emulator c\n```\n"
    now = renewed(page, lambda command: "1\n2\n" if "a" in command.split()[2] else "3\n")
    assert now == "```console\n$ emulator a \\\n  b\n1\n...\n$ emulator c\n3\n```\n"
