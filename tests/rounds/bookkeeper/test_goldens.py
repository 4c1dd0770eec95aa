"""Golden tables of ledgers and topics from compiled rounds, cell by cell, played plainly and leaping. No Spark.

What is meant to differ from them stands in tests/golden/changed_cells.toml with who decides.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from emulator.engine.ledger_engine import LedgerEngine
from emulator.outcomes.compiled_ledgers import TABLES
from emulator.scenario import load_run
from tests.golden.cases import BY_NAME, SCENARIOS
from tests.golden.changes import read_changes, undo
from tests.golden.differ import undo_rows
from tests.golden.differences import differing_lines
from tests.golden.tables import LATER_TABLES, as_table, golden_lines
from tests.golden.take import TABLES as GOLDEN


class Silent(SimpleNamespace):
    """Progress that is told to nobody."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def tables_of(name: str, leaps: bool) -> dict[str, pa.Table]:
    """Every table of a golden scenario."""
    run = load_run(str(SCENARIOS / f"{name}.toml"))
    traced = {s.scenario_id: sum(topic.partitions for topic in s.topics) for s in run.scenarios}
    flags = {number: np.full(count, BY_NAME[name].trace == "all") for number, count in traced.items()}
    engine = LedgerEngine(run.scenarios, flags, leaps, 25)
    spark = SimpleNamespace(conf={"spark.master": "local[2]"})
    return engine.play(SimpleNamespace(progress=Silent(), spark=spark))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("leaps", [False, True])
@pytest.mark.parametrize("name", ["ledgers", "ledgers_of_the_start", "ledgers_of_topics"])
def test_tables_are_golden(name: str, leaps: bool) -> None:
    tables, changes, problems = tables_of(name, leaps), read_changes(), []
    for table in (*(name for name in TABLES if name not in LATER_TABLES), "invariants", "broker_rounds"):
        mine = as_table(table, tables[table])
        problems += undo(changes, name, table, mine) + undo_rows(name, table, mine)
        golden = (Path(GOLDEN) / name / f"{table}.jsonl").read_text().splitlines()
        problems += [f"{table}: {line}" for line in differing_lines(golden, golden_lines(table, mine))]
    assert not problems, "\n" + "\n".join(problems)
