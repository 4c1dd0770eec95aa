"""The Java that Spark would start, and the memory that it may have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from emulator.errors import EnvironmentProblem

OLDEST_JAVA = 17
LARGEST_DEFAULT_DRIVER_MEMORY_BYTES = 8 << 30

JAVA_IS_MISSING = (
    f"Java {OLDEST_JAVA} or later is needed: install it with: sudo apt-get install openjdk-{OLDEST_JAVA}-jre-headless"
)


def default_driver_memory_bytes() -> int:
    """Returns the local mode's heap: half of the machine (or container), at most 8 GiB."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(LARGEST_DEFAULT_DRIVER_MEMORY_BYTES, min(machine, _container_limit_bytes() or machine) // 2)


def java_major_version() -> int | None:
    """Returns the major version of the Java that Spark would start, None when there is none."""
    java = java_command()
    if java is None:
        return None
    release = java.resolve().parent.parent / "release"
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = _ask_java(java)
    return _major_of(text)


def refuse_java() -> None:
    """Raises EnvironmentProblem without a Java that Spark can use."""
    if (java_major_version() or 0) < OLDEST_JAVA:
        raise EnvironmentProblem(JAVA_IS_MISSING)


def java_command() -> Path | None:
    """Returns the Java that Spark would start, None when there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        return java if os.access(java, os.X_OK) else None
    found = shutil.which("java")
    return Path(found) if found else None


def _ask_java(java: Path) -> str:
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _major_of(text: str) -> int | None:
    """Reads `JAVA_VERSION="17.0.15"` or `openjdk version "1.8.0_402"`; 1.8 is Java 8."""
    found = re.search(r'(?:JAVA_VERSION=|version )"(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    major, minor = int(found.group(1)), found.group(2)
    return int(minor) if major == 1 and minor else major


def _container_limit_bytes() -> int | None:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return None
