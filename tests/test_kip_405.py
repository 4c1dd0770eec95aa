"""docs/kip_405.md: the KIP's scenarios as datasets/examples/kip_405.toml plays them, every row of the page's tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.rounds.relational.inputs.refusals import refuse_unknown
from emulator.scenario import load_run
from tests.engine_helpers import emulate
from tests.relational_scenarios import KIP_405

ROOT = Path(__file__).parents[1]
SCENARIOS = range(1, 6)
REPLICAS, REMOTE = "on disk", "remote segment"

Row = dict[str, str]


def page_rows(column: str) -> list[Row]:
    """The rows of all tables of the page that have this column, by the names of their columns."""
    rows: list[Row] = []
    heads: list[str] = []
    for line in (ROOT / "docs" / "kip_405.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            heads = []
        elif not heads:
            heads = cells
        elif column in heads and not cells[0].startswith("-"):
            rows.append(dict(zip(heads, cells, strict=True)))
    return rows


def offsets(text: str) -> tuple[int, int] | None:
    """First and last of "3 to 7"; None: no record."""
    found = re.fullmatch(r"(\d+) to (\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def entries(text: str) -> list[list[int]]:
    return [[int(epoch), int(start)] for epoch, start in re.findall(r"\((\d+),(\d+)\)", text)]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    return emulate(spark, KIP_405, tmp_path_factory.mktemp("kip_405") / "out")


def test_the_page_has_every_scenario() -> None:
    for column in (REPLICAS, REMOTE):
        assert {int(row["scenario"]) for row in page_rows(column)} == set(SCENARIOS)


def test_replicas_are_as_the_page_says(tables: dict[str, list[dict[str, Any]]]) -> None:
    trace = {(row["topic"], row["round"], row["broker"]): row for row in tables["trace"]}
    for row in page_rows(REPLICAS):
        number = int(row["scenario"])
        seen = trace[f"scenario-{number}", int(row["after round"]), 2 * number - (row["broker"] == "A")]
        first, end = seen["local_log_start_offset"], seen["leo"]
        assert (offsets(row[REPLICAS]), entries(row["epochs"])) == ((first, end - 1) if first < end else None, seen["epochs"]), (
            row
        )


def test_remote_storage_is_as_the_page_says(tables: dict[str, list[dict[str, Any]]]) -> None:
    said = [
        (f"scenario-{row['scenario']}", offsets(row[REMOTE]), entries(row["its epochs"]), row["in lineage"] == "yes")
        for row in page_rows(REMOTE)
    ]
    seen = [
        (row["topic"], (row["base_offset"], row["end_offset"]), row["epochs"], row["in_lineage"])
        for row in sorted(tables["remote_segments"], key=lambda row: (row["topic"], row["segment"]))
    ]
    assert said == seen
    assert {row["state"] for row in tables["remote_segments"]} == {"COPY_FINISHED"}


def test_relational_rounds_refuse_the_others_by_name() -> None:
    """The first three they play: tests/test_relational_tables.py."""
    with pytest.raises(InputError, match="have no unclean.leader.election.enable with tiered storage"):
        refuse_unknown(load_run(str(KIP_405)))


def test_what_is_lost_is_lost_by_unclean_elections_alone(tables: dict[str, list[dict[str, Any]]]) -> None:
    lost = {row["topic"]: row["committed_lost"] for row in tables["outcomes"]}
    assert lost == {"scenario-1": 0, "scenario-2": 0, "scenario-3": 0, "scenario-4": 2, "scenario-5": 3}
