"""Topics that are lists of ledgers: the engine against the plain-Python reference on random schedules, plain and leaping."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from emulator.run import run_emulation
from tests.bookkeeper.by_reference import by_scenario, differences, first_few, run_of_cases
from tests.bookkeeper.topics_by_reference import as_engine_takes_it, of_played, of_tables
from tests.engine_helpers import Row, read_table
from tests.reference.bookkeeper.rules import MUTANTS, OF_TOPICS
from tests.reference.bookkeeper.schedules import topic_schedule
from tests.reference.bookkeeper.topics import play_topic

SEEDS = range(18 + int(os.environ.get("FUZZ_SCHEDULES", "0")))
TABLES = (
    "scenarios",
    "outcomes",
    "events",
    "ledgers",
    "topics",
    "fragments",
    "bookies",
    "ledger_clients",
    "ledger_readers",
    "violations",
)
Tables = dict[str, dict[str, list[Row]]]


def assert_equal(spark: SparkSession, cases: dict[str, Any], folder: Path, mode: str, protocols: dict[str, str]) -> Tables:
    """The engine ends every case as the reference does, with the same violations. Returns its tables."""
    played = {name: play_topic(case) for name, case in cases.items()}
    taken = {name: as_engine_takes_it(case, played[name]) for name, case in cases.items()}
    run_emulation(run_of_cases(taken, folder / "in", protocols), str(folder / mode), spark, mode=mode)
    tables = by_scenario({name: read_table(folder / mode / name) for name in TABLES})
    differing = {}
    for name in cases:
        expected = of_played(played[name])
        found = differences(expected, of_tables(tables[name]))
        if found:
            differing[name] = found
    assert not differing, f"{len(differing)} of {len(cases)} differ: {first_few(differing.items())}"
    return tables


@pytest.mark.parametrize("mode", ["plain", "leap"])
def test_topics_equal_the_reference(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    cases = {f"s{seed}": topic_schedule(seed) for seed in SEEDS}
    tables = assert_equal(spark, cases, tmp_path, mode, {})
    told = [row for of_case in tables.values() for row in of_case["ledgers"]]
    assert {row["rolled_over"] for row in told} == {None, "entries", "size", "age", "failure"}
    for happened in ("deleted_round", "offloaded_round", "deleted_from_bookies_round"):
        assert any(row[happened] is not None for row in told)


def test_mutants_of_topics_equal_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    """The old owner finds its ledger closed, and writes the list that it knows over the one with the new owner's ledger."""
    keep = {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
    lost = [{"kind": "drop_adds", "broker": b, "from_round": 0, "to_round": 8, "from_offset": 5} for b in (2, 3)]
    case = {
        "rounds": 60,
        "round_ms": 500,
        "brokers": list(range(1, 8)),
        "config": keep,
        "topic_config": {"ensembleSize": 3, "writeQuorumSize": 3, "ackQuorumSize": 2},
        "workload": [{"from_round": 0, "to_round": 20, "records_per_round": 1, "max_in_flight": 1}],
        "faults": lost,
        "commands": [{"kind": "take_over", "round": 9}],
    }
    cases = {"real": case} | {mutant: {**case, "rules": MUTANTS[mutant]} for mutant in OF_TOPICS}
    protocols = {mutant: f"bookkeeper-mutant-{mutant}" for mutant in OF_TOPICS}
    tables = assert_equal(spark, cases, tmp_path, "plain", protocols)
    caught = {name for name, of_case in tables.items() if of_case["violations"]}
    assert caught == set(OF_TOPICS)
    assert [tables[name]["topics"][0]["acked_lost"] > 0 for name in ("real", *OF_TOPICS)] == [False, True]
