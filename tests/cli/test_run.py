"""`emulator run`: what it hands on, exit codes, what it prints where. The engine is not run here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.cli import main
from emulator.cli.sessions import load_rounds
from emulator.errors import EnvironmentProblem, InputError
from emulator.progress import Progress
from tests.cli.conftest import FakeEngine, Summary

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("no_spark")
def test_dry_run_says_what_would_run(scenario: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", scenario, "--dry-run", "--out", str(tmp_path / "out"), "--trace", "orders:1"]) == 0
    printed = capsys.readouterr()
    assert "partitions" in printed.out
    assert "rounds" in printed.out
    for told in ("time: about ", "memory: about ", "disk: about "):
        assert sum(line.startswith(told) for line in printed.out.splitlines()) == 1, told
    assert printed.err == ""
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_run_hands_everything_on(scenario: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--mode", "plain", "--trace", " orders:4, orders:04,orders:0", "--state-at", "3, 1,3", "--master", "local[1]"]
    settings = ["--conf", "spark.a=1=2", "--conf", "spark.b="]
    assert main(["run", scenario, "--out", "hdfs://host/out", *flags, *settings]) == 0
    printed = capsys.readouterr()
    assert printed.out == "all is well\n"
    assert printed.err == ""
    call = engine.calls[0]
    assert (call["out"], call["mode"], call["trace"]) == ("hdfs://host/out", "plain", "orders:0,orders:4")
    assert call["state_at"] == [1, 3]
    *asked, meanwhile = call["spark"]
    assert asked == ["local[1]", {"spark.a": "1=2", "spark.b": ""}, "emulator run small"]
    assert (meanwhile.func, meanwhile.args) == (load_rounds, (call["run"],))
    assert len(call["run"].scenarios) == 2


def test_mode_and_trace_may_be_absent(scenario: str, engine: FakeEngine) -> None:
    assert main(["run", scenario, "--out", "out"]) == 0
    assert (engine.calls[0]["mode"], engine.calls[0]["trace"]) == (None, "none")


def test_resume_is_handed_on(scenario: str, engine: FakeEngine) -> None:
    assert main(["run", scenario, "--out", "out", "--resume", "--checkpoint-every", "3"]) == 0
    assert engine.calls[0]["resume"] is True


def test_options_of_rounds_that_are_gone_are_taken(scenario: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    """--engine expressions and --checkpoint-every are what scripts may have; a note says that they have no effect."""
    assert main(["run", scenario, "--out", "out", "--engine", "expressions", "--checkpoint-every", "3"]) == 0
    assert not {"engine", "checkpoint_every"} & engine.calls[0].keys()
    notes = capsys.readouterr().err.splitlines()
    assert [note.split(" has no effect")[0] for note in notes] == ["note: --engine expressions", "note: --checkpoint-every"]


@pytest.mark.parametrize(
    ("outcome", "flags", "code", "error"),
    [
        (Summary(["two"], 2), ["--fail-on-violation"], 1, "error: invariants were violated 2 times: emulator sql out "),
        (Summary(["two"], 2), [], 0, ""),
        (Summary(["none"], 0), ["--fail-on-violation"], 0, ""),
        (InputError("out: is a file"), [], 2, "error: out: is a file\n"),
        (EnvironmentProblem("Java is needed"), [], 3, "error: Java is needed\n"),
        (
            ValueError("two\nlines"),
            [],
            3,
            "error: the run failed: ValueError: two\\nlines (--verbose or EMULATOR_DEBUG=1 shows the stack trace)\n",
        ),
        (
            OSError(28, "No space left on device"),
            [],
            3,
            "error: no space is left on the disk: make room; nothing was finished yet: the same command starts anew\n",
        ),
        (MemoryError(), [], 3, "error: the run failed: MemoryError: "),
        (KeyboardInterrupt(), [], 130, "error: interrupted; nothing was finished yet: the same command starts anew\n"),
        (KeyboardInterrupt(), ["--resume"], 130, "error: interrupted; go on with: emulator run "),
    ],
)
def test_exit_codes_of_a_run(
    outcome: Summary | BaseException,
    flags: list[str],
    code: int,
    error: str,
    scenario: str,
    engine: FakeEngine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EMULATOR_DEBUG", raising=False)
    engine.outcome = outcome
    assert main(["run", scenario, "--out", "out", *flags]) == code
    printed = capsys.readouterr()
    assert printed.out == "".join(f"{line}\n" for line in getattr(outcome, "lines", []))
    assert printed.err.startswith(error)
    assert printed.err.count("\n") == (1 if error else 0)


def test_an_interrupted_run_that_has_kept_something_says_how_to_go_on(
    scenario: str, engine: FakeEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted_later(*_: object, progress: Progress, **__: object) -> Summary:
        progress.keeps()
        raise KeyboardInterrupt

    monkeypatch.setattr("emulator.run.run_emulation", interrupted_later)
    assert main(["run", scenario, "--out", "out"]) == 130
    assert capsys.readouterr().err == f"error: interrupted; go on with: emulator run {scenario} --out out --resume\n"


@pytest.mark.parametrize("variable", [True, False])
def test_the_stack_trace_is_shown_on_demand(
    variable: bool,
    scenario: str,
    engine: FakeEngine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine.outcome = ValueError("wrong")
    if variable:
        monkeypatch.setenv("EMULATOR_DEBUG", "1")
    assert main(["run", scenario, "--out", "out", *([] if variable else ["--verbose"])]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "error: the run failed: ValueError: wrong"


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("command", [["run"], ["sweep", "--seeds", "2"]])
def test_a_folder_that_holds_something_else_is_refused(
    command: list[str], scenario: str, tmp_path: Path, fails: Callable[..., str]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("kept")
    message = fails(2, command[0], scenario, *command[1:], "--out", str(tmp_path / "mine"))
    assert "mine: holds something else than tables of a run: letter.txt; allowed: a new or empty folder, or one of" in message


def test_a_folder_of_an_earlier_run_may_hold_more(scenario: str, engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "out" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "report.html").write_text("kept")
    assert main(["run", scenario, "--out", str(tmp_path / "out")]) == 0
    (tmp_path / "new").mkdir()
    assert main(["run", scenario, "--out", str(tmp_path / "new")]) == 0


def test_jobs_emulate_runs_the_same_code_from_anywhere(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "jobs" / "emulate.py"), "nowhere.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: nowhere.toml: file: does not exist; allowed: a file that can be read\n"
    assert list(tmp_path.iterdir()) == []
