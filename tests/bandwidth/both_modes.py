"""Runs with quota edges, in both modes."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from emulator.run import run_emulation
from emulator.scenario import load_run
from emulator.table_columns.spark_columns import OUTPUT_TABLES
from tests.engine_helpers import Row, read_table

Tables = dict[str, list[Row]]


def run_in_both_modes(spark: SparkSession, scenario: str, folder: Path) -> dict[str, Tables]:
    """The tables of a scenario by mode; the plain run has a trace of all."""
    (folder / "scenario.toml").write_text(scenario)
    run = load_run(str(folder / "scenario.toml"))
    modes = ("plain", "leap")
    for mode in modes:
        run_emulation(run, str(folder / mode), spark, mode=mode, trace="all" if mode == "plain" else "none")
    names = [name for name in OUTPUT_TABLES if name != "runs"]
    return {m: {name: read_table(folder / m / name) for name in names if (folder / m / name).is_dir()} for m in modes}


def assert_the_same(run: dict[str, Tables]) -> None:
    """Leaps give what plain rounds give, in every table but the traces."""
    for name, rows in run["leap"].items():
        if not name.startswith("trace"):
            ran, plain = ([{k: v for k, v in row.items() if k != "mode"} for row in t] for t in (rows, run["plain"][name]))
            assert sorted(map(repr, ran)) == sorted(map(repr, plain)), name
