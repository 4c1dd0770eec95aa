"""Takes the golden tables: python -m tests.golden.take [--to FOLDER] [--whole] [SCENARIO ...]

Without names it takes those scenarios that have no goldens yet: what is there is never rewritten. With `--to` the tables go
into another folder, and with `--whole` large ones too have all their rows there: to look at, or to compare with those of another
version by `diff -r`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from emulator.session import get_session, stop_if_ours
from tests.golden.cases import BY_NAME, CASES, HERE, Case, run_case
from tests.golden.tables import Table, golden_lines, whole_lines

TABLES = HERE / "tables"
SESSION = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": "2"}
"""As the tests' own, tests/conftest.py."""


def main() -> None:
    """Take what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", choices=[[], *BY_NAME])
    parser.add_argument("--to", type=Path, default=TABLES)
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_args()
    if given.whole and given.to == TABLES:
        parser.error("--whole: goldens have digests of large tables; allowed: with --to")
    cases = [BY_NAME[name] for name in given.scenarios] or [case for case in CASES if not (given.to / case.name).exists()]
    for case in cases:
        if (given.to / case.name).exists():
            parser.error(f"{case.name}: is there already; goldens are never rewritten")
    spark = get_session(master="local[2]", conf=SESSION, app_name="emulator-goldens")
    for case in cases:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            tables = run_case(case, spark, Path(folder))
        print(f"{case.name}: {time.monotonic() - started:.1f} s, {_write(case, tables, given.to, given.whole)} rows", flush=True)
    stop_if_ours(spark)


def _write(case: Case, tables: dict[str, Table], to: Path, whole: bool) -> int:
    """Write the tables of a run as text; return how many rows they have."""
    folder, rows = to / case.name, 0
    folder.mkdir(parents=True)
    for name, table in tables.items():
        lines = whole_lines(table) if whole else golden_lines(name, table)
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        rows += len(table.rows)
    return rows


if __name__ == "__main__":
    main()
