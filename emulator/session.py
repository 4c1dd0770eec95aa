"""The Spark session: taken as it is found, or built quiet and quick."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from emulator.errors import EnvironmentProblem, InputError

OLDEST_JAVA = 17
LARGEST_DEFAULT_DRIVER_MEMORY_BYTES = 8 << 30
JAVA_END_SECONDS_MAX = 10
LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_JAVA_IS_MISSING = (
    f"Java {OLDEST_JAVA} or later is needed: install it with: sudo apt-get install openjdk-{OLDEST_JAVA}-jre-headless"
)
# The forms that spark-submit itself takes; anything else would end in a Java stack trace.
_MASTER = re.compile(r"local|local\[(\*|[1-9]\d*)(,\s*\d+)?\]|local-cluster\[.+\]|(spark|k8s)://.+|yarn")

CLASS_ARCHIVE = Path(sys.prefix) / "emulator-classes.jsa"

_our_context: SparkContext | None = None

DEEP_STACK = "-Xss16m -XX:-DontCompileHugeMethods"
"""Java options of drivers and executors: the iterators of fused rounds nest (half a megabyte of stack was enough for 25; this is
room), and a projection of a hundred columns is a method that the JVM would leave interpreted by default (measured: 2 to 3 times
slower)."""


def get_session(master: str | None = None, conf: Mapping[str, str] | None = None, app_name: str = "emulator") -> SparkSession:
    """Returns the session of this process, building one when there is none.

    An existing session is used as it is: `master` and `conf` do not change it, and `stop_if_ours` leaves it running.
    Else the master is `master`, or what spark-submit or Spark's own configuration says, or `local[*]`.
    `conf`: Spark settings that win over every default of ours.
    Raises `InputError` for a master Spark does not know, `EnvironmentProblem` without a fitting Java or when Spark
    cannot start.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: {master!r} is not a Spark master; allowed: local, local[N], local[*], spark://HOST:PORT, k8s://URL, yarn"
        )
    found = _existing_session()
    if found is not None:
        return found
    return _build(master, dict(conf or {}), app_name)


def is_ours(spark: SparkSession) -> bool:
    """Tells whether `get_session` started the Spark behind this session."""
    return _our_context is not None and spark.sparkContext is _our_context


def stop_if_ours(spark: SparkSession) -> None:
    """Stops the session if `get_session` built it; leaves an existing one alone."""
    global _our_context
    if is_ours(spark):
        spark.stop()
        _our_context = None


@contextmanager
def engine_settings(spark: SparkSession, shuffle_partitions: int, extra: Mapping[str, str] | None = None) -> Iterator[None]:
    """Holds the SQL settings the engine's loop relies on, and puts back what was there.

    Adaptive execution would re-plan (and could break up) the one partitioning the loop keeps; sort-merge joins of the
    state with small tables would shuffle it. `extra`: further settings, which win over these.
    """
    wanted = {
        "spark.sql.adaptive.enabled": "false",
        # Names within names take an iteration each: those of remote storage are deeper than Spark's 100.
        "spark.sql.analyzer.maxIterations": "1000",
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.autoBroadcastJoinThreshold": str(64 << 20),
        **(extra or {}),
    }
    with settings_held(spark, wanted):
        yield


