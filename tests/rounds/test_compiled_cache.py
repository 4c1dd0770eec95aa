"""Compiled code on machines like executors: another CPU's cache, no home to write to, many processes at once, one of them killed.

Subprocesses with a few functions of their own instead of the rounds, which take a minute.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.rounds import compiled_cache

ROOT = Path(__file__).parents[2]

RULES = """
from emulator.rounds.compiled import compiled, entry_point

@compiled
def doubled(number):
    return 2 * number

@entry_point
def rule(number):
    return doubled(number) + 1
"""

PROCESS = """
import sys, time
from pathlib import Path
from emulator.rounds import compiled_cache
compiled_cache.SOURCES = Path(sys.argv[1])
sys.path.insert(0, sys.argv[1])
from emulator.rounds.compiled import compile_once
from rules import rule

def compile_it():
    while sys.argv[2] and not Path(sys.argv[2]).exists():
        time.sleep(0.02)
    rule(20)

ours = compile_once(rule, compile_it, begins=lambda: print("begins", flush=True), waits=lambda: print("waits", flush=True))
result = rule(20)
if hasattr(rule, "stats"):
    print("result", result, "hits", sum(rule.stats.cache_hits.values()), "misses", sum(rule.stats.cache_misses.values()))
print("folder", compiled_cache.folder_of(rule))
"""

pytestmark = pytest.mark.skipif(compiled_cache.numba is None, reason="numba is missing")


class Machine:
    """Processes of one user on one machine: no home that can be written, a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.sources = folder / "sources"
        self.sources.mkdir()
        (self.sources / "rules.py").write_text(RULES)

    def start(self, until: Path | None = None, sources: Path | None = None, **variables: str) -> subprocess.Popen[str]:
        """A process that has the rule compiled, once this file is there, and uses it."""
        without = {name: value for name, value in os.environ.items() if not re.match("NUMBA_|EMULATOR_|XDG_", name)}
        # A file, which not even root makes folders in.
        environment = without | {"HOME": "/dev/null", "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)} | variables
        command = [sys.executable, "-c", PROCESS, str(sources or self.sources), str(until or "")]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)

    def said(self, process: subprocess.Popen[str]) -> str:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return said

    def run(self, **variables: str) -> str:
        return self.said(self.start(**variables))

    def compile_while_others_wait(self, others: int, **variables: str) -> None:
        """A process compiles the rule as others begin, which wait for it and find it then."""
        first = self.start(until=self.folder / "go", **variables)
        assert line_of(first) == "begins\n"
        waiting = [self.start(**variables) for _ in range(others)]
        assert [line_of(process) for process in waiting] == ["waits\n"] * others
        (self.folder / "go").touch()
        assert MISS in self.said(first)
        for said in map(self.said, waiting):
            assert said.startswith(HIT), said
            assert self.temporary in folder_of(said).parents


def line_of(process: subprocess.Popen[str]) -> str:
    """What a process says next."""
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


OTHER_CPU = {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse4.2"}
HIT, MISS = "result 41 hits 1 misses 0", "result 41 hits 0 misses 1"


def folder_of(said: str) -> Path:
    return Path(said.split("folder ")[1].strip())


def test_one_process_compiles_and_the_others_wait(machine: Machine) -> None:
    machine.compile_while_others_wait(2)
    said = machine.run()
    assert "waits" not in said and HIT in said


def test_a_killed_process_leaves_its_place_to_another(machine: Machine) -> None:
    first = machine.start(until=machine.folder / "never")
    assert line_of(first) == "begins\n"
    others = [machine.start() for _ in range(2)]
    assert [line_of(other) for other in others] == ["waits\n"] * 2
    first.send_signal(signal.SIGKILL)
    first.wait()
    said = [machine.said(other) for other in others]
    assert sorted("begins" in one for one in said) == [False, True]
    assert sorted(HIT in one for one in said) == [False, True]


def test_who_holds_the_lock_for_ever_is_not_waited_for(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(machine.temporary))
    monkeypatch.setattr(compiled_cache, "folder_of", lambda _: machine.folder / "empty")
    monkeypatch.setattr(compiled_cache, "WAIT_SECONDS_MAX", 0.5)

    def rule() -> None: ...

    began = time.monotonic()
    with compiled_cache.one_compiles(rule) as outer, compiled_cache.one_compiles(rule) as inner:
        assert outer and inner
    assert 0.5 <= time.monotonic() - began < 10


def test_the_same_sources_in_another_folder_are_found(machine: Machine) -> None:
    """Every executor unpacks the archive into a folder of its own."""
    assert MISS in machine.run()
    elsewhere = machine.folder / "another" / "environment"
    shutil.copytree(machine.sources, elsewhere)
    os.utime(elsewhere / "rules.py", (0, 0))
    assert HIT in machine.said(machine.start(sources=elsewhere))


def test_what_was_compiled_for_another_cpu_is_not_used(machine: Machine) -> None:
    theirs = machine.run(**OTHER_CPU)
    assert MISS in theirs and HIT in machine.run(**OTHER_CPU)
    assert HIT not in machine.run(**OTHER_CPU | {"NUMBA_CPU_FEATURES": "+sse4.2,+popcnt"}), "the same CPU with other features"
    ours = machine.run()
    assert MISS in ours
    assert folder_of(ours) != folder_of(theirs)
    # Numba itself looks for the CPU as well: not even in the folder of this one.
    shutil.rmtree(folder_of(ours))
    shutil.copytree(folder_of(theirs), folder_of(ours))
    assert MISS in machine.run()


@pytest.fixture
def packed(machine: Machine) -> Iterator[Callable[..., Path]]:
    """Makes a folder of caches as an archive has it, compiled with these variables; it must stay as it is, read-only."""
    folder, before = machine.folder / "packed", {}

    def pack(**variables: str) -> Path:
        assert MISS in machine.run(EMULATOR_CACHE_DIR=str(folder), **variables)
        for path in folder.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        folder.chmod(0o555)
        before.update(state_of(folder))
        return folder

    yield pack
    assert before and state_of(folder) == before
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)


