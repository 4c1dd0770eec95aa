"""The demo in this environment's Spark, classic or Connect: what comes out, as digests. tests/sparks/compare.py calls it.

    python tests/sparks/one.py classic|connect FOLDER

FOLDER gets the tables; standard output a line of JSON: by step its seconds and the digest of what it gave.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pyarrow.parquet as pq

from emulator.cli import main
from emulator.engine import compiled_engine
from emulator.outcomes.sql import run_sql
from emulator.session import get_session, is_connect, stop_if_ours
from emulator.table_columns.spark_columns import OUTPUT_TABLES

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "datasets" / "examples"
OF_THE_RUN = "runs"
"""Table with times and versions, which differ."""

QUESTION = "which_partitions_lost_records"


def command(*arguments: str) -> str:
    """The standard output of a command line; raises RuntimeError unless it ends well."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(arguments)
    if code:
        raise RuntimeError(f"emulator {' '.join(arguments)} ended with {code}: {said.getvalue()}")
    return said.getvalue()


def digest(rows: list[str]) -> str:
    """A digest of sorted rows."""
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16]


def table_digests(folder: Path) -> dict[str, str]:
    """By table of a run a digest of its rows, whatever their order, and their number."""
    found = {}
    for name in OUTPUT_TABLES:
        if name != OF_THE_RUN:
            rows = [str(row) for row in pq.read_table(folder / name).to_pylist()]
            found[name] = f"{len(rows)} rows {digest(rows)}"
    return found


def steps(folder: Path, spark: object) -> dict[str, Callable[[], object]]:
    """By name what is done, in this order; each gives something to compare."""
    demo, in_jobs = folder / "demo", folder / "in-jobs"

    def run_demo() -> object:
        command("run", str(EXAMPLES / "demo.toml"), "--out", str(demo))
        return table_digests(demo)

    def run_in_jobs() -> object:
        with patch.object(compiled_engine, "is_for_driver", lambda *_: False):  # the driver plays the demo, else
            command("run", str(EXAMPLES / "demo.toml"), "--out", str(in_jobs))
        return table_digests(in_jobs)

    def report() -> object:
        _, rows = run_sql(str(demo), (EXAMPLES / "demo_report.sql").read_text("utf-8"), spark)  # type: ignore[arg-type]
        return [str(row) for row in rows]

    def told() -> object:
        story = command("explain", str(demo), "--topic", "pay", "--partition", "3", "--scenario", "unclean")
        return [command("sql", str(demo), f"@{QUESTION}", "--format", "csv"), story, command("compare", str(demo))]

    return {"demo": run_demo, "jobs": run_in_jobs, "report": report, "told": told}


def run(mode: str, folder: Path) -> dict[str, object]:
    """By step (seconds, what it gave); and which Spark it was."""
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    spark = get_session(conf={"spark.remote": "local[2]"}) if mode == "connect" else get_session("local[2]")
    if is_connect(spark) != (mode == "connect"):
        raise RuntimeError(f"{type(spark)} is not {mode}")
    found: dict[str, object] = {"spark": spark.version, "start": [time.monotonic() - began, None]}
    try:
        for name, step in steps(folder, spark).items():
            began = time.monotonic()
            gave = step()
            found[name] = [time.monotonic() - began, gave]
            print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    finally:
        stop_if_ours(spark)
    return found


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]))))
