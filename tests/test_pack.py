"""`emulator pack`: what it packs, the archive's bytes, its `bin/python`, and what it refuses. Nothing is compiled here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, PackagePath, distribution
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emulator.cli import main
from emulator.errors import EnvironmentProblem
from emulator.packing import generic_rounds, pack, requirements
from emulator.packing.archive import Member, first_member, write_archive
from emulator.rounds import compiled_cache

ROOT = Path(__file__).parents[1]

REQUIRED = {
    "replication-emulator": [
        "pyspark>=4",
        "DuckDB>=1",
        "NumPy",
        "frame[fast]>=1",
        "old; python_version < '3'",
        "draw; extra == 'pictures'",
    ],
    "pyspark": ["py4j"],
    "frame": ["numpy>1", "packaging", "zones; sys_platform != 'dos'", "quick.ly; extra == 'fast'", "slow; extra == 'slow'"],
    "quick-ly": ["replication-emulator", "Frame"],
    "numpy": None,
    "zones": [],
    "packaging": [],
    "duckdb": ["only-of-duckdb"],
}


def named(name: str) -> SimpleNamespace:
    if name not in REQUIRED:
        raise PackageNotFoundError(name)
    return SimpleNamespace(requires=REQUIRED[name], metadata={"Name": name})


def test_what_is_required_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """By markers and extras, in any spelling; neither pyspark nor what only that requires; nor what is for other commands."""
    monkeypatch.setattr(requirements, "distribution", named)
    found = requirements.required_distributions()
    assert [package.metadata["Name"] for package in found] == ["frame", "numpy", "packaging", "quick-ly", "zones"]


def test_what_this_package_requires() -> None:
    found = {package.metadata["Name"] for package in requirements.required_distributions()}
    assert {"numpy", "pyarrow", "pandas", "numba", "llvmlite", "python-dateutil", "pydantic_core"} <= found
    assert not {"pyspark", "py4j", "pytest", "matplotlib", *requirements.OF_OTHER_COMMANDS} & found


SCENARIO = """
name = "small"
rounds = 6
[cluster]
brokers = 3
[[topics]]
name = "orders"
partitions = 2
replication_factor = 3
"""


def test_a_run_without_what_only_other_commands_use(tmp_path: Path) -> None:
    """As in cluster mode, driver and workers: these packages are none to any of the run's processes."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({sorted(requirements.OF_OTHER_COMMANDS)}))\n"
    )
    (tmp_path / "small.toml").write_text(SCENARIO)
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    for name in requirements.OF_OTHER_COMMANDS:
        assert "ModuleNotFoundError" in run("-c", f"import {name}").stderr
    done = run(str(ROOT / "jobs" / "emulate.py"), "small.toml", "--out", "out")
    assert (done.returncode, done.stdout.startswith("1 scenarios, 2 partitions")) == (0, True), done.stderr


