"""emulator doctor: a line for each thing, what mends it, exit code 0 or 1. Starts no Spark."""

from __future__ import annotations

from collections import namedtuple

import pytest

from emulator.cli import main
from emulator.cli.machine import GIB

WHAT = ["Java", "compiled rounds", "memory", "cores", "disk in"]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has all."""
    monkeypatch.setattr("emulator.spark.java.java_major_version", lambda: 17)
    monkeypatch.setattr("emulator.rounds.compiled.is_compiling", lambda: True)
    monkeypatch.setattr("emulator.rounds.compiled_cache.is_cached", lambda _: True)
    _memory(monkeypatch, 8 * GIB)
    _disk(monkeypatch, 8 * GIB)


def test_all_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--verbose"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith(f"ok: {what}") for line, what in zip(lines, WHAT, strict=True)] == [True] * len(WHAT)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ("no java", "missing: Java: none; Java 17 or later is needed: install it with: sudo apt-get install"),
        ("old java", "missing: Java: version 11; Java 17 or later"),
        ("numba", "missing: compiled rounds: numba is not there, or switched off"),
        ("cache", "missing: compiled rounds: 12 of 13 functions in"),
        ("memory", "missing: memory: 1.0 GiB; 2 GiB are needed"),
        ("disk", "0.5 GiB; 1 GiB are needed: make room there, or name another folder: export TMPDIR=DIR"),
    ],
)
def test_what_is_missing_is_told_with_what_mends_it(
    broken: str, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if broken.endswith("java"):
        monkeypatch.setattr("emulator.spark.java.java_major_version", lambda: 11 if broken == "old java" else None)
    elif broken == "numba":
        monkeypatch.setattr("emulator.rounds.compiled.is_compiling", lambda: False)
    elif broken == "cache":
        monkeypatch.setattr("emulator.rounds.compiled_cache.is_cached", lambda function: function.__name__ != "play_partitions")
    elif broken == "memory":
        _memory(monkeypatch, GIB)
    else:
        _disk(monkeypatch, GIB // 2)
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("missing: ") for line in lines) == 1
    assert any(expected in line for line in lines)


def _memory(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("emulator.cli.machine.os.sysconf", lambda name: {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": size}[name])


def _disk(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("emulator.cli.machine.shutil.disk_usage", lambda path: usage(free))
