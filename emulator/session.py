"""The Spark session, classic or Connect: taken as it is found, or built quiet and quick."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import SparkConf
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import emulator.spark
from emulator.errors import EnvironmentProblem, InputError
from emulator.spark.class_archive import archive_options
from emulator.spark.classic import connect_to_submitted, has_context, is_of_same_context, java_process
from emulator.spark.connect import CONNECT_INSTALL, refuse_no_server, refuse_taken_port, refuse_unreachable
from emulator.spark.java import default_driver_memory_bytes, refuse_java
from emulator.spark.quiet_start import without_incubator_warning
from emulator.spark.spark_errors import SPARK_ERRORS

JAVA_END_SECONDS_MAX = 10
SHUFFLE_PARTITIONS_PER_CORE = 2
FEW_CORES = 4
"""Cores up to which Java leaves them to the rounds: it collects garbage in one thread, with half the heap of G1, which grows
sooner, and compiles with its quick compiler alone. What the better one takes of a run of a million partitions, a tenth, it
hardly earns: Java hands on what Python plays, packs and writes.
"""
FEW_CORES_OPTIONS = {
    "-XX:+UseSerialGC": "GC",
    "-XX:TieredStopAtLevel=1": "Tiered",
    # What Java has with both compilers; with one it has 48 MB, which some hundred queries fill.
    "-XX:ReservedCodeCacheSize=240m": "CodeCache",
}
"""With the word by which an option of the same kind is known: one that the environment gives stays."""
WORKER_DAEMON = "emulator.engine.worker_daemon"
"""What Spark starts Python workers with where this process starts Spark itself, so that they have the same Python."""
LOG_CONFIGURATION = Path(emulator.spark.__file__).with_name("log4j2.properties")

_ours: SparkSession | None = None
"""The session that `get_session` built."""

# The forms that spark-submit itself takes; anything else would end in a Java stack trace.
_MASTER = re.compile(r"local|local\[(\*|[1-9]\d*)(,\s*\d+)?\]|local-cluster\[.+\]|(spark|k8s)://.+|yarn")


def get_session(
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    app_name: str = "emulator",
    meanwhile: Callable[[], None] | None = None,
) -> SparkSession:
    """Returns the session of this process, building one when there is none.

    An existing session is used as it is: `master` and `conf` do not change it, and `stop_if_ours` leaves it running.
    Else the master is `master`, or what spark-submit or Spark's own configuration says, or `local[*]`.
    `conf`: Spark settings that win over every default of ours. With "spark.remote" (else, without a master, the variable
    SPARK_REMOTE) it is a session of Spark Connect: of the server at sc://HOST:PORT, or of one started here for local[N].
    `meanwhile`: called while Java starts, where this process starts a classic Spark.
    Raises `InputError` for a master or server Spark does not know, `EnvironmentProblem` without a fitting Java or when Spark
    cannot start.
    """
    conf = dict(conf or {})
    remote = conf.get("spark.remote", os.environ.get("SPARK_REMOTE") if master is None else None)
    if remote is not None:
        refuse_no_server(remote)
    if master is not None and not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: {master!r} is not a Spark master; allowed: local, local[N], local[*], spark://HOST:PORT, k8s://URL, yarn"
        )
    found = _existing_session()
    if found is not None:
        return found
    if remote is not None:
        return _build_remote(remote, conf, app_name)
    return _build(master, conf, app_name, meanwhile)


def is_there() -> bool:
    """Tells whether this process has a session, or a Spark to have one of, that `get_session` would take."""
    return SparkSession.getActiveSession() is not None or has_context()


def is_connect(spark: SparkSession) -> bool:
    """Tells whether a session is one of Spark Connect, which has no JVM."""
    return any(cls.__module__.startswith("pyspark.sql.connect.") for cls in type(spark).__mro__)


def local_cores(spark: SparkSession) -> int | None:
    """Tasks that run side by side on this machine, as local, local[N] or local[*] say; None: they run elsewhere, or may."""
    master = None if is_connect(spark) else spark.conf.get("spark.master")
    local = re.match(r"local(?:\[(\d+|\*)|$)", master or "")
    if local is None:
        return None
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def is_ours(spark: SparkSession) -> bool:
    """Tells whether `get_session` started the Spark behind this session, or began this session of Spark Connect."""
    if _ours is None or is_connect(spark) or is_connect(_ours):
        return spark is _ours
    return is_of_same_context(spark, _ours)


def stop_if_ours(spark: SparkSession) -> None:
    """Stops the session if `get_session` built it; leaves an existing one alone."""
    global _ours
    if is_ours(spark):
        spark.stop()
        _ours = None


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


def _existing_session() -> SparkSession | None:
    active = SparkSession.getActiveSession()
    if active is None and has_context():
        active = SparkSession.builder.getOrCreate()
    return active


def _build(master: str | None, conf: dict[str, str], app_name: str, meanwhile: Callable[[], None] | None = None) -> SparkSession:
    global _ours
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        refuse_java()
    try:
        with without_incubator_warning():
            _ours = _started_beside_handler(app_name, _settings(master, conf, submitted), meanwhile)
    except SPARK_ERRORS as error:
        raise EnvironmentProblem(f"Spark could not start: {_first_line(error)}") from error
    return _ours


def _build_remote(remote: str, conf: dict[str, str], app_name: str) -> SparkSession:
    """A session of Spark Connect; a server started here has the settings of a local classic Spark, and ends with the session."""
    global _ours
    try:
        import pyspark.sql.connect.session  # noqa: F401
    except ImportError as error:
        problem = f"Spark Connect needs further packages ({_first_line(error)}); install them with: {CONNECT_INSTALL}"
        raise EnvironmentProblem(problem) from error
    if remote.startswith("local"):
        refuse_java()
        refuse_taken_port()
        settings = _settings(remote, conf, submitted=False)
        del settings["spark.master"]
    else:
        refuse_unreachable(remote)
        settings = {"spark.sql.session.timeZone": "UTC"} | conf
    try:
        with warnings.catch_warnings():
            if remote.startswith("local"):  # of each setting that its server has already, and a session cannot have
                warnings.simplefilter("ignore")
            with without_incubator_warning():
                spark = _started(app_name, settings | {"spark.remote": remote})
        spark.range(1).collect()  # the first that a server, and not the client alone, answers
    except SPARK_ERRORS as error:
        raise EnvironmentProblem(f"Spark Connect at {remote} could not be reached: {_first_line(error)}") from error
    _ours = spark
    return spark


def _started(app_name: str, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _started_beside_handler(app_name: str, settings: Mapping[str, str], meanwhile: Callable[[], None] | None) -> SparkSession:
    """In another thread where this one has something to do meanwhile, or a handler of interrupts that is to stay: in the main
    thread, only there, Spark puts its own in its place.
    """
    if meanwhile is None and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, signal.SIG_DFL):
        return _started(app_name, settings)
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(_started, app_name, settings)
        if meanwhile is not None:
            meanwhile()
        return started.result()


def _settings(master: str | None, conf: dict[str, str], submitted: bool) -> dict[str, str]:
    """Puts together what the new session is told: `conf` over our defaults, neither over spark-submit's flags."""
    if submitted:
        connect_to_submitted()
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
        "spark.log.level": "ERROR",
        # A sort takes a page at once, by default up to 64 MiB: some twenty of them in one task, as relational rounds have, take
        # all memory of a driver of 4 GiB for a handful of rows.
        "spark.buffer.pageSize": "2m",
        "spark.ui.showConsoleProgress": "false",
        # Else every Column made notes from where, which takes several calls of Java and a stack trace.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.dataFrameQueryContext.enabled": "false",
    }
    if not submitted:  # this process starts the driver, whatever the master
        defaults["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()} {archive_options()}"
    if target is not None and target.startswith("local"):
        if not submitted and (os.cpu_count() or 1) <= FEW_CORES:
            defaults["spark.driver.extraJavaOptions"] += "".join(
                f" {option}" for option, word in FEW_CORES_OPTIONS.items() if not _tells_java(word)
            )
        defaults |= _local_defaults()
        if not submitted:
            defaults["spark.python.daemon.module"] = WORKER_DAEMON
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # what tasks import is in this one
    if "spark.pyspark.python" in conf:  # only spark-submit reads it
        os.environ["PYSPARK_PYTHON"] = conf["spark.pyspark.python"]
    settings = {key: value for key, value in defaults.items() if key not in given} | conf
    if target is not None:
        settings["spark.master"] = target
    return settings


def _tells_java(word: str) -> bool:
    """Whether the environment has an option with this word for Java: it refuses two collectors."""
    return any(word in os.environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))


def _local_defaults() -> dict[str, str]:
    return {
        "spark.sql.shuffle.partitions": str(SHUFFLE_PARTITIONS_PER_CORE * (os.cpu_count() or 1)),
        "spark.driver.memory": f"{default_driver_memory_bytes() >> 20}m",
        # Nothing outside needs to reach this driver, and a host name that does not resolve must not stop it.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        # Spark creates this folder even when no table is ever saved; the working directory is the user's.
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / f"emulator-warehouse-{os.getuid()}"),
    }


def end_java(seconds_max: float = JAVA_END_SECONDS_MAX) -> None:
    """Ends the Java process that this one started, if any, and waits for it a little: what it says comes before our last line."""
    process = java_process()
    if process is not None:
        process.stdin.close()  # what Spark's gateway takes for the end of its parent
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds_max)


def _first_line(error: Exception) -> str:
    java_exception = getattr(error, "java_exception", None)
    text = str(java_exception.toString()) if java_exception is not None else str(error)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
