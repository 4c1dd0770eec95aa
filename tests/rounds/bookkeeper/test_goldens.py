"""Golden tables of ledgers and topics from compiled rounds, cell by cell, played plainly and leaping. No Spark.

Golden tables are those of the engine that plays ledgers by default; what differs stands here with who decides.
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
from tests.golden.differences import differing_lines
from tests.golden.tables import Table, as_table, golden_lines
from tests.golden.take import TABLES as GOLDEN

REFUSED = {*(("steady", ledger) for ledger in (0, 1, 2, 6, 7)), ("racks", 0), ("racks", 2)}
"""Ledgers of the variant "repaired" whose writer stops with entries in its queue, and refuses them when none is due any more.

docs/bookkeeper_rounds.md, "The round": unwritable is a round in which something is refused by a writer that stopped. The golden
counts such a round only if entries are due in it.
"""


class Silent(SimpleNamespace):
    """Progress that is told to nobody."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def tables_of(name: str, leaps: bool) -> dict[str, pa.Table]:
    """Every table of a golden scenario."""
    run = load_run(str(SCENARIOS / f"{name}.toml"))
    traced = {s.scenario_id: sum(topic.partitions for topic in s.topics) for s in run.scenarios}
    flags = {number: np.full(count, BY_NAME[name].trace == "all") for number, count in traced.items()}
    engine = LedgerEngine(run.scenarios, flags, leaps, {})
    return engine.play(SimpleNamespace(progress=Silent()))  # type: ignore[arg-type,return-value]


def as_golden(scenario: str, name: str, table: Table) -> None:
    """Take back what differs from the golden."""
    if scenario != "ledgers" or name not in ("ledgers", "outcomes"):
        return
    names = list(table.columns)
    for row in table.rows:
        if row[0] == 3 and (row[1], row[2]) in REFUSED:
            for column in ("unwritable_rounds", "leaderless_rounds"):
                if column in names:
                    row[names.index(column)] -= 1


@pytest.mark.parametrize("leaps", [False, True])
@pytest.mark.parametrize("name", ["ledgers", "ledgers_of_the_start", "ledgers_of_topics"])
def test_tables_are_golden(name: str, leaps: bool) -> None:
    tables, problems = tables_of(name, leaps), []
    for table in (*TABLES, "invariants", "broker_rounds"):
        mine = as_table(table, tables[table])
        as_golden(name, table, mine)
        mine.sort()
        golden = (Path(GOLDEN) / name / f"{table}.jsonl").read_text().splitlines()
        problems += [f"{table}: {line}" for line in differing_lines(golden, golden_lines(table, mine))]
    assert not problems, "\n" + "\n".join(problems)
