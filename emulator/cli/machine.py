"""What this machine has of what runs need, and what mends what is missing. Starts no Spark."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import dataclass

GIB = 2**30
LEAST_MEMORY_BYTES = 2 * GIB
"""Java's heap, the driver and a task beside each other, of a small run."""
LEAST_DISK_BYTES = GIB
"""Compiled code and what Spark spills, of a small run."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what there is, and if that is not enough the command, or the change, that mends it."""

    what: str
    found: str
    mend: str | None = None

    @property
    def line(self) -> str:
        """As a line to print."""
        return f"{'ok' if self.mend is None else 'missing'}: {self.what}: {self.found}" + (f"; {self.mend}" if self.mend else "")


def examine() -> list[Finding]:
    """Looks at Java, numba, compiled rounds, memory, cores and disk, in this order."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return [
        _java(),
        *_rounds(),
        _at_least("memory", memory, LEAST_MEMORY_BYTES, "run on a machine with more"),
        Finding("cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)),
        _at_least(
            f"disk in {tempfile.gettempdir()}",
            shutil.disk_usage(tempfile.gettempdir()).free,
            LEAST_DISK_BYTES,
            "make room there, or name another folder: export TMPDIR=DIR",
        ),
    ]


def _java() -> Finding:
    from emulator.spark.java import JAVA_IS_MISSING, OLDEST_JAVA, java_major_version

    version = java_major_version()
    found = "none" if version is None else f"version {version}"
    return Finding("Java", found, None if (version or 0) >= OLDEST_JAVA else JAVA_IS_MISSING)


def _rounds() -> list[Finding]:
    from emulator.engine.compile_all import ENTRY_POINTS
    from emulator.rounds.compiled import is_compiling
    from emulator.rounds.compiled_cache import cache_folder, is_cached

    if not is_compiling():
        mend = f"{sys.executable} -m pip install numba, and no NUMBA_DISABLE_JIT"
        return [Finding("compiled rounds", "numba is not there, or switched off: rounds are ordinary Python, and slow", mend)]
    missing = [function.__name__ for function in ENTRY_POINTS if not is_cached(function)]
    compiling = f"compile {', '.join(missing)} once: make setup, or any run that needs them (some minutes)" if missing else None
    found = f"{len(ENTRY_POINTS) - len(missing)} of {len(ENTRY_POINTS)} functions in {cache_folder().parent}"
    return [Finding("compiled rounds", found, compiling)]


def _at_least(what: str, size: int, least: int, mend: str) -> Finding:
    return Finding(what, f"{size / GIB:.1f} GiB", None if size >= least else f"{least / GIB:.0f} GiB are needed: {mend}")
