"""The machine that figures come from."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from emulator.spark.classic import java_process
from emulator.spark.java import java_major_version


def describe_machine(*packages: str) -> str:
    """One line: cores, memory, versions (also of `packages`), load."""
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("pyspark", *packages))
    load = " ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{len(usable_cores())} cores, {memory_gib:.0f} GiB; Python {platform.python_version()}, Java {java_major_version()}, "
        f"{versions}; load average at start: {load} (1, 5, 15 minutes)"
    )


def usable_cores() -> list[int]:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def jvm_pid() -> int:
    """The process of Spark's driver, which this one started."""
    process = java_process()
    assert process is not None
    return int(process.pid)
