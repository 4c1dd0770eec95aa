"""Has all rounds compiled, where they are not yet: `python -m emulator.engine.compile_all`, called by `make setup`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from emulator.engine.ledger_engine import LedgerEngine
from emulator.engine.warm_up import warm_up
from emulator.errors import EnvironmentProblem
from emulator.inputs.arrays import prepare
from emulator.progress import Progress
from emulator.scenario import load_run

SCENARIO = """
rounds = 30
cluster = { brokers = 3, session_timeout_rounds = 3 }
topics = [{ name = "t", partitions = 3, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 5, record_bytes = 100 }]
faults = [{ kind = "broker_crash", broker = 1, from_round = 5, to_round = 15 }]
"""
"""Partitions without remote storage."""

TIERED = """
[[variants]]
name = "tiered"
cluster = { config = { "remote.log.storage.system.enable" = true } }
topics = [{ name = "t", config = { "remote.storage.enable" = true } }]
"""
"""With it the scenario has partitions of both kinds: with remote storage, and without."""

LEDGERS = """
protocol = "bookkeeper"
rounds = 2
cluster = { brokers = 3 }
topics = [{ name = "t", partitions = 1 }, { name = "list", partitions = 1, config = { managedLedger = true } }]
workload = [{ topic = "*", records_per_round = 1 }]
"""
"""A ledger by itself, and a topic that is a list of ledgers."""


def compile_all() -> None:
    """Have the rounds of partitions, with remote storage and without, of ledgers and of their lists compiled and kept."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO + TIERED, encoding="utf-8")
        scenarios = load_run(str(path)).scenarios
        path.write_text(LEDGERS, encoding="utf-8")
        of_ledgers = load_run(str(path)).scenarios
    warm_up(prepare(scenarios, {}, True, 1), Progress())
    LedgerEngine(of_ledgers, {s.scenario_id: np.zeros(2, bool) for s in of_ledgers}, True, {}).warm_up(Progress())


if __name__ == "__main__":
    try:
        compile_all()
    except EnvironmentProblem as problem:  # the first run then says the same, or compiles
        print(f"not compiled: {problem}", file=sys.stderr)
