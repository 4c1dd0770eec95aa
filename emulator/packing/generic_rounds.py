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
from collections.abc import Sequence
from pathlib import Path

from emulator.errors import EnvironmentProblem
from emulator.rounds.compiled_cache import PACKED_VARIABLE

ENVIRONMENT = {"NUMBA_CPU_NAME": "generic"}
"""Of the process that compiles, and of executors (launcher.sh): Numba then uses what each CPU of this kind has."""


def generic_rounds(kinds: Sequence[str] = ()) -> list[Path]:
    """The folders of the rounds compiled for every CPU of this kind, one a system, after some minutes where there are none yet.

    `kinds`: of compile_all.KINDS, none: all. Their parents are named by what the code follows from
    (compiled_cache.source_digest). Raises EnvironmentProblem where they cannot be compiled.
    """
    inherited = {
        k: v
        for k, v in os.environ.items()
        if not re.match(f"NUMBA_|EMULATOR_(BOUNDS_CHECK|REFERENCE_COUNTS)|{PACKED_VARIABLE}", k)
    }
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "emulator.packing.generic_rounds", *kinds]
    environment = inherited | ENVIRONMENT | {"PYTHONPATH": path}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise EnvironmentProblem(f"the rounds were not compiled: the process that does ended with code {done.returncode}")
    answer = json.loads(done.stdout)
    if "problem" in answer:
        raise EnvironmentProblem(f"the rounds were not compiled: {answer['problem']}")
    return [Path(folder) for folder in answer["folders"]]


def _compile(kinds: Sequence[str]) -> dict[str, object]:
    from emulator.engine.compile_all import ENTRY_POINTS, compile_all
    from emulator.rounds import compiled, compiled_cache

    if compiled.WHY_NOT is not None:
        return {"problem": f"numba cannot be used ({compiled.WHY_NOT})"}
    compile_all(kinds)
    return {"folders": sorted({str(compiled_cache.folder_of(function)) for function in ENTRY_POINTS})}


if __name__ == "__main__":
    try:
        print(json.dumps(_compile(sys.argv[1:])))
    except Exception as problem:
        print(json.dumps({"problem": f"{type(problem).__name__}: {problem}"}))
