"""A command line without Spark, or with an engine that stands for the real one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from emulator.cli import main

SCENARIO = """
name = "small"
rounds = 5
[cluster]
brokers = 3
[[topics]]
name = "orders"
partitions = 3
replication_factor = 3
[[variants]]
name = "wide"
topics = [{ name = "orders", partitions = 5 }]
"""


@dataclass
class Summary:
    """What a run returns, as far as the command line looks at it."""

    lines: list[str]
    violations: int


@dataclass
class FakeEngine:
    """Stands for emulator.run: notes its calls, returns or raises what it is told to."""

    outcome: Summary | BaseException = field(default_factory=lambda: Summary(["all is well"], 0))
    calls: list[dict[str, Any]] = field(default_factory=list)

    def run_emulation(self, run: object, out: str, spark: object, **options: Any) -> Summary:
        self.calls.append({"run": run, "out": out, "spark": spark, **options})
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Commands stand in a folder of their own: a run of somebody's in this one, called `out` too, is none of theirs."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test if a session is asked for."""

    def refuse(*_: object) -> None:
        raise AssertionError("Spark is started")

    monkeypatch.setattr("emulator.session.get_session", refuse)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """A run without engine and without Spark."""
    fake = FakeEngine()
    module = ModuleType("emulator.run")
    module.run_emulation = fake.run_emulation  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "emulator.run", module)
    monkeypatch.setattr("emulator.run", module, raising=False)
    monkeypatch.setattr("emulator.session.get_session", lambda *settings: settings)
    monkeypatch.setattr("emulator.session.stop_if_ours", lambda _: None)
    return fake


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """A small scenario file."""
    (tmp_path / "small.toml").write_text(SCENARIO)
    return str(tmp_path / "small.toml")


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., str]:
    """Runs a command line that must fail: returns its one line on standard error; nothing is printed or written."""

    def run(code: int, *arguments: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        assert main(arguments) == code
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("error: ")
        assert printed.err.endswith("\n")
        assert printed.err[:-1].isprintable()
        assert sorted(tmp_path.rglob("*")) == before
        return printed.err

    return run
