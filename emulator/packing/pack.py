"""The archive that Spark unpacks for every executor: Python's packages, compiled rounds, and a `bin/python` that knows them.

Tools that do the like, venv-pack and conda-pack, take a whole environment, pyspark's 489 MB included, and have no place for
compiled rounds.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import sysconfig
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import emulator
from emulator.errors import EnvironmentProblem, InputError
from emulator.packing.archive import Member, first_member, write_archive
from emulator.packing.generic_rounds import generic_rounds
from emulator.packing.requirements import OF_OTHER_COMMANDS, files_of, own_files, required_distributions
from emulator.rounds.compiled_cache import WHY_NOT
from emulator.storage.written_file import refuse_unwritable, writing

ENDINGS = (".tar.gz", ".tgz")
"""Of the names of archives that Spark unpacks and that are written here."""

MANIFEST = "emulator-pack.json"
"""First in the archive: versions, and what tells it from other archives."""

FOLDER = "environment"
"""The name that executors see the unpacked archive by."""

LAUNCHER = Path(__file__).with_name("launcher.sh")
COMPILED_FILES = ("*.nbi", "*.nbc")
NAMED = ("emulator", "numpy", "pyarrow", "pandas", "numba")
"""Packages whose versions are told."""

SECONDS_BETWEEN_LINES = 2.0


def pack(out: str, say: Callable[[str], None]) -> list[str]:
    """Write the archive `out`; lines of what it has and how to use it. An archive of an earlier pack is replaced.

    `say`: for progress. Raises InputError for an `out` that cannot be it, EnvironmentProblem for what this Python lacks.
    """
    path = _checked(out)
    if WHY_NOT is not None:
        raise EnvironmentProblem(f"the rounds cannot be compiled: numba cannot be used ({WHY_NOT})")
    packages = required_distributions()
    versions = {"emulator": emulator.__version__, **{package.metadata["Name"]: package.version for package in packages}}
    members = {f"site-packages/{name}": Member(file) for package in packages for name, file in files_of(package)}
    members |= {f"site-packages/{name}": Member(file) for name, file in own_files()}
    say(f"{len(packages) + 1} packages for Python {_version()} ({_built_for()}), and rounds compiled for any CPU of its kind ...")
    for compiled, pattern in product(generic_rounds(), COMPILED_FILES):
        for file in compiled.rglob(pattern):
            members[f"compiled/{compiled.parent.name}/{file.relative_to(compiled.parent).as_posix()}"] = Member(file)
    members[MANIFEST] = Member(_manifest(versions))
    members["bin/python"] = Member(launcher(), is_program=True)
    with writing("--out", out):
        _write(path, members, say)
    return [
        f"{out}: {path.stat().st_size / 1e6:.0f} MB, for Python {_version()} ({_built_for()}): {_listed(versions)}",
        f"not in it: {', '.join(sorted(OF_OTHER_COMMANDS))}, which only other commands than run use; pyspark is the cluster's",
        "on a cluster, from the project's folder (in cluster mode without spark.pyspark.driver.python):",
        spark_submit_line(out),
    ]


def spark_submit_line(out: str) -> str:
    """The command line of a run whose executors have the archive, in client mode, where the driver is this Python."""
    archive, driver = shlex.quote(f"{out}#{FOLDER}"), shlex.quote(f"spark.pyspark.driver.python={sys.executable}")
    python = f"--conf spark.pyspark.python=./{FOLDER}/bin/python --conf {driver}"
    return f"spark-submit --master URL --archives {archive} {python} jobs/emulate.py SCENARIO.toml --out DIR"


def _checked(out: str) -> Path:
    """`out` as a path; raises InputError for one that cannot be written, that Spark would not unpack, or of something else."""
    refuse_unwritable("--out", out)
    path = Path(out)
    if not path.name.endswith(ENDINGS) or set("#,:") & set(out):
        allowed = f"a local file whose name ends with {' or '.join(ENDINGS)}, without # , :"
        raise InputError(f"--out: {out} is no archive that Spark would unpack; allowed: {allowed}")
    if path.exists() and first_member(path) != MANIFEST:
        raise InputError(f"--out: {out} is there and is no archive of emulator pack; allowed: another name")
    return path


def _write(path: Path, members: dict[str, Member], say: Callable[[str], None]) -> None:
    """The whole archive, or what was there before."""
    total_bytes, last = sum(member.size_bytes for member in members.values()), time.monotonic()

    def advance(done_bytes: int) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            say(f"packing: {done_bytes / 1e6:.0f} of {total_bytes / 1e6:.0f} MB")
            last = time.monotonic()

    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_archive(unfinished, MANIFEST, members, advance)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _manifest(versions: dict[str, str]) -> bytes:
    told = {"python": _version(), "built_for": _built_for(), "packages": versions}
    return json.dumps(told, indent=1).encode() + b"\n"


def launcher() -> bytes:
    """The archive's `bin/python`."""
    text = LAUNCHER.read_text("utf-8").replace("@VERSION@", _version()).replace("@SOABI@", _built_for())
    return text.encode()


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _built_for() -> str:
    """What extension modules of this Python are built for: its version, machine and C library."""
    return str(sysconfig.get_config_var("SOABI"))


def _listed(versions: dict[str, str]) -> str:
    named = ", ".join(f"{name} {versions[name]}" for name in NAMED)
    return f"{named} and {len(versions) - len(NAMED)} more"
