"""The engine's consumers against the plain-Python reference: random schedules as scenarios of one run, in plain rounds and leaps.

`CONSUMERS_FROM=n CONSUMERS_TO=m` takes other schedules.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.errors import InputError
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from tests.engine_helpers import Row, read_table
from tests.reference.consumers.cases import fenced_follower
from tests.reference.consumers.scenario_file import write_scenario
from tests.reference.consumers.schedules import schedule
from tests.reference.consumers.simulate import Result, simulate

SEEDS = range(int(os.environ.get("CONSUMERS_FROM", "0")), int(os.environ.get("CONSUMERS_TO", "18")))
OF_UNREAD = ("group", "kind", "from_round", "to_round", "from_offset", "to_offset", "cause", "broker")
QUEUE = "remote.log.reader.max.pending.tasks"


def case_of(seed: int) -> dict[str, Any]:
    """A schedule that is not refused: its queue of reads has one place at least, and its groups know where to start."""
    case = schedule(seed, by_local_log=False)
    consumers = [{**row, "start": "earliest"} if _starts_nowhere(row) else row for row in case["consumers"]]
    return {**case, "config": {**case["config"], QUEUE: max(1, case["config"][QUEUE])}, "consumers": consumers}


def _starts_nowhere(row: Mapping[str, Any]) -> bool:
    return row["start"] is None and row["config"]["auto.offset.reset"] == "none"


def untiered(seed: int) -> dict[str, Any]:
    """The schedule without remote storage, but with a transaction that readers may have to wait for."""
    case = case_of(seed)
    opened = {"kind": "open_transaction", "from_round": 6 + seed % 9, "to_round": 20 + seed % 13}
    return {
        **case,
        "remote_storage": {},
        "topic_config": {key: value for key, value in case["topic_config"].items() if not key.startswith("remote.")},
        "commands": [command for command in case["commands"] if command["kind"] != "alter_config"],
        "faults": [*(one for one in case["faults"] if "remote" not in one["kind"]), opened],
    }


def as_run(cases: Mapping[str, Mapping[str, Any]], folder: Path) -> Run:
    """The cases as scenarios of one run, by name; without those that Kafka would refuse, for their retention."""
    scenarios = []
    for number, (name, case) in enumerate(cases.items()):
        path = folder / f"{name}.toml"
        write_scenario(case, path)
        try:
            found = load_run(str(path)).scenarios[0]
        except InputError as refusal:
            assert " is above " in str(refusal)
            continue
        scenarios.append(replace(found, scenario_id=number, name=name))
    return Run("cases.toml", "", "cases", 0, "plain", tuple(scenarios))


def by_scenario(out: Path) -> dict[str, dict[str, list[Row]]]:
    """The rows of the consumers' tables, parted by the scenario's name."""
    names = {row["scenario_id"]: row["name"] for row in read_table(out / "scenarios")}
    parted: dict[str, dict[str, list[Row]]] = {name: {"consumer_groups": [], "unread": []} for name in names.values()}
    for table in ("consumer_groups", "unread"):
        for row in read_table(out / table):
            parted[names[row["scenario_id"]]][table].append(row)
    return parted


def differences(expected: Result, tables: Mapping[str, list[Row]]) -> list[Any]:
    """Cells of a group's row, and rows of `unread`, that differ."""
    found: list[Any] = []
    seen = {row["group"]: {**row, "waited_rounds": dict(row["waited_rounds"])} for row in tables["consumer_groups"]}
    found += [] if seen.keys() == {row["group"] for row in expected.consumer_groups} else [("groups", sorted(seen))]
    for row in expected.consumer_groups:
        own = seen.get(row["group"], {})
        found += [(row["group"], name, value, own.get(name)) for name, value in row.items() if own.get(name) != value]
    left = Counter(tuple(getattr(row, name) for name in OF_UNREAD) for row in expected.unread)
    right = Counter(tuple(row[name] for name in OF_UNREAD) for row in tables["unread"])
    return [*found, *(("only reference", row) for row in left - right), *(("only engine", row) for row in right - left)]


@pytest.mark.parametrize("mode", ["plain", "leap"])
def test_consumers_equal_reference(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    cases = {f"s{seed}": case_of(seed) for seed in SEEDS} | {"fenced_follower": fenced_follower()}
    cases |= {f"untiered-{seed}": untiered(seed) for seed in SEEDS if seed % 3 == 0}
    run_emulation(as_run(cases, tmp_path), str(tmp_path / "out"), spark, mode=mode)
    tables = by_scenario(tmp_path / "out")
    assert len(tables) > len(cases) * 2 // 3
    differing = {name: found for name, rows in tables.items() if (found := differences(simulate(cases[name]), rows))}
    assert not differing, f"{len(differing)} of {len(tables)} cases differ: {dict(list(differing.items())[:3])}"
