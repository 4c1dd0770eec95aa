"""Which installed packages this one needs at run time, and their files."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import emulator
from emulator.errors import EnvironmentProblem

OWN = "replication-emulator"

OF_THE_CLUSTER = frozenset({"pyspark"})
"""What executors have from Spark itself, with what only that requires."""

OF_OTHER_COMMANDS = frozenset({"duckdb", "networkx", "packaging", "scipy", "sqlglot"})
"""What this package requires for other commands than `emulator run`: neither a run's executors need it nor its driver, which in
cluster mode has the archive's packages as well."""

LEFT_OUT = frozenset({"__pycache__", "tests"})
"""Folders that nothing imports: tests are a sixth of all."""


def required_distributions() -> list[Distribution]:
    """What this package requires, and what that requires in turn, on this machine and Python; by name.

    Neither this package itself, nor what Spark brings along, nor what it requires for other commands than `emulator run`.
    Raises EnvironmentProblem for one that is not installed.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    left = [Requirement(OWN)]
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if name in OF_THE_CLUSTER or (name, extra) in seen:
                continue
            seen.add((name, extra))
            found[name] = _installed(name)
            inner = [Requirement(text) for text in found[name].requires or ()]
            if name == OWN:
                inner = [one for one in inner if canonicalize_name(one.name) not in OF_OTHER_COMMANDS]
            left += [one for one in inner if one.marker is None or one.marker.evaluate({"extra": extra})]
    return [found[name] for name in sorted(found) if name != OWN]


def files_of(package: Distribution) -> Iterator[tuple[str, Path]]:
    """(path below site-packages, file) of an installed package, but for programs, tests and what Python makes itself.

    Raises EnvironmentProblem for a package that does not say what its files are, or lacks one of them.
    """
    name = package.metadata["Name"]
    again = f"install it again: python -m pip install --force-reinstall {name}"
    if package.files is None or any(file.name.startswith("__editable__") for file in package.files):
        raise EnvironmentProblem(f"{name}: its files are not known from how it is installed here; {again}")
    for file in package.files:
        if ".." in file.parts or LEFT_OUT & set(file.parts):
            continue
        path = Path(str(file.locate()))
        if not path.is_file():
            raise EnvironmentProblem(f"{name}: {path} is missing; {again}")
        yield file.as_posix(), path


def own_files() -> Iterator[tuple[str, Path]]:
    """(path below site-packages, file) of this package, wherever it is imported from."""
    folder = Path(str(emulator.__file__)).parent
    for path in folder.rglob("*"):
        inner = path.relative_to(folder.parent)
        if path.is_file() and "__pycache__" not in inner.parts:
            yield inner.as_posix(), path


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        how = "python -m pip install --editable ." if name == OWN else f"python -m pip install {name}"
        raise EnvironmentProblem(f"{name} is not installed in this Python: {how}") from None
