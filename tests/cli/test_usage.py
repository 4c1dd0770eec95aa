"""The command line: what is wrong is one line, what is asked for is helped with. No engine and no Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from emulator import __version__
from emulator.cli import main

ROOT = Path(__file__).parents[2]
BAD_INPUTS = sorted((ROOT / "tests" / "bad_inputs").glob("*.toml"))


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
        Path(scenario).read_text().replace("rounds = 5", "rounds = 10_000_000").replace("[[variants]]", f"{rows}[[variants]]")
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
    ("compare", "Missing argument 'DIR...'"),
    ("compare . ./", "./: a folder is named twice; allowed: each once"),
    ("compare . nowhere", "nowhere: is not a folder"),
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
def test_sql_without_a_query_lists_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert len(lines) >= 10
    assert all(line.startswith("@") and "?" in line for line in lines)
    assert printed.err.startswith("ask one: ")


def test_shells_complete(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_EMULATOR_COMPLETE", "zsh_source")
    assert main([]) == 0
    assert "#compdef emulator" in capsys.readouterr().out
    monkeypatch.setenv("_EMULATOR_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "emulator sweep --ea")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert main([]) == 0
    assert "--each" in capsys.readouterr().out


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
