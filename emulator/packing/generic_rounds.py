"""Has the rounds compiled for every CPU of this kind: `python -m emulator.packing.generic_rounds`, called by `emulator pack`.

A process of its own, whose environment says so (`ENVIRONMENT`): Numba reads that when it is imported. What was compiled is kept
where all compiled code is; the next pack of the same version finds it there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from emulator.compiled_cache import PACKED_VARIABLE
from emulator.errors import EnvironmentProblem

ENVIRONMENT = {"NUMBA_CPU_NAME": "generic"}
"""Of the process that compiles, and of executors (launcher.sh): Numba then uses what each CPU of this kind has."""


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


def generic_rounds() -> Path:
    """The folder of the rounds compiled for every CPU of this kind, after a minute or two where there are none yet.

    Its parent is named by what the code follows from (compiled_cache.source_digest). Raises EnvironmentProblem where they
    cannot be compiled.
    """
    inherited = {
        k: v
        for k, v in os.environ.items()
        if not re.match(f"NUMBA_|EMULATOR_(BOUNDS_CHECK|REFERENCE_COUNTS)|{PACKED_VARIABLE}", k)
    }
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "emulator.packing.generic_rounds"]
    environment = inherited | ENVIRONMENT | {"PYTHONPATH": path}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(f"the rounds were not compiled: the process that does ended with code {done.returncode}")
    answer = json.loads(done.stdout)
    if "problem" in answer:
        raise EnvironmentProblem(f"the rounds were not compiled: {answer['problem']}")
    return Path(answer["folder"])


def _compile() -> dict[str, str]:
    import numpy as np

    from emulator import compiled, compiled_cache
    from emulator.class_archive import SCENARIO
    from emulator.engine.ledger_engine import LedgerEngine
    from emulator.engine.warm_up import warm_up
    from emulator.inputs.arrays import prepare
    from emulator.progress import Progress
    from emulator.scenario import load_run

    if compiled.WHY_NOT is not None:
        return {"problem": f"numba cannot be used ({compiled.WHY_NOT})"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO + TIERED, encoding="utf-8")
        scenarios = load_run(str(path)).scenarios
        path.write_text(LEDGERS, encoding="utf-8")
        of_ledgers = load_run(str(path)).scenarios
    warm_up(prepare(scenarios, {}, True, 1), Progress())
    LedgerEngine(of_ledgers, {s.scenario_id: np.zeros(2, bool) for s in of_ledgers}, True, {}).warm_up(Progress())
    return {"folder": str(compiled_cache.config.CACHE_DIR)}


if __name__ == "__main__":
    try:
        print(json.dumps(_compile()))
    except Exception as problem:
        print(json.dumps({"problem": f"{type(problem).__name__}: {problem}"}))
