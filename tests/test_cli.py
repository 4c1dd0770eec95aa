"""The command line: exit codes, one-line errors, what it prints where. The engine is not run here."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from emulator import __version__
from emulator.cli import main
from emulator.errors import EnvironmentProblem, InputError
from emulator.progress import Progress

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "datasets" / "examples"
CLUSTER = EXAMPLES / "kafka-4.1.1"
BAD_INPUTS = sorted((ROOT / "tests" / "bad_inputs").glob("*.toml"))
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


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("path", BAD_INPUTS, ids=lambda path: path.stem)
def test_bad_scenarios_give_one_line_and_write_nothing(path: Path, fails: Callable[..., str], tmp_path: Path) -> None:
    message = fails(2, "run", str(path), "--out", str(tmp_path / "out"))
    for part in path.read_text().splitlines()[0].removeprefix("# expect: ").split(" | "):
        assert part in message


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("command", [["run"], ["sweep", "--seeds", "2"]])
def test_rates_that_are_too_uneven_are_refused_before_spark_starts(
    command: list[str], scenario: str, fails: Callable[..., str], tmp_path: Path
) -> None:
    rows = "".join(f'[[workload]]\ntopic = "orders"\nrecords_per_second = {rate / 100}\n' for rate in range(31, 38))
    Path(scenario).write_text(
        SCENARIO.replace("rounds = 5", "rounds = 10_000_000").replace("[[variants]]", f"{rows}[[variants]]")
    )
    message = fails(2, command[0], scenario, *command[1:], "--out", str(tmp_path / "out"))
    assert "rounds a record more than the others (scenario base); allowed: up to 8000000: a rate that is whole" in message


USAGE_ERRORS = [
    ("nonsense", "No such command 'nonsense'"),
    ("run", "Missing argument 'SCENARIO.toml'"),
    ("run SCENARIO", "--out: no folder is given"),
    ("run SCENARIO --out ", "--out: no folder is given"),
    ("run SCENARIO --out x --speed 3", "No such option"),
    ("run SCENARIO --out x --mode fast", "'fast' is not one of 'plain', 'leap'"),
    ("run SCENARIO --out x --conf spark.a", '--conf: "spark.a" is no Spark setting; allowed: spark.KEY=VALUE'),
    ("run SCENARIO --out x --conf a=b", '--conf: "a=b" is no Spark setting'),
    (
        "run SCENARIO --out x --trace orders",
        '--trace: "orders" is no partition; allowed: none, all, or TOPIC:PARTITION',
    ),
    ("run SCENARIO --out x --trace order:1", 'no topic is called "order" (did you mean "orders"?); allowed: orders'),
    ("run SCENARIO --out x --trace orders:0,orders:5", "--trace: 5 is not a partition of orders; allowed: 0 to 4"),
    ("run SCENARIO --dry-run --trace orders:x", '--trace: "orders:x" is no partition'),
    ("run SCENARIO --out x --state-at 3,x", '--state-at: "x" is no round; allowed: rounds from 0 to 4, as in 10,20'),
    ("run SCENARIO --out x --state-at=-1", '--state-at: "-1" is no round; allowed: rounds from 0 to 4'),
    ("run SCENARIO --out x --state-at 30", "--state-at: round 30 is beyond the end of the run; allowed: rounds from 0 to 4"),
    (
        "run SCENARIO --out x --state-at 3 --engine relational",
        "--engine relational: it has no --state-at; allowed: --engine comp",
    ),
    ("run nowhere.toml --out x", "nowhere.toml: file: does not exist; allowed: a file that can be read"),
    ("import kafka --out x", "Missing option '--describe'"),
    (
        "import kafka --offsets latest-tiered=x --remote-metadata y --out z",
        "which topics are tiered (--offsets and --remote-metadata add to it);"
        " allowed: the FILE of kafka-topics.sh --bootstrap-server HOST:PORT --describe > FILE",
    ),
    ("import kafka --describe x", "Missing option '--out'"),
    ("import kafka --describe nowhere.txt --out x", "nowhere.txt"),
    ("import kafka --describe x --data-dir b1=y --out x", '--data-dir: "b1=y" is not BROKER=DIR; allowed: as in 1='),
    ("import kafka --describe x --data-dir 1 --out x", '--data-dir: "1" is not BROKER=DIR'),
    ("import zookeeper", "No such command 'zookeeper'"),
    ("sql", "Missing argument 'DIR'"),
    ("sql nowhere", "nowhere: is not a folder; allowed: the DIR of emulator run"),
    ("sql SCENARIO @how_do_variants_compare", "is not a folder"),
    ("sql . @nothing", 'no bundled question is named "nothing"'),
    ("sql . @how_do_variants_compared", '(did you mean "how_do_variants_compare"?)'),
    ("compare nowhere --report tiering", "nowhere: is not a folder"),
    ("graph nowhere --out x", "nowhere: is not a folder"),
    ("graph nowhere.toml --out x", "nowhere.toml: file: does not exist"),
    ("graph SCENARIO --out x --picture x.png", "x.png is of no known format; allowed: a file that ends in .svg or .html"),
    ("graph SCENARIO --out x --picture gone/x.svg", "--picture: gone is not a folder; allowed: a local file"),
    ("graph nowhere", "Missing option '--out'"),
    ("graph SCENARIO --out x --failures 0", "0 is not in the range x>=1"),
    ("compare . --report money", "'money' is not one of 'losses', 'tiering'"),
    ("compare . --prices x.toml", "--prices: the report of losses has no prices; allowed: with --report tiering"),
    (
        "compare . --report quorums --prices x.toml",
        "--prices: the report of quorums has no prices; allowed: with --report tiering",
    ),
    ("import bookkeeper --out x", "--ledgers: no file is given; allowed: --ledgers FILE, --internal-stats TOPIC=FILE, or both"),
    ("import bookkeeper --internal-stats x --out y", '--internal-stats: "x" is not TOPIC=FILE; allowed: as in'),
    ("compare . --report tiering --prices x.toml", "x.toml: file: does not exist"),
    ("compare . --report tiering --by topik", '--by: outcomes has no column "topik" (did you mean "topic"?)'),
    (
        "compare . --report placement --picture x.svg",
        "--picture: the report of placement has no picture; allowed: with --report losses, tiering or protocols",
    ),
    (
        "explain-round",
        "emulator explain-round: Missing argument 'SYSTEM'. Choose from: kafka (see emulator explain-round --help)",
    ),
    ("report . --html x.html --picture x.png", "--picture: x.png is of no known format; allowed: a file that ends in .svg"),
    ("report . --html x.html --picture gone/x.svg", "--picture: gone is not a folder; allowed: a local file"),
    ("compare . --picture x.bmp", "x.bmp is of no known format; allowed: a file that ends in"),
    ("compare . --by topic --picture x.svg", "--picture: is of whole scenarios; allowed: without --by"),
    ("compare . --report tiering --by topic --picture x.svg", "--picture: is of whole scenarios; allowed: without --by"),
    ("compare . --report tiering --picture gone/x.svg", "--picture: gone is not a folder; allowed: a local file"),
    ("compare . --report tiering --picture x.xls", "x.xls is of no known format; allowed: a file that ends in"),
    ("sql . x --prices SCENARIO", 'name: unknown key "name"; allowed: currency'),
    ("sql . x --format xml", "'xml' is not one of 'table', 'csv', 'json'"),
]


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize(("line", "expected"), USAGE_ERRORS)
def test_wrong_command_lines(
    line: str, expected: str, scenario: str, fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in fails(2, *(scenario if word == "SCENARIO" else word for word in line.split(" ")))


def test_an_unknown_master_is_bad_input(
    scenario: str, fails: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "emulator.run", ModuleType("emulator.run"))
    monkeypatch.setattr("emulator.run", sys.modules["emulator.run"], raising=False)
    message = fails(2, "run", scenario, "--out", str(tmp_path / "out"), "--master", "lokal")
    assert "--master: 'lokal' is not a Spark master" in message


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"emulator {__version__}\n"


@pytest.mark.parametrize(
    "command", [[], ["run"], ["import"], ["import", "kafka"], ["sql"], ["explain"], ["check"], ["explain-round"]]
)
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: {' '.join(['emulator', *command])}")


def test_nothing_asked_shows_the_help_as_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("Usage: emulator")


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
    assert call["spark"] == ("local[1]", {"spark.a": "1=2", "spark.b": ""}, "emulator run small")
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
def test_sql_without_a_query_lists_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert len(lines) >= 10
    assert all(line.startswith("@") and "?" in line for line in lines)
    assert printed.err.startswith("ask one: ")


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


def test_shells_complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_EMULATOR_COMPLETE", "zsh_source")
    assert main([]) == 0
    assert "#compdef emulator" in capsys.readouterr().out
    monkeypatch.setenv("_EMULATOR_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "emulator sweep --ea")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert main([]) == 0
    assert "--each" in capsys.readouterr().out


def test_jobs_emulate_runs_the_same_code_from_anywhere(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "jobs" / "emulate.py"), "nowhere.toml", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: nowhere.toml: file: does not exist; allowed: a file that can be read\n"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "emulator.cli", "sql", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert "Traceback" not in errors
    assert "error" not in errors


def test_a_command_without_spark_ends_in_one_line_when_told() -> None:
    """SIGTERM amid a command that has started no Java."""
    code = (
        "import os, signal, sys, time, click\n"
        "from emulator.cli.exits import run_command_line\n"
        "@click.command()\n"
        "def waits():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(30)\n"
        "group = click.Group(commands={'waits': waits})\n"
        "sys.exit(run_command_line(group, 'emulator', ['waits']))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "", "error: told to end\n")