def state_of(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_what_was_packed_for_any_cpu_is_used(machine: Machine, packed: Callable[..., Path]) -> None:
    """By several executors at once, none of which has anything yet or can write beside it."""
    generic = {"NUMBA_CPU_NAME": "generic"}
    folder = packed(**generic)
    processes = [machine.start(EMULATOR_PACKED_CACHE=str(folder), **generic) for _ in range(4)]
    for said in map(machine.said, processes):
        assert said.startswith(HIT), said
        assert machine.temporary in folder_of(said).parents
    files = [path.relative_to(folder) for path in folder.rglob("*.nb?")]
    (home,) = machine.temporary.glob("replication-emulator-*/")
    assert sorted(path.relative_to(home) for path in home.rglob("*") if path.is_file()) == sorted(files)


def test_what_was_packed_for_another_cpu_is_compiled_once(machine: Machine, packed: Callable[..., Path]) -> None:
    machine.compile_while_others_wait(2, EMULATOR_PACKED_CACHE=str(packed(**OTHER_CPU)))
    said = machine.run(EMULATOR_PACKED_CACHE=str(machine.folder / "nothing"))
    assert said.startswith(HIT), "a folder that is not there does no harm"


def test_a_named_folder_that_cannot_be_written_is_compiled_for_once(machine: Machine) -> None:
    """As a folder within an archive: processes must not have a cache of their own each."""
    machine.compile_while_others_wait(1, EMULATOR_CACHE_DIR="/dev/null/caches")


def test_what_the_cache_is_named_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another patch of Python's version finds it, another CPU does not; states may be carried to both."""
    code, rounds = compiled_cache.source_digest.__wrapped__("kafka"), compiled_cache.rounds_digest.__wrapped__()
    monkeypatch.setattr(sys, "version", sys.version.replace(".", ".9", 2))
    assert compiled_cache.source_digest.__wrapped__("kafka") == code
    for name, value in (("CPU_NAME", "generic"), ("CPU_FEATURES", "")):
        monkeypatch.setattr(compiled_cache.config, name, value)
    generic = compiled_cache.source_digest.__wrapped__("kafka")
    assert compiled_cache.cpu() == "generic "
    assert generic != code
    assert compiled_cache.rounds_digest.__wrapped__() == rounds
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: "cpython-311-aarch64-linux-gnu")
    assert compiled_cache.source_digest.__wrapped__("kafka") != generic


def test_a_users_folder_that_others_may_write_to_is_not_used(machine: Machine) -> None:
    home = machine.temporary / f"replication-emulator-{os.getuid()}"
    home.mkdir()
    home.chmod(0o777)
    assert home not in folder_of(machine.run()).parents
    named = machine.folder / "named"  # what a user names is the user's own choice, as with umask 002
    named.mkdir()
    named.chmod(0o775)
    assert named in folder_of(machine.run(EMULATOR_CACHE_DIR=str(named))).parents


def test_a_user_without_a_home_has_a_cache(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user no file knows: then not even the path of a home is known."""

    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv(compiled_cache.CACHE_VARIABLE, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(machine.temporary))
    assert machine.temporary in compiled_cache.cache_folder.__wrapped__("kafka").parents
