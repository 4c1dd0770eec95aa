"""The engine against the plain-Python reference of tiered storage: everything that both tell is equal.

Random schedules, from empty logs and from given ones, the tables of Kafka's own tests for followers, and a real trace (which the
reference reproduces), in one run.
`TIERED_FROM=n TIERED_TO=m` takes other schedules.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.scenario import Run, load_run
from tests.differing_rows import Differences, rows_that_differ
from tests.engine_helpers import Row, emulate
from tests.reference.tiered.given_states import given_schedule
from tests.reference.tiered.scenario_file import to_toml
from tests.reference.tiered.schedules import schedule
from tests.reference.tiered.simulate import LIST_OFFSETS, Result, simulate
from tests.reference.tiered.test_followers import BOOTSTRAP, bootstrap_case
from tests.reference.tiered.test_real_trace import real_case
from tests.test_differential import PARTITION_COLUMNS, SHOWN_DIFFERENCES, TRACE_COLUMNS, events_that_differ, first_few

SEEDS = range(int(os.environ.get("TIERED_FROM", "0")), int(os.environ.get("TIERED_TO", "20")))
TIER_COLUMNS = (*TRACE_COLUMNS, "fetch_state", "local_segments", "local_bytes", "highest_remote_offset", *LIST_OFFSETS)
TIER_EVENTS = (
    "segment_roll", "local_delete", "copy_started", "copy_finished", "copy_failed", "remote_delete", "aux_state_built",
    "topic_deleted",
)  # fmt: skip


def as_run(cases: Mapping[str, Mapping[str, Any]], folder: Path) -> Run:
    """The cases as scenarios of one run, by name; without those that Kafka would refuse, for their retention."""
    scenarios = []
    for number, (name, case) in enumerate(cases.items()):
        path = folder / f"{name}.toml"
        path.write_text(to_toml(case))
        try:
            found = load_run(str(path)).scenarios[0]
        except InputError as refusal:
            assert " is above " in str(refusal)
            continue
        scenarios.append(replace(found, scenario_id=number, name=name))
    return Run("cases.toml", "", "cases", 0, "plain", tuple(scenarios))


def by_scenario(tables: Mapping[str, Iterable[Row]]) -> dict[str, dict[str, list[Row]]]:
    """The tables' rows, parted by the scenario's name."""
    names = {row["scenario_id"]: row["name"] for row in tables["scenarios"]}
    parted: dict[str, dict[str, list[Row]]] = {name: {} for name in names.values()}
    for table in ("trace", "trace_partitions", "outcomes", "events", "remote_segments"):
        for row in tables[table]:
            parted[names[row["scenario_id"]]].setdefault(table, []).append(row)
    return parted


def differences(expected: Result, tables: Mapping[str, list[Row]]) -> Differences:
    """What differs, earliest round first."""
    found = rows_that_differ(expected.trace, tables.get("trace", []), ("round", "broker"), TIER_COLUMNS)
    found += rows_that_differ(expected.trace_partitions, tables.get("trace_partitions", []), ("round",), PARTITION_COLUMNS)
    found += events_that_differ(expected, tables.get("events", []), TIER_EVENTS)
    columns = tuple(expected.remote_segments[0]) if expected.remote_segments else ()
    for row in tables.get("remote_segments", []):
        row["checkpoint"] = [[entry["epoch"], entry["start_offset"]] for entry in row["checkpoint"]]
    segments = rows_that_differ(expected.remote_segments, tables.get("remote_segments", []), ("segment",), columns)
    end = len(expected.trace_partitions)
    found += [(f"segment {column}", end, key, left, right) for column, key, _, left, right in segments]
    outcomes = tables["outcomes"][0]
    found += [(k, end, "outcomes", v, outcomes[k]) for k, v in expected.outcomes.items() if v != outcomes[k]]
    return sorted(found, key=lambda difference: difference[1])


def test_tiered_engine_equals_reference(spark: SparkSession, tmp_path: Path) -> None:
    """Every table of a run, by the engine that runs have."""
    cases = {f"s{seed}": schedule(seed) for seed in SEEDS} | {f"given-{seed}": given_schedule(seed) for seed in SEEDS}
    cases["trace_e"] = real_case()
    cases |= {f"bootstrap-{at}": bootstrap_case(leader, pending) for at, (_, leader, pending, _) in enumerate(BOOTSTRAP)}
    tables = by_scenario(emulate(spark, as_run(cases, tmp_path), tmp_path / "out"))
    differing = {}
    assert len(tables) > len(cases) * 2 // 3
    for name, rows in tables.items():
        found = differences(simulate(cases[name]), rows)
        if found:
            differing[name] = found[:SHOWN_DIFFERENCES]
    assert not differing, f"{len(differing)} of {len(cases)} cases differ: {first_few(differing)}"
