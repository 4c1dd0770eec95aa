"""The Spark session, classic or Connect: taken as it is found, or built quiet and quick."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from emulator.errors import EnvironmentProblem, InputError
from emulator.spark_errors import SPARK_ERRORS

OLDEST_JAVA = 17
LARGEST_DEFAULT_DRIVER_MEMORY_BYTES = 8 << 30
JAVA_END_SECONDS_MAX = 10
LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

JAVA_IS_MISSING = (
    f"Java {OLDEST_JAVA} or later is needed: install it with: sudo apt-get install openjdk-{OLDEST_JAVA}-jre-headless"
)
# The forms that spark-submit itself takes; anything else would end in a Java stack trace.
_MASTER = re.compile(r"local|local\[(\*|[1-9]\d*)(,\s*\d+)?\]|local-cluster\[.+\]|(spark|k8s)://.+|yarn")

# A Spark Connect server, or a local one that this process starts.
_REMOTE = re.compile(r"sc://(\[[^\]]+\]|[^/\s:]+)(:\d{1,5})?(/.*)?|local|local\[(\*|[1-9]\d*)(,\s*\d+)?\]")
CONNECT_INSTALL = "python -m pip install 'pyspark[connect]'"
CONNECT_SECONDS_MAX = 10
CONNECT_PORT = 15002
"""Of a local Spark Connect server; Spark's client looks for it there only."""

CLASS_ARCHIVE = Path(sys.prefix) / "emulator-classes.jsa"

_our_context: SparkContext | None = None
_our_remote: SparkSession | None = None

DEEP_STACK = "-Xss16m -XX:-DontCompileHugeMethods"
"""Java options of drivers and executors: the iterators of fused rounds nest (half a megabyte of stack was enough for 25; this is
room), and a projection of a hundred columns is a method that the JVM would leave interpreted by default (measured: 2 to 3 times
slower)."""


def get_session(master: str | None = None, conf: Mapping[str, str] | None = None, app_name: str = "emulator") -> SparkSession:
    """Returns the session of this process, building one when there is none.

    An existing session is used as it is: `master` and `conf` do not change it, and `stop_if_ours` leaves it running.
    Else the master is `master`, or what spark-submit or Spark's own configuration says, or `local[*]`.
    `conf`: Spark settings that win over every default of ours. With "spark.remote" (else, without a master, the variable
    SPARK_REMOTE) it is a session of Spark Connect: of the server at sc://HOST:PORT, or of one started here for local[N].
    Raises `InputError` for a master or server Spark does not know, `EnvironmentProblem` without a fitting Java or when Spark
    cannot start.
    """
    conf = dict(conf or {})
    remote = conf.get("spark.remote", os.environ.get("SPARK_REMOTE") if master is None else None)
    if remote is not None and not _REMOTE.fullmatch(remote):
        raise InputError(
            f"--remote: {remote!r} is not a Spark Connect server; allowed: sc://HOST:PORT; local, local[N], local[*] start one"
        )
    if master is not None and not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: {master!r} is not a Spark master; allowed: local, local[N], local[*], spark://HOST:PORT, k8s://URL, yarn"
        )
    found = _existing_session()
    if found is not None:
        return found
    if remote is not None:
        return _build_remote(remote, conf, app_name)
    return _build(master, conf, app_name)


def is_there() -> bool:
    """Tells whether this process has a session, or a Spark to have one of, that `get_session` would take."""
    return SparkSession.getActiveSession() is not None or SparkContext._active_spark_context is not None


def is_connect(spark: SparkSession) -> bool:
    """Tells whether a session is one of Spark Connect, which has no JVM."""
    return any(cls.__module__.startswith("pyspark.sql.connect.") for cls in type(spark).__mro__)


def is_ours(spark: SparkSession) -> bool:
    """Tells whether `get_session` started the Spark behind this session, or began this session of Spark Connect."""
    if is_connect(spark):
        return spark is _our_remote
    return _our_context is not None and spark.sparkContext is _our_context


