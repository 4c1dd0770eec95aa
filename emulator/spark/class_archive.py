"""Spark's classes as Java has them once they are loaded, kept by keep_classes.py for every Spark that is started here.

Loading and verifying 15,000 classes is half of what a Spark costs until its first answer. Java checks by itself that an archive
is of this Java and of these jars, and loads classes as ever where it is not.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import pyspark

from emulator.spark.java import java_command

QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""Why a class is not kept, or an archive not used, is nothing that a run has to say."""


def archive_options() -> str:
    """Options of Java for a driver that this process starts: the archive, where there is one; else none."""
    path = archive_path()
    with suppress(OSError):
        if path is not None and path.stat().st_uid == os.getuid():
            return f"-XX:SharedArchiveFile={path} {QUIET}"
    return ""


def archive_path() -> Path | None:
    """The archive of this Java and these jars, in the folder where compiled rounds are kept; None where there can be none."""
    java, jars = java_command(), Path(pyspark.__file__).parent / "jars"
    named = os.environ.get("EMULATOR_CACHE_DIR")
    try:
        home = Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "replication-emulator")
        assert java is not None
        of_java = java.resolve()
        parts = (of_java, of_java.stat().st_mtime_ns, jars, jars.stat().st_mtime_ns, pyspark.__version__)
    except (AssertionError, OSError, RuntimeError):
        return None
    return home / f"classes-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"
