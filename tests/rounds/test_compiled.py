"""The decorator and its cache: what Numba does in silence must not come back."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

import emulator.rounds.kafka
from emulator.engine.compile_all import ENTRY_POINTS
from emulator.inputs.arrays import prepare, read_block
from emulator.rounds import compiled, compiled_cache
from tests.reference.random_scenarios import random_batch, to_toml
from tests.rounds.kafka import reference_cases
from tests.rounds.kafka.compared import played, scenarios_of

READS_BEHIND_THE_END = """
import numpy as np
from emulator.rounds.compiled import compiled, entry_point

@compiled
def read(numbers, at):
    return numbers[at]

@entry_point
def rule(numbers):
    return read(numbers, 3)

rule(np.zeros(3, np.int64))
"""

NUMBA_FIRST = """
import numba
print(numba.config.CACHE_DIR)
import emulator.rounds.compiled
from emulator.rounds import compiled_cache
print(numba.config.CACHE_DIR)
print(compiled_cache.cache_folder())
"""

OUR_PACKAGES = ("emulator", "datasets", "jobs", "benchmarks", "tests")

PLAY_PARTITIONS = "emulator.rounds.kafka.play_partitions.play_partitions"


def entry_points() -> Iterator[tuple[str, Any]]:
    """What is compiled to be called from Python, of the rounds' modules: its name and Numba's dispatcher."""
    names = [f"emulator.rounds.kafka.{m.name}" for m in pkgutil.iter_modules(emulator.rounds.kafka.__path__)]
    for name in ["emulator.rounds.lists", "emulator.rounds.slots", *names]:
        for function in vars(importlib.import_module(name)).values():
            if getattr(function, "signatures", None) and function.__module__ == name:
                yield f"{name}.{function.__name__}", function


def test_entry_points_have_one_signature(tmp_path: Path) -> None:
    """Two layouts of a record, or an array that may not be written, would be a second one: wrong results from the cache."""
    for seed, protocol_knows in ((3, {}), (4, {"elr": True})):
        played(scenarios_of(to_toml(random_batch(seed, 20, **protocol_knows)), tmp_path).scenarios)
    assert compiled.is_compiling()
    signatures = {name: len(function.signatures) for name, function in entry_points()}
    assert PLAY_PARTITIONS in signatures
    assert set(signatures.values()) == {1}


def test_nothing_but_entry_points_is_kept(tmp_path: Path) -> None:
    """A rule that is kept by itself could be another one's, of other types: two processes may write its index at once."""
    played(scenarios_of(to_toml(random_batch(3, 2)), tmp_path).scenarios)
    folders = [compiled_cache.folder_of(function) for function in ENTRY_POINTS]
    kept = [path.name.partition("-")[0] for folder in folders for path in folder.rglob("*.nbi")]
    assert "play_partitions.play_partitions" in kept
    assert set(kept) <= {f"{point.__module__.rpartition('.')[2]}.{point.__name__}" for point in ENTRY_POINTS}


def test_blocks_are_arrays_of_one_kind(tmp_path: Path) -> None:
    run = scenarios_of(to_toml(random_batch(3, 20)), tmp_path)
    flags = {s.scenario_id: np.zeros(sum(len(t.assignment) for t in s.topics), bool) for s in run.scenarios}
    block = read_block(prepare(run.scenarios, flags, True, 10).block(np.arange(20)))
    arrays = [*block.inputs, block.state.partitions, block.state.replicas]
    arrays += [array for lists in block.state[2:] for array in lists]
    for array in map(np.asarray, arrays):
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.flags.aligned


