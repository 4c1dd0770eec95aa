"""`make test-sparks`: the demo on several versions of Spark, classic and Connect, each in an environment of its own.

    python tests/sparks/compare.py [VERSION ...]

An environment is made once, in build/sparks/VERSION, with the packages of requirements.lock besides Spark. A line for each
version and mode; the exit code is 1 when one of them fails, or gives other tables or answers than the first one.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import tomli

VERSIONS = ("4.0.5", "4.1.4", "4.2.1", "4.3.0")
MODES = ("classic", "connect")
SECONDS_MAX = 1800

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "sparks"
OF_SPARK = ("pyspark", "py4j")
NOT_COMPARED = ("spark", "start")

Found = dict[str, Any]


def environment(version: str) -> Path:
    """The Python of an environment with this Spark, made where it is not there, or is of another lock file."""
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    project = tomli.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [package for package in project["dependencies"] if not package.startswith("pyspark")]
    wanted = [f"pyspark[connect]=={version}", *needed]
    stamp, python = FOLDER / version / ".installed", FOLDER / version / "bin" / "python"
    made_of = hashlib.sha256("\n".join([lock, *wanted]).encode()).hexdigest()
    if stamp.exists() and stamp.read_text("utf-8") == made_of:
        return python
    print(f"spark {version}: making build/sparks/{version} ...", flush=True)
    constraints = FOLDER / f"{version}.constraints"
    constraints.parent.mkdir(parents=True, exist_ok=True)
    others = [line for line in lock.splitlines() if line.partition("==")[0] not in OF_SPARK]
    constraints.write_text("\n".join(others) + "\n", "utf-8")
    subprocess.run([sys.executable, "-m", "venv", FOLDER / version], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", constraints, *wanted], check=True)
    stamp.write_text(made_of, "utf-8")
    return python


def demo(version: str, mode: str) -> Found:
    """What tests/sparks/one.py found there; raises RuntimeError with the end of what it said if it failed."""
    python, out = environment(version), FOLDER / f"{version}-{mode}"
    subprocess.run(["rm", "-rf", out], check=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_REMOTE", "PYSPARK_"))}
    command = [python, ROOT / "tests" / "sparks" / "one.py", mode, out]
    try:
        ended = subprocess.run(
            command, cwd=ROOT, env=variables | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=SECONDS_MAX
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"not done after {SECONDS_MAX} s") from error
    if ended.returncode:
        raise RuntimeError(f"ended with {ended.returncode}\n{ended.stderr[-3000:]}")
    found: Found = json.loads(ended.stdout.splitlines()[-1])
    if found["spark"] != version:
        raise RuntimeError(f"Spark says that it is {found['spark']}")
    return found


def differences(found: Found, first: Found) -> list[str]:
    """In which steps, and which of their tables, this differs from the first, and the run in jobs from the one in the driver."""
    differ = [] if found["demo"][1] == found["jobs"][1] else ["jobs and driver"]
    for step in first:
        if step in NOT_COMPARED or found[step][1] == first[step][1]:
            continue
        mine, others = found[step][1], first[step][1]
        names = [name for name in others if mine.get(name) != others[name]] if isinstance(others, dict) else []
        differ.append(f"{step} ({', '.join(names)})" if names else step)
    return differ


def main(versions: list[str]) -> int:
    """Runs all, and prints a line for each."""
    first: Found | None = None
    failed = 0
    for version in versions:
        for mode in MODES:
            began = time.monotonic()
            try:
                found = demo(version, mode)
            except (RuntimeError, subprocess.CalledProcessError, OSError, ValueError) as error:
                print(f"spark {version} {mode}: FAILED: {error}", flush=True)
                failed += 1
                continue
            first = first or found
            differ = differences(found, first)
            seconds = ", ".join(f"{step} {found[step][0]:.1f}" for step in found if step != "spark")
            said = "equal" if found is not first else "the others are held against it"
            if differ:
                said = f"DIFFERS in {'; '.join(differ)}"
            print(f"spark {version} {mode}: {said}; {time.monotonic() - began:.0f} s ({seconds})", flush=True)
            failed += bool(differ)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(VERSIONS)))
