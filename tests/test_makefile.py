"""What each target of the Makefile would do, and what its variables change: make -n prints it and runs nothing."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def commands(*arguments: str) -> str:
    """What make would run, whatever is built already."""
    run = subprocess.run(["make", "-n", "-B", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("setup PYTHON=python3.12", "python3.12 -m venv"),
        ("setup", "-m emulator.engine.compile_all"),
        ("setup", "-m emulator.spark.keep_classes"),
        ("test", "-m pytest"),
        ("test-packed", "PACK_ALL=1 .venv/bin/python -m pytest -q tests/test_packed_cluster.py"),
        ("lint", "mypy"),
        ("demo", "emulator check build/demo/result --sample 20"),
        ("site", "-m sphinx -q -W --keep-going -b html"),
        ("bench", "benchmarks/"),
        ("fuzz FUZZ_BATCHES=7", "FUZZ_BATCHES=7 .venv/bin/python -m pytest -q tests/test_differential.py"),
        ("fuzz-bounds", "FUZZ_BOUNDS=1 .venv/bin/python -m pytest -q tests/rounds/test_compiled.py"),
        ("fuzz-leaps FUZZ_LEAPS=3", "FUZZ_LEAPS=3 .venv/bin/python -m pytest -q tests/test_random_leaps.py"),
        (
            "fuzz-ledgers FUZZ_LEDGERS=9",
            "FUZZ_LEDGERS=9 .venv/bin/python -m pytest -q tests/rounds/bookkeeper/test_random_ledgers",
        ),
        ("fuzz-relational", "tests/test_relational_rounds.py -k equal_reference"),
        ("fuzz-relational-on-spark", "FUZZ_BATCHES_ON_SPARK=1 .venv/bin/python -m pytest -q tests/test_relational_rounds.py"),
        ("verify SCHEDULES=5 PROTOCOLS=kafka", "-m datasets.schedules 5 kafka >"),
        ("verify-tiers TIER_SCHEDULES=6 TIER_PROTOCOLS=kafka", "-m datasets.tier_schedules 6 kafka >"),
    ],
)
def test_targets(line: str, expected: str) -> None:
    assert expected in commands(*line.split())


@pytest.mark.parametrize(
    "target",
    [
        "demo",
        "bench",
        "fuzz",
        "fuzz-bounds",
        "fuzz-leaps",
        "fuzz-quorums",
        "fuzz-ledgers",
        "fuzz-relational",
        "fuzz-relational-on-spark",
        "test-packed",
        "test-sparks",
        "verify",
        "verify-tiers",
    ],
)
def test_files_and_modules_of_targets_are_there(target: str) -> None:
    told = commands(target)
    files = re.findall(r"(?:tests|datasets)/[\w./-]+", told)
    modules = [name for name in re.findall(r"-m ([\w.]+)", told) if name.split(".")[0] in ("datasets", "emulator")]
    missing = [name for name in files if not (ROOT / name).exists()]
    assert not missing + [name for name in modules if not (ROOT / f"{name.replace('.', '/')}.py").exists()]
