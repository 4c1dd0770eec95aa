"""Every phase against its fixtures, the text files beside this one: all are partitions of one state, played in one job."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession

from emulator.expressions import loop as engine
from emulator.session import engine_settings
from tests.engine_state import seen_after_phases, state_before
from tests.phases.fixtures import as_text, read_fixtures, situation_of

FIXTURES = read_fixtures(Path(__file__).parent)
PHASES = list(dict.fromkeys(fixture.phase for fixture in FIXTURES))
CELLS = "fixture STRING, broker STRING, column STRING, value STRING"

# Few rows: planning and compiling for them takes longer than running.
SETTINGS = engine.codegen_settings(0)

Seen = dict[str, dict[tuple[int, int], dict[str, Any]]]


@pytest.fixture(scope="module")
def seen(spark: SparkSession) -> Seen:
    """What is seen after each phase: phase -> (number of the fixture, broker) -> its row."""
    situations = [situation_of(fixture) for fixture in FIXTURES]
    with engine_settings(spark, 1, SETTINGS):
        rows = seen_after_phases(state_before(spark, situations), max(len(s.replicas) for s in situations))
    return {phase: {(row["situation"], row["broker"]): row for row in of_phase} for phase, of_phase in rows.items()}


@pytest.mark.parametrize("phase", PHASES)
def test_phase(spark: SparkSession, seen: Seen, phase: str) -> None:
    cells = []
    for number, fixture in enumerate(FIXTURES):
        if fixture.phase == phase:
            for expected in fixture.expected():
                name, broker, column, _ = expected
                row = seen[phase][number, int(broker or 1) - 1]
                cells.append(((name, broker, column, as_text(column, row)), expected))
    assert cells
    # Of the right cells one is enough: a failure is to show the wrong ones.
    shown = [pair for pair in cells if pair[0] != pair[1]] or cells[:1]
    actual, expected = zip(*shown, strict=True)
    assert_df_equality(spark.createDataFrame(actual, CELLS), spark.createDataFrame(expected, CELLS))


def test_fixtures_have_names_of_their_own() -> None:
    names = defaultdict(list)
    for fixture in FIXTURES:
        names[fixture.phase].append(fixture.name)
    assert all(len(of_phase) == len(set(of_phase)) >= 3 for of_phase in names.values())
