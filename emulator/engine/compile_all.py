"""Has all rounds compiled, where they are not yet: `python -m emulator.engine.compile_all`, called by `make setup`."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from emulator.engine.group_engine import GroupEngine
from emulator.engine.ledger_engine import LedgerEngine
from emulator.engine.warm_up import warm_up
from emulator.errors import EnvironmentProblem
from emulator.inputs.arrays import prepare
from emulator.progress import Progress
from emulator.rounds.bookkeeper.draw_first_ensembles import draw_first_ensembles
from emulator.rounds.bookkeeper.play_ledgers import play_ledgers
from emulator.rounds.bookkeeper.topics.play_topics import play_topics
from emulator.rounds.compiled import WHY_NOT, is_compiling
from emulator.rounds.compiled_cache import is_cached
from emulator.rounds.kafka.play_partitions import play_partitions, play_tiered_partitions
from emulator.rounds.quorums.play_groups import ENTRY_POINTS as OF_GROUPS
from emulator.rounds.quorums.protocols import PROTOCOLS
from emulator.scenario import Scenario, load_run

ENTRY_POINTS: list[Callable[..., object]] = [
    play_partitions,
    play_tiered_partitions,
    draw_first_ensembles,
    play_ledgers,
    play_topics,
    *dict.fromkeys(OF_GROUPS.values()),
]
"""All that is compiled to be called from Python."""

SCENARIO = """
rounds = 30
topics = [{ name = "t", partitions = 3, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 5, record_bytes = 100 }]
faults = [{ kind = "broker_crash", broker = 1, from_round = 5, to_round = 15 }]
[cluster]
brokers = 3
session_timeout_rounds = 3
"""
"""Partitions without remote storage."""

TIERED = f"""
{SCENARIO}
config = {{ "remote.log.storage.system.enable" = true, "remote.storage.enable" = true }}
"""
"""With it; readers are compiled together with it."""

LEDGERS = """
protocol = "bookkeeper"
rounds = 2
cluster = { brokers = 3 }
workload = [{ topic = "*", records_per_round = 1 }]
[[topics]]
name = "t"
partitions = 1
placement = "DefaultEnsemblePlacementPolicy"
[[topics]]
name = "list"
partitions = 1
config = { managedLedger = true }
"""
"""A ledger by itself, whose first ensemble is drawn when this is read, and a topic that is a list of ledgers."""

GROUPS = """
rounds = 2
cluster = { brokers = 3 }
topics = [{ name = "t", partitions = 1, replication_factor = 3 }]
workload = [{ topic = "t", records_per_round = 1 }]
protocol = "quorum"
""" + "".join(f'[[variants]]\nname = "{name}"\nprotocol = "{name}"\n' for name in PROTOCOLS if name != "quorum")
"""A group of each protocol."""


def compile_all(kinds: Collection[str] = ()) -> None:
    """Have the rounds of these KINDS compiled and kept, of all if none is named, each in a process of its own.

    As many at once as there are cores. Raises EnvironmentProblem where they cannot be compiled.
    """
    if WHY_NOT is not None:
        raise EnvironmentProblem(f"numba cannot be used ({WHY_NOT})")
    if not is_compiling() or all(map(is_cached, ENTRY_POINTS)):
        return
    began = time.monotonic()
    print("compiling the rounds, once for this version ...", file=sys.stderr, flush=True)
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for done in [pool.submit(compile_one) for kind, compile_one in KINDS.items() if kind in (kinds or KINDS)]:
            done.result()
    print(f"compiled in {time.monotonic() - began:.0f} s", file=sys.stderr)


def compile_tiered() -> None:
    """Of partitions with remote storage or readers."""
    _compile_partitions(TIERED)


def compile_core() -> None:
    """Of other partitions."""
    _compile_partitions(SCENARIO)


def compile_ledgers() -> None:
    """Of ledgers and of topics that are lists of them."""
    scenarios = scenarios_of(LEDGERS)
    LedgerEngine(scenarios, {s.scenario_id: np.zeros(2, bool) for s in scenarios}, True, 1).warm_up(Progress(quiet=True))


def compile_groups() -> None:
    """Of groups that commit by quorums."""
    GroupEngine(scenarios_of(GROUPS), True).warm_up(Progress(quiet=True))


KINDS = {"tiered": compile_tiered, "core": compile_core, "ledgers": compile_ledgers, "groups": compile_groups}
"""What is compiled, by what it plays; the longest one first."""


def _compile_partitions(text: str) -> None:
    warm_up(prepare(scenarios_of(text), {}, True, 1), Progress(quiet=True))


def scenarios_of(text: str) -> Sequence[Scenario]:
    """The scenarios of a file with this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(text, encoding="utf-8")
        return load_run(str(path)).scenarios


if __name__ == "__main__":
    try:
        compile_all()
    except EnvironmentProblem as problem:  # the first run then says the same, or compiles
        print(f"not compiled: {problem}", file=sys.stderr)
