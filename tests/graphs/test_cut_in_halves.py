"""The network of datasets/examples/cut_in_halves.toml: islands, both leaders, what was lost, who believed in whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from emulator.cli import main
from tests.asked import ask
from tests.graphs.test_graph import edges_of

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def halves(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("halves") / "result"
    assert main(["run", str(ROOT / "datasets/examples/cut_in_halves.toml"), "--out", str(folder), "--trace", "all"]) == 0
    assert main(["graph", str(folder), "--out", str(folder)]) == 0
    return folder


def test_islands_leaders_and_what_the_zombie_lost(halves: Path) -> None:
    """One query. Broker 1 leads, alone in reach of 3 and 4; from round 26 it is a zombie, and 2 leads in the other half.

    Lost: what 1 took after 2 fetched for the last time, in round 19: 10 records in each of the rounds 20 to 25.
    """
    answer = ask(halves, "@which_islands_had_which_leaders")[1]
    assert answer == [(0, 20, 80, [1, 3, 4], "t", 0, [1], [1], 60), (0, 20, 80, [2, 5], "t", 0, [2], [], 60)]
    assert edges_of(halves, "leads") == {
        ("0/broker/3", "0/partition/t-0", "t", 0, 12),
        ("0/broker/1", "0/partition/t-0", "t", 0, 12, 26),
        ("0/broker/2", "0/partition/t-0", "t", 0, 26),
    }


def test_chains_of_belief(halves: Path) -> None:
    """Broker 4 believes in 3, which follows 1, which leads until 2 does; it believes in itself until it learns of 2."""
    answer = ask(halves, "@who_believed_in_a_superseded_leader")[1]
    assert answer == [
        (0, "t", 0, 12, 26, 14, [4, 3, 1], [0, 1], 1),
        (0, "t", 0, 26, 80, 54, [3, 1], [1, 1], 2),
        (0, "t", 0, 26, 80, 54, [4, 3, 1], [0, 1], 2),
    ]
    believed = edges_of(halves, "believes_in")
    assert ("0/broker/1", "0/broker/1", "t", 0, 1, 12, 80) in believed
    assert ("0/broker/4", "0/broker/3", "t", 0, 0, 0, 80) in believed
    assert ("0/broker/3", "0/broker/1", "t", 0, 1, 13, 80) in edges_of(halves, "fetches_from")


def test_the_page_says_what_the_questions_say(halves: Path) -> None:
    page = (ROOT / "docs/graphs.md").read_text("utf-8")
    for question in ("@which_islands_had_which_leaders", "@who_believed_in_a_superseded_leader"):
        columns, rows = ask(halves, question)
        told = page.split(f"{question}\n\n")[1].split("\n\n")[0].splitlines()
        table = [[cell.strip() for cell in line.strip("|").split("|")] for line in told]
        shown = table[0]
        assert table[2:] == [[str(row[columns.index(name)]) for name in shown] for row in rows]
