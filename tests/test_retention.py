"""Segments and retention of topics that are not tiered: the engine against the plain-Python reference on random cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.differing_rows import Differences, rows_that_differ
from tests.engine_helpers import emulate
from tests.reference.random_layers import retained_batch
from tests.reference.random_scenarios import cases_of, to_toml
from tests.reference.tiered.simulate import simulate
from tests.test_differential import PARTITION_COLUMNS, SHOWN_DIFFERENCES, TRACE_COLUMNS, by_topic, events_that_differ, first_few

SEED, CASES = 5, 70
COLUMNS = (*TRACE_COLUMNS, "local_segments", "local_bytes")
EVENTS_TOO = ("segment_roll", "local_delete")


def differences(expected: Any, tables: dict[str, list[dict[str, Any]]]) -> Differences:
    """What differs, earliest round first."""
    found = rows_that_differ(expected.trace, tables["trace"], ("round", "broker"), COLUMNS)
    found += rows_that_differ(expected.trace_partitions, tables["trace_partitions"], ("round",), PARTITION_COLUMNS)
    found += events_that_differ(expected, tables.get("events", []), EVENTS_TOO)
    outcomes = tables["outcomes"][0]
    end = len(expected.trace_partitions)
    found += [(k, end, "outcomes", v, outcomes[k]) for k, v in expected.outcomes.items() if k in outcomes and v != outcomes[k]]
    return sorted(found, key=lambda difference: difference[1])


def test_retention_equals_reference(spark: SparkSession, tmp_path: Path) -> None:
    batch = retained_batch(SEED, CASES)
    tables = by_topic(emulate(spark, to_toml(batch), tmp_path / "out"))
    differing = {}
    for index, case in enumerate(cases_of(batch)):
        found = differences(simulate(case), tables[f"t{index}"])
        if found:
            differing[index] = found[:SHOWN_DIFFERENCES]
    assert not differing, f"{len(differing)} of {CASES} cases differ: {first_few(differing)}"