@pytest.mark.parametrize(
    ("missing", "told"),
    [("numpy", "numpy is not installed in this Python: python -m pip install numpy"),
     ("replication-emulator", "replication-emulator is not installed in this Python: python -m pip install --editable .")],
)  # fmt: skip
def test_a_missing_package(
    missing: str, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(requirements, "distribution", named)
    monkeypatch.delitem(REQUIRED, missing)
    assert main(["pack", "--out", str(tmp_path / "env.tar.gz")]) == 3
    assert capsys.readouterr().err == f"error: {told}\n"
    assert not list(tmp_path.iterdir())


def test_files_of_a_package(tmp_path: Path) -> None:
    for name in ("code.py", "tests/test_code.py", "__pycache__/code.pyc", "lib/code.so"):
        (tmp_path / "fast" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fast" / name).touch()
    recorded = ["../../bin/fast", *(f"fast/{name}" for name in ("code.py", "tests/test_code.py", "lib/code.so"))]
    recorded.append("fast/__pycache__/code.pyc")
    package: Any = SimpleNamespace(metadata={"Name": "fast"}, files=[located(name, tmp_path) for name in recorded])
    assert [name for name, _ in requirements.files_of(package)] == ["fast/code.py", "fast/lib/code.so"]
    (tmp_path / "fast" / "code.py").unlink()
    with pytest.raises(EnvironmentProblem, match=r"fast: .*code\.py is missing; install it again: python -m pip install"):
        list(requirements.files_of(package))
    for files in (None, [located("__editable__.fast-1.pth", tmp_path)]):
        package.files = files
        with pytest.raises(EnvironmentProblem, match="fast: its files are not known from how it is installed here"):
            list(requirements.files_of(package))


def located(name: str, folder: Path) -> PackagePath:
    path = PackagePath(name)
    path.dist = SimpleNamespace(locate_file=lambda inner: folder / inner)  # type: ignore[assignment]
    return path


def test_own_files() -> None:
    names = [name for name, _ in requirements.own_files()]
    for name in ("emulator/packing/launcher.sh", "emulator/rounds/kafka/play_round.py", "emulator/spark/log4j2.properties"):
        assert name in names
    assert "emulator/outcomes/prices.toml" in names
    assert not [name for name in names if "__pycache__" in name]


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    """Whatever their order, times, modes and owners."""
    told: list[int] = []
    for at, mode in ((0, 0o600), (1, 0o755)):
        folder = tmp_path / str(at)
        folder.mkdir()
        for name in ("b.py", "a.py")[:: 1 if at else -1]:
            (folder / name).write_text(f"name = {name!r}\n" * 1000)
            (folder / name).chmod(mode)
            os.utime(folder / name, (at, at))
        members = {path.name: Member(path) for path in sorted(folder.iterdir(), reverse=bool(at))}
        members |= {"z.json": Member(b"{}"), "bin/python": Member(b"#!/bin/sh\n", is_program=True)}
        write_archive(tmp_path / f"{at}.tar.gz", "z.json", members, told.append)
    assert (tmp_path / "0.tar.gz").read_bytes() == (tmp_path / "1.tar.gz").read_bytes()
    assert told[:4] == told[4:] == sorted(told[:4])
    with tarfile.open(tmp_path / "0.tar.gz") as archive:
        assert [(entry.name, entry.mode) for entry in archive] == [
            ("z.json", 0o644), ("a.py", 0o644), ("b.py", 0o644), ("bin/python", 0o755)]  # fmt: skip
    assert first_member(tmp_path / "0.tar.gz") == "z.json"
    assert first_member(tmp_path / "0" / "a.py") is None
    assert first_member(tmp_path / "nowhere") is None


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A pack of one small package, and of rounds that somebody compiled."""
    shipped = tmp_path / "cache" / "0123456789abcdef" / "shipped"
    (shipped / "kafka").mkdir(parents=True)
    for name in ("slots.nbi", "kafka/fetch.1.nbc", "kafka/.fetch.unfinished"):
        (shipped / name).write_text(name)
    versions = {"numpy": "1", "pyarrow": "2", "pandas": "3", "numba": "4"}
    unpacked = [SimpleNamespace(metadata={"Name": name}, version=version, files=[]) for name, version in versions.items()]
    monkeypatch.setattr(pack, "required_distributions", lambda: [distribution("click"), *unpacked])
    monkeypatch.setattr(pack, "generic_rounds", lambda: [shipped])
    monkeypatch.setattr(pack, "WHY_NOT", None)


@pytest.mark.usefixtures("quick")
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pack, "SECONDS_BETWEEN_LINES", 0.0)
    assert main(["pack", "--out", "env.tar.gz"]) == 0
    printed = capsys.readouterr()
    size, left_out, _, line = printed.out.splitlines()
    assert re.fullmatch(r"env\.tar\.gz: \d MB, for Python 3\.\d+ \(\S+\): emulator \S+, numpy 1, .*, numba 4 and 1 more", size)
    assert left_out.startswith("not in it: duckdb, networkx, packaging, scipy, sqlglot, which only other commands than run use")
    driver = f"--conf spark.pyspark.driver.python={sys.executable}"
    assert line == (
        f"spark-submit --master URL --archives 'env.tar.gz#environment' --conf spark.pyspark.python=./environment/bin/python"
        f" {driver} jobs/emulate.py SCENARIO.toml --out DIR"
    )
    first, *progress = printed.err.splitlines()
    assert first.startswith("6 packages for Python 3.")
    assert progress and all(re.fullmatch(r"packing: \d of \d MB", line) for line in progress)
    before = Path("env.tar.gz").read_bytes()
    with tarfile.open("env.tar.gz") as archive:
        names = set(archive.getnames())
    compiled = {name for name in names if name.startswith("compiled/")}
    assert compiled == {f"compiled/0123456789abcdef/shipped/{name}" for name in ("slots.nbi", "kafka/fetch.1.nbc")}
    for name in ("bin/python", "site-packages/click/__init__.py", "site-packages/emulator/engine/play_blocks.py"):
        assert name in names
    assert main(["pack", "--out", "env.tar.gz"]) == 0, "one of an earlier pack is replaced"
    assert Path("env.tar.gz").read_bytes() == before


@pytest.mark.usefixtures("quick")
def test_a_pack_that_ends_early_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "env.tgz"
    assert main(["pack", "--out", str(out)]) == 0
    before = out.read_bytes(), sorted(tmp_path.iterdir())

    def full(path: Path, *_: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pack, "write_archive", full)
    capsys.readouterr()
    assert main(["pack", "--out", str(out)]) == 2
    assert capsys.readouterr().err.endswith(f"error: --out: {out} cannot be written: No space left on device\n")
    assert (out.read_bytes(), sorted(tmp_path.iterdir())) == before


@pytest.mark.parametrize(
    ("out", "told"),
    [
        ("env.zip", "--out: env.zip is no archive that Spark would unpack; allowed: a local file whose name ends with .tar.gz"),
        ("a#b.tar.gz", "--out: a#b.tar.gz is no archive"),
        ("hdfs://h/env.tar.gz", "--out: hdfs://h is not a folder; allowed: a local file in a folder that exists"),
        ("gone/env.tar.gz", "--out: gone is not a folder"),
        ("folder.tar.gz", "--out: folder.tar.gz is no file to write; allowed: a local file"),
        ("", "--out: an empty name is no file to write"),
        ("own.tar.gz", "--out: own.tar.gz is there and is no archive of emulator pack; allowed: another name"),
        ("text.tar.gz", "--out: text.tar.gz is there and is no archive of emulator pack"),
    ],
)  # fmt: skip
def test_wrong_names(
    out: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.tar.gz").mkdir()
    Path("text.tar.gz").write_text("mine")
    write_archive(Path("own.tar.gz"), "mine", {"mine": Member(b"precious")}, lambda _: None)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["pack", "--out", out]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"error: {told}") and printed.err.count("\n") == 1
    assert printed.out == ""
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()} == before


def test_where_nothing_can_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pack, "WHY_NOT", "ModuleNotFoundError: No module named 'numba'")
    out = str(tmp_path / "env.tar.gz")
    assert main(["pack", "--out", out]) == 3
    told = "error: the rounds cannot be compiled: numba cannot be used (ModuleNotFound"
    assert capsys.readouterr().err.startswith(told)
    assert main(["pack", "--verbose", "--out", out]) == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [('{"problem": "no room"}', 0, "the rounds were not compiled: no room"), ("", -9, "ended with code -9")],
)
def test_where_compiling_fails(answer: str, code: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=code, stdout=answer))
    with pytest.raises(EnvironmentProblem, match=told):
        generic_rounds.generic_rounds()


def test_the_process_that_compiles_is_told_for_which_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else that is set here of how to compile."""
    for name in (
        "NUMBA_CPU_FEATURES",
        "NUMBA_DISABLE_JIT",
        "EMULATOR_BOUNDS_CHECK",
        "EMULATOR_REFERENCE_COUNTS",
        compiled_cache.PACKED_VARIABLE,
    ):
        monkeypatch.setenv(name, "1")
    monkeypatch.delenv("EMULATOR_CACHE_DIR", raising=False)  # whoever runs the tests may have one
    given: dict[str, Any] = {}

    def run(_: object, **options: Any) -> SimpleNamespace:
        given.update(options["env"])
        return SimpleNamespace(returncode=0, stdout='{"folders": ["/caches/0/shipped"]}')

    monkeypatch.setattr(subprocess, "run", run)
    assert generic_rounds.generic_rounds() == [Path("/caches/0/shipped")]
    assert {k: v for k, v in given.items() if re.match("NUMBA|EMULATOR", k)} == {"NUMBA_CPU_NAME": "generic"}


@pytest.fixture
def launch(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the `bin/python` of an unpacked archive, with these environment variables alone."""
    launcher = tmp_path / "unpacked here" / "bin" / "python"
    launcher.parent.mkdir(parents=True)
    launcher.write_bytes(pack.launcher())
    launcher.chmod(0o755)
    (tmp_path / "unpacked here" / "site-packages").mkdir()
    (tmp_path / "unpacked here" / "site-packages" / "packed.py").touch()

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = ["./unpacked here/bin/python", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)

    return run


SAY = "import os, packed, sys; print(packed.__file__, *sys.argv[1:], *(os.environ[name] for name in {!r}))"


def test_the_launcher(launch: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    variables = ["NUMBA_CPU_NAME", compiled_cache.PACKED_VARIABLE, "PYTHONPATH"]
    here = tmp_path / "unpacked here"
    for given in ({"PATH": str(Path(sys.executable).parent)}, {"EMULATOR_PYTHON": sys.executable, "PATH": "/nowhere"}):
        done = launch("-c", SAY.format(variables), "an argument", PYTHONPATH="/spark.zip", **given)
        packages = here / "site-packages"
        said = f"{packages / 'packed.py'} an argument generic {here / 'compiled'} {packages}:/spark.zip\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    done = launch("-c", SAY.format(["NUMBA_CPU_NAME"]), EMULATOR_PYTHON=sys.executable, NUMBA_CPU_NAME="skylake")
    assert done.stdout.endswith(" skylake\n")


def test_a_machine_without_this_version_of_python(
    launch: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho cpython-27-x86_64-linux-gnu\n")
    other.chmod(0o755)
    (tmp_path / "empty").mkdir()
    version = f"error: Python {sys.version_info.major}.{sys.version_info.minor} ("
    for variables in ({"PATH": str(tmp_path)}, {"PATH": str(tmp_path / "empty")}, {"EMULATOR_PYTHON": str(other)}):
        done = launch("-c", "print(1)", **variables)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
        assert done.stderr.startswith(version)
        assert done.stderr.endswith("is not one; allowed: one in PATH or named by EMULATOR_PYTHON\n")