def stop_if_ours(spark: SparkSession) -> None:
    """Stops the session if `get_session` built it; leaves an existing one alone."""
    global _our_context, _our_remote
    if is_ours(spark):
        spark.stop()
        _our_context = _our_remote = None


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
    return active


def _build(master: str | None, conf: dict[str, str], app_name: str) -> SparkSession:
    global _our_context, _our_remote
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        _refuse_java()
    try:
        spark = _started(app_name, _settings(master, conf, submitted))
    except SPARK_ERRORS as error:
        raise EnvironmentProblem(f"Spark could not start: {_first_line(error)}") from error
    if is_connect(spark):  # asked for by spark.api.mode
        _our_remote = spark
        return spark
    spark.sparkContext.setLogLevel("ERROR")
    _our_context = spark.sparkContext
    return spark


def _build_remote(remote: str, conf: dict[str, str], app_name: str) -> SparkSession:
    """A session of Spark Connect; a server started here has the settings of a local classic Spark, and ends with the session."""
    global _our_remote
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        problem = f"Spark Connect needs further packages ({_first_line(error)}); install them with: {CONNECT_INSTALL}"
        raise EnvironmentProblem(problem) from error
    if remote.startswith("local"):
        _refuse_java()
        _refuse_taken_port()
        settings = _settings(remote, conf, submitted=False)
        del settings["spark.master"]
    else:
        _refuse_unreachable(remote)
        settings = {"spark.sql.session.timeZone": "UTC"} | conf
    try:
        with warnings.catch_warnings():
            if remote.startswith("local"):  # of each setting that its server has already, and a session cannot have
                warnings.simplefilter("ignore")
            spark = _started(app_name, settings | {"spark.remote": remote})
        spark.range(1).collect()  # the first that a server, and not the client alone, answers
    except SPARK_ERRORS as error:
        raise EnvironmentProblem(f"Spark Connect at {remote} could not be reached: {_first_line(error)}") from error
    _our_remote = spark
    return spark


def _started(app_name: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _refuse_java() -> None:
    if (java_major_version() or 0) < OLDEST_JAVA:
        raise EnvironmentProblem(JAVA_IS_MISSING)


def _refuse_unreachable(remote: str) -> None:
    """Spark's client would try again for ten minutes without a word. Behind a proxy only it can tell."""
    if {"grpc_proxy", "https_proxy", "http_proxy"} & os.environ.keys():
        return
    try:
        address = urlsplit(remote)
        where = (address.hostname or "", address.port or CONNECT_PORT)
        socket.create_connection(where, CONNECT_SECONDS_MAX).close()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise EnvironmentProblem(f"Spark Connect at {remote} could not be reached: {reason}") from error


def _refuse_taken_port() -> None:
    """Another local server on the port would be taken for ours."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", CONNECT_PORT))
        except OSError as error:
            raise EnvironmentProblem(
                f"a local Spark Connect server needs port {CONNECT_PORT}, which another process has; use that one with"
                f" --remote sc://localhost:{CONNECT_PORT}, or wait for it"
            ) from error


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
        # A sort takes a page at once, by default up to 64 MiB: some twenty of them in one task, as relational rounds have, take
        # all memory of a driver of 4 GiB for a handful of rows.
        "spark.buffer.pageSize": "2m",
        "spark.ui.showConsoleProgress": "false",
        # Else every Column made notes from where, which takes several calls of Java and a stack trace.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
    }
    if not submitted:  # this process starts the driver, whatever the master
        defaults["spark.driver.extraJavaOptions"] = driver_java_options()
    if target is not None and target.startswith("local"):
        defaults |= _local_defaults()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what tasks import is in this one
    if "spark.pyspark.python" in conf:  # only spark-submit reads it
        os.environ["PYSPARK_PYTHON"] = conf["spark.pyspark.python"]
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