@contextmanager
def settings_held(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Holds SQL settings, and puts back what was there."""
    before = {key: spark.conf.get(key, None) for key in wanted}
    try:
        for key, value in wanted.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, previous in before.items():
            if previous is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, previous)


@contextmanager
def quiet_query_errors() -> Iterator[None]:
    """Keeps PySpark from printing each SQL error as JSON with its Java stack: they are reported in one line."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def default_driver_memory_bytes() -> int:
    """Returns the local mode's heap: half of the machine (or container), at most 8 GiB."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(LARGEST_DEFAULT_DRIVER_MEMORY_BYTES, min(machine, _container_limit_bytes() or machine) // 2)


def java_major_version() -> int | None:
    """Returns the major version of the Java that Spark would start, None when there is none."""
    java = _java_command()
    if java is None:
        return None
    release = java.resolve().parent.parent / "release"
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = _ask_java(java)
    return _major_of(text)


def _existing_session() -> SparkSession | None:
    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:
        active = SparkSession.builder.getOrCreate()
    if active is not None and not isinstance(getattr(active, "_sc", None), SparkContext):
        raise EnvironmentProblem("a Spark Connect session is active: the emulator needs a classic one (--master URL)")
    return active


def _build(master: str | None, conf: dict[str, str], app_name: str) -> SparkSession:
    global _our_context
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted and (java_major_version() or 0) < OLDEST_JAVA:
        raise EnvironmentProblem(_JAVA_IS_MISSING)
    try:
        settings = _settings(master, conf, submitted)
        builder = SparkSession.builder.appName(app_name)
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise EnvironmentProblem(f"Spark could not start: {_first_line(error)}") from error
    spark.sparkContext.setLogLevel("ERROR")
    _our_context = spark.sparkContext
    return spark


def _settings(master: str | None, conf: dict[str, str], submitted: bool) -> dict[str, str]:
    """Puts together what the new session is told: `conf` over our defaults, neither over spark-submit's flags."""
    if submitted:
        SparkContext._ensure_initialized()
        given = dict(SparkConf().getAll())
    else:
        given = {}
    target = master or conf.get("spark.master") or given.get("spark.master")
    # With a configuration of its own, Spark may know a master that we cannot see from here.
    if target is None and not submitted and not {"PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR"} & os.environ.keys():
        target = "local[*]"
    defaults = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.executor.extraJavaOptions": DEEP_STACK,
        # An executor keeps its list of others so long (by default a minute), and writes one copy while it knows none.
        "spark.storage.cachedPeersTtl": "1000",
        "spark.ui.showConsoleProgress": "false",
        # Else every Column made notes from where, which takes several calls of Java and a stack trace.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
    }
    if not submitted:  # this process starts the driver, whatever the master
        defaults["spark.driver.extraJavaOptions"] = driver_java_options()
    if target is not None and target.startswith("local"):
        defaults |= _local_defaults()
    settings = {key: value for key, value in defaults.items() if key not in given} | conf
    if target is not None:
        settings["spark.master"] = target
    return settings


def _local_defaults() -> dict[str, str]:
    return {
        "spark.driver.memory": f"{default_driver_memory_bytes() >> 20}m",
        # Nothing outside needs to reach this driver, and a host name that does not resolve must not stop it.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        # Spark creates this folder even when no table is ever saved; the working directory is the user's.
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / f"emulator-warehouse-{os.getuid()}"),
    }


def end_java() -> None:
    """Ends the Java process that this one started, if any, and waits for it a little: what it says comes before our last line."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None:
        process.stdin.close()  # what Spark's gateway takes for the end of its parent
        with suppress(subprocess.TimeoutExpired):
            process.wait(JAVA_END_SECONDS_MAX)


def driver_java_options() -> str:
    """Java options of a driver that this process starts.

    They name the class archive of `make setup` (emulator/class_archive.py) where there is one.
    """
    options = f"{DEEP_STACK} -Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()}"
    if CLASS_ARCHIVE.exists() and " " not in str(CLASS_ARCHIVE):  # options are parted at blanks
        # Of another Java, or after an update of Spark, the archive does not fit: it is then ignored, in silence.
        options += f" -Xshare:auto -XX:SharedArchiveFile={CLASS_ARCHIVE} -Xlog:cds=off -Xlog:cds+dynamic=off"
    return options


def _first_line(error: Exception) -> str:
    java_exception = getattr(error, "java_exception", None)
    text = str(java_exception.toString()) if java_exception is not None else str(error)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def _java_command() -> Path | None:
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
