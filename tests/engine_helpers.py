"""Runs a scenario through the engine and gives its tables as plain rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from emulator.progress import Progress
from emulator.rounds.relational.run import run_relational
from emulator.run import run_emulation
from emulator.scenario import Run, load_run
from emulator.session import FEW_CORES_OPTIONS
from emulator.table_columns.spark_columns import OUTPUT_TABLES

Row = dict[str, Any]

QUICK_JAVA = {"JDK_JAVA_OPTIONS": " ".join(FEW_CORES_OPTIONS)}
"""Environment of processes that live for one short run: Java's better compiler would only begin to pay for itself."""


def emulate(
    spark: SparkSession,
    scenario: str | Path | Run,
    out: Path,
    trace: str = "all",
    progress: Progress | None = None,
) -> dict[str, list[Row]]:
    """Run a scenario, a file, TOML text or read already, and return every table it wrote under `out` as rows.

    Epoch caches come as lists of [epoch, start offset], as the reference has them; a table that was not written (the
    trace tables with `trace="none"`) is left out.
    """
    if isinstance(scenario, str):
        text, scenario = scenario, out.with_name(f"{out.name}.toml")
        scenario.write_text(text)
    run = scenario if isinstance(scenario, Run) else load_run(str(scenario))
    run_emulation(run, str(out), spark, trace=trace, progress=progress)
    return {name: read_table(out / name) for name in OUTPUT_TABLES if (out / name).is_dir()}


def read_table(folder: Path) -> list[Row]:
    """The rows of one Parquet folder."""
    rows: list[Row] = ds.dataset(folder, format="parquet").to_table().to_pylist()
    for row in rows:
        if row.get("epochs") is not None:
            row["epochs"] = [[entry["epoch"], entry["start_offset"]] for entry in row["epochs"]]
    return rows


def emulate_both(
    spark: SparkSession, run: Run, folder: Path, by_spark: bool = False
) -> tuple[dict[str, list[Row]], Sequence[str]]:
    """The tables of a run, every cell of which relational rounds must give as well, and what these say at their end.

    Tables `runs` and `invariants` are of an engine's own.
    """
    usual = emulate(spark, run, folder / "usual")
    told = run_relational(run, str(folder / "relational"), spark, trace="all", by_spark=by_spark)
    for name in OUTPUT_TABLES.keys() - {"runs", "invariants"}:
        first, second = (sorted(map(repr, rows)) for rows in (usual[name], read_table(folder / "relational" / name)))
        assert first == second, name
    return usual, told.lines


def run_of(paths: Iterable[Path]) -> Run:
    """Several scenario files as the scenarios of one run, each named as its file: an engine run costs seconds."""
    runs = [load_run(str(path)) for path in paths]
    scenarios = [replace(run.scenarios[0], scenario_id=at, name=Path(run.path).stem) for at, run in enumerate(runs)]
    return replace(runs[0], name="several", scenarios=tuple(scenarios))


def of_scenario(tables: dict[str, list[Row]], name: str) -> dict[str, list[Row]]:
    """The rows of one scenario, by its name."""
    ids = {row["scenario_id"] for row in tables["scenarios"] if row["name"] == name}
    return {table: [row for row in rows if row.get("scenario_id") in ids] for table, rows in tables.items()}
