"""The commands of docs/tutorial.md and docs/questions.md print what the pages say, played by the tests' own Spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.outcomes.leaderless import leaderless_rounds
from tests.page_commands import renewed

ROOT = Path(__file__).parents[1]
TUTORIAL, QUESTIONS = (ROOT / "docs" / f"{name}.md" for name in ("tutorial", "questions"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Path]:
    """A folder with the examples in it, as the one that the project is in."""
    own = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "datasets" / "examples", own / "datasets" / "examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(own)
        patch.setattr("emulator.session.get_session", lambda *_, **__: spark)
        patch.setattr("emulator.session.stop_if_ours", lambda _: None)
        patch.delenv("COLUMNS", raising=False)
        yield own


@pytest.fixture(scope="module")
def tutorial(folder: Path) -> str:
    """The page as its commands print it now; their run is there then."""
    return renewed(TUTORIAL.read_text("utf-8"))


def test_the_tutorial_prints_what_it_says(tutorial: str) -> None:
    page = TUTORIAL.read_text("utf-8")
    assert page.count("\n$ emulator ") == 6
    assert tutorial == page


@pytest.mark.usefixtures("tutorial")
def test_the_fifteen_questions_have_the_answers_that_they_say() -> None:
    """On the tutorial's run, where it can tell; each of the fifteen has a command."""
    page = QUESTIONS.read_text("utf-8")
    sections = page.split("\n## ")[1:]
    asked = [section for section in sections if section.partition(".")[0].isdigit()]
    assert [int(section.partition(".")[0]) for section in asked] == list(range(1, 16))
    assert all("\n$ emulator " in section for section in asked)
    assert renewed(page) == page


@pytest.mark.usefixtures("tutorial")
def test_when_there_was_no_leader(folder: Path) -> None:
    rounds, differing = leaderless_rounds(folder / "build" / "tutorial" / "result")
    assert rounds > 100 and not differing


def test_what_is_cut_stays_cut() -> None:
    page = "```console\n$ emulator a \\\n  b\none\n...\n$ emulator c\n```\n"
    now = renewed(page, lambda command: "1\n2\n" if "a" in command.split()[2] else "3\n")
    assert now == "```console\n$ emulator a \\\n  b\n1\n...\n$ emulator c\n3\n```\n"