def test_the_cache_is_another_after_an_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's cache does not see a changed callee or constant of another file."""
    for folder in ("kafka", "raft"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(compiled_cache, "SOURCES", tmp_path)

    def changed(edited: str) -> list[str]:
        """The systems whose digest an edit changes."""
        digests = []
        for limit in (5, 6):
            (tmp_path / edited).write_text(f"LIMIT = {limit}\n")
            digests.append([compiled_cache.source_digest.__wrapped__(system) for system in ("kafka", "raft")])
        return [system for system, before, after in zip(("kafka", "raft"), *digests, strict=True) if before != after]

    assert changed("lists.py") == ["kafka", "raft"]
    assert changed("kafka/rule.py") == ["kafka"]
    assert changed("raft/rule.py") == ["raft"]


def test_systems_of_rounds_import_nothing_of_each_other() -> None:
    """Or an edit of the one would leave compiled code of the other as it was."""
    systems = {path.name for path in compiled_cache.SOURCES.iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert {"kafka", "bookkeeper"} <= systems
    for path in compiled_cache.SOURCES.rglob("*.py"):
        first, *others = path.relative_to(compiled_cache.SOURCES).parts
        named = set(re.findall(r"emulator\.rounds\.(\w+)", path.read_text(encoding="utf-8"))) & systems
        assert first == compiled_cache.NOT_COMPILED or named <= ({first} if others else set()), path


def test_rounds_take_nothing_from_elsewhere() -> None:
    """A constant of another folder would be in compiled code and in no digest; and rounds know neither Spark nor Numba."""
    for path in compiled_cache.SOURCES.rglob("*.py"):
        first = path.relative_to(compiled_cache.SOURCES).parts[0]
        if first not in (compiled_cache.NOT_COMPILED, "__init__.py"):  # `play`, which is of Spark, is all of the latter
            modules = {name for node in ast.walk(ast.parse(path.read_text("utf-8"))) for name in modules_of(node)}
            ours = {name for name in modules if name.partition(".")[0] in OUR_PACKAGES}
            assert all(f"{name}.".startswith("emulator.rounds.") for name in ours), (path, ours)
            assert not {name.partition(".")[0] for name in modules} & {"pyspark", "numba"}, path


def modules_of(node: ast.AST) -> list[str]:
    """What an import statement names; a dot stands for what is next to the file."""
    if isinstance(node, ast.ImportFrom):
        return ["." * node.level + (node.module or "")]
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []


def test_the_cache_is_another_for_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds may be imported from a zip, where no file of theirs can be listed."""
    digests = set()
    for limit in (5, 6):
        with ZipFile(tmp_path / "emulator.zip", "w") as archive:
            archive.writestr("emulator/rounds/rule.py", f"LIMIT = {limit}")
        monkeypatch.setattr(compiled_cache, "SOURCES", tmp_path / "emulator.zip" / "emulator" / "rounds")
        digests |= {compiled_cache.source_digest.__wrapped__("kafka"), compiled_cache.rounds_digest.__wrapped__()}
    assert len(digests) == 4


@pytest.mark.parametrize("writable", [True, False])
def test_the_cache_folder_is_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writable: bool) -> None:
    """Where the folder named cannot be made, another one is taken: an executor may have no home that can be written."""
    named = tmp_path / "caches"
    if not writable:
        named.write_text("a file")
    monkeypatch.setenv(compiled_cache.CACHE_VARIABLE, str(named))
    folder = compiled_cache.cache_folder.__wrapped__("kafka")
    assert os.access(folder, os.W_OK)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (named in folder.parents) is writable


def test_the_cache_folder_holds_where_numba_came_first(tmp_path: Path) -> None:
    """Numba reads NUMBA_CACHE_DIR once, when it is imported; a program that did so before us has set none of ours."""
    environment = {**os.environ, compiled_cache.CACHE_VARIABLE: str(tmp_path), "PYTHONPATH": str(Path.cwd())}
    done = subprocess.run([sys.executable, "-c", NUMBA_FIRST], env=environment, check=True, capture_output=True, text=True)
    before, after, folder = done.stdout.splitlines()
    assert before != after
    assert Path(after).parent == Path(folder)
    assert tmp_path in Path(folder).parents


FORMS = {
    "ordinary Python": {"NUMBA_DISABLE_JIT": "1"},
    "bounds checked": {"EMULATOR_BOUNDS_CHECK": "1", "EMULATOR_REFERENCE_COUNTS": "1"},
}
"""What rounds run as besides the form that is shipped, and what chooses it; references are counted together with bounds."""


OF_PARTITIONS, OF_GROUPS = (f"tests.rounds.{system}.reference_cases" for system in ("kafka", "quorums"))

RULE_TESTS = [
    f"tests/rounds/kafka/test_{rule}.py" for rule in ("epochs", "fetches_of_round", "leaders_by_local_log", "shrinking")
]
"""Tests of rules by hand arithmetic. With bounds checked they would be compiled for a quarter of an hour, as some have tiers."""


@pytest.mark.parametrize(
    ("form", "cases"),
    [
        ("ordinary Python", OF_PARTITIONS),
        ("bounds checked", OF_GROUPS),
        *([("bounds checked", OF_PARTITIONS)] if os.environ.get("FUZZ_BOUNDS") else []),
    ],
)
def test_300_cases_in_another_form(form: str, cases: str) -> None:
    """With warnings as errors: an overflow of ordinary Python, or an array where a number should be, is one.

    Ordinary Python has each bound of a partition's arrays checked, by NumPy. With bounds checked partitions are compiled for
    minutes, which is for `make fuzz-bounds`; a protocol of groups shows that the form is right.
    """
    done = in_form(form, cases)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_300_cases_as_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert (reference_cases.main(), capsys.readouterr().out) == (0, "")


def test_rules_as_ordinary_python() -> None:
    done = in_form("ordinary Python", "pytest", "-q", "-p", "no:cacheprovider", *RULE_TESTS)
    assert done.returncode == 0, done.stdout[-2000:]
    assert int(re.findall(r"(\d+) passed", done.stdout)[0]) >= 60


def in_form(form: str, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in one of FORMS."""
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", module, *arguments]
    return subprocess.run(command, env={**os.environ, **FORMS[form]}, cwd=Path.cwd(), check=False, capture_output=True, text=True)


def test_bounds_are_checked_where_asked_for(tmp_path: Path) -> None:
    """Slot -1 is the last replica in both forms, so rules ask first; what lies behind the end is an error in this one."""
    (tmp_path / "reads.py").write_text(READS_BEHIND_THE_END)
    environment = {**os.environ, "EMULATOR_BOUNDS_CHECK": "1", "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path.cwd()}"}
    done = subprocess.run([sys.executable, "-m", "reads"], env=environment, check=False, capture_output=True, text=True)
    assert "IndexError" in done.stderr
    assert "Traceback" in done.stderr
