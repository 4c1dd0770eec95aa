"""Repair in leap mode: long copies take few iterations, and what comes out is the reference's, on random schedules too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from emulator.run import run_emulation
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.bookkeeper.by_reference import by_scenario, differences, of_engine, of_reference, run_of_cases
from tests.engine_helpers import Row, read_table
from tests.reference.bookkeeper.given import adds, case, command, crash, fault
from tests.reference.bookkeeper.schedules import repair_schedule
from tests.reference.bookkeeper.simulate import simulate

SEEDS = range(100, 116 + int(os.environ.get("FUZZ_SCHEDULES", "0")))
ROUNDS = 400
AUTO = {"autoRecoveryDaemonEnabled": True, "rereplicationEntryBatchSize": 1, "openLedgerRereplicationGracePeriod": 60_000}
UNSYNCED = {**AUTO, "journalSyncData": False, "flushInterval": 20_000, "lostBookieRecoveryDelay": 20}
CLOSED: dict[str, Any] = {"rounds": ROUNDS, "workload": [adds(0, 100, 2)], "commands": [command("close_ledger", 105)]}
CHECKED = {**CLOSED, "commands": [*CLOSED["commands"], command("check_ledger", 120)]}
HOLES = {"rounds": ROUNDS, "workload": [adds(0, 20, 2)], "commands": [command("close_ledger", 35)]}

LONG: dict[str, dict[str, Any]] = {
    "striped": case((5, 3, 2), **CLOSED, bookies=8, config=AUTO, faults=[crash(1, 110)]),
    "writing_on": case((3, 2, 2), rounds=ROUNDS, workload=[adds(0, ROUNDS)], config=AUTO, faults=[crash(1, 150)]),
    "target_lost": case(**CLOSED, config=AUTO, faults=[crash(1, 110), crash(4, 200)]),
    "unsynced_target": case(**CLOSED, config=UNSYNCED, faults=[crash(1, 110), fault("power_loss", 4, 250, 252)]),
    "one_filled": case((4, 3, 2), **CHECKED, config={"rereplicationEntryBatchSize": 2}, faults=[fault("disk_loss", 2, 108, 110)]),
    "two_filled": case(
        (5, 3, 2), **CHECKED, config=AUTO, faults=[fault("disk_loss", 2, 108, 110), fault("disk_loss", 3, 111, 112)]
    ),
    "source_away": case((3, 2, 2), **CLOSED, config=AUTO, faults=[crash(1, 110), fault("broker_pause", 2, 150, 160)]),
    "holes": case(
        (3, 2, 1),
        **HOLES,
        config={**AUTO, "delayEnsembleChange": True},
        faults=[fault("drop_adds", 2, 0, None, from_offset=12, to_offset=18), crash(1, 40, 300)],
    ),
    "hole_passed": case(
        (3, 2, 1),
        **{**HOLES, "commands": [*HOLES["commands"], command("check_ledger", 60)]},
        config={"delayEnsembleChange": True, "rereplicationEntryBatchSize": 1},
        faults=[
            fault("drop_adds", 2, 0, 30, from_offset=12, to_offset=18),
            fault("disk_loss", 1, 40, 41),
            fault("broker_pause", 3, 80, 90),
        ],
    ),
}


def leapt(spark: SparkSession, cases: dict[str, Any], folder: Path) -> dict[str, dict[str, list[Row]]]:
    """The tables by case of a run in leap mode, in which nothing is traced."""
    run_emulation(run_of_cases(cases, folder / "in"), str(folder / "out"), spark, mode="leap")
    written = {name: read_table(folder / "out" / name) for name in OUTPUT_TABLES if (folder / "out" / name).is_dir()}
    return by_scenario(written)


def differing(cases: dict[str, Any], tables: dict[str, dict[str, list[Row]]]) -> dict[str, Any]:
    """What differs from the reference, by case; entries are told of traced ledgers only."""
    found = {}
    for name, given in cases.items():
        expected = of_reference(simulate(given, watch=True, trace=False))
        expected.pop("entries")
        found[name] = differences(expected, of_engine(tables[name]))
    return {name: one for name, one in found.items() if one}


def test_long_copies_give_the_reference(spark: SparkSession, tmp_path: Path) -> None:
    tables = leapt(spark, LONG, tmp_path)
    assert differing(LONG, tables) == {}
    few = {name for name, of_case in tables.items() if of_case["ledgers"][0]["entries_copied"] < 100}
    assert few == {"holes", "hole_passed"}


def test_random_schedules_leap(spark: SparkSession, tmp_path: Path) -> None:
    cases = {f"s{seed}": repair_schedule(seed) | {"rounds": 200} for seed in SEEDS}
    tables = leapt(spark, cases, tmp_path)
    assert differing(cases, tables) == {}
