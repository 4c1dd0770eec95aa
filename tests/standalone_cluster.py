"""Spark's own standalone cluster on loopback: a master and workers as processes of this machine, which can be killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pyspark

from emulator.spark.class_archive import archive_options
from tests.engine_helpers import QUICK_JAVA

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent
START_SECONDS_MAX = 120
ENVIRONMENT = {
    "SPARK_HOME": str(SPARK_HOME),
    "SPARK_LOCAL_IP": LOOPBACK,
    "SPARK_DAEMON_MEMORY": "256m",
    "JDK_JAVA_OPTIONS": f"{QUICK_JAVA['JDK_JAVA_OPTIONS']} {archive_options()}",
}
OWN_PYTHON = {"PYSPARK_PYTHON": sys.executable}

T = TypeVar("T")


@dataclass
class Cluster:
    """A running cluster; every process it started is in `processes`, its output in `folder`."""

    folder: Path
    master: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, command: list[str], variables: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a process that writes to the file NAME.log.

        `variables`: its environment, None: that of this process, and its Python.
        """
        environment = {**(os.environ | OWN_PYTHON if variables is None else variables), **ENVIRONMENT}
        with self.log(name).open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)
        self.processes.append(process)
        return process

    def submit(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start spark-submit on this cluster; all executors are there before the first job begins."""
        settings = {
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.ui.enabled": "false",
            "spark.cores.max": str(len(self.workers)),
            "spark.scheduler.minRegisteredResourcesRatio": "1",
        }
        flags = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        return self.start(name, [str(SPARK_HOME / "bin" / "spark-submit"), "--master", self.master, *flags, *arguments])

    def log(self, name: str) -> Path:
        """The file of a process' output."""
        return self.folder / f"{name}.log"

    def kill_worker(self, worker: subprocess.Popen[bytes]) -> None:
        """kill -9 a worker and its executor: the worker first, which would start another one."""
        running = executors(worker)
        assert running, "the worker has no executor"
        for pid in (worker.pid, *running):
            os.kill(pid, signal.SIGKILL)
        worker.wait()

    def stop(self) -> None:
        """Kill every process that still runs, and what it started."""
        for process in self.processes:
            if process.poll() is None:
                for pid in (process.pid, *descendants(process.pid)):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                process.wait()


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, variables: Mapping[str, str] | None = None) -> Iterator[Cluster]:
    """A master and workers of one core each, their logs in `folder`; workers with these environment variables, as of `start`."""
    cluster = Cluster(folder)
    spark_class = str(SPARK_HOME / "bin" / "spark-class")
    try:
        master = [spark_class, "org.apache.spark.deploy.master.Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
        cluster.start("master", master)
        cluster.master = wait_for(lambda: said(cluster.log("master"), rf"Starting Spark master at (spark://{LOOPBACK}:\d+)"))
        size = ["--host", LOOPBACK, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        for number in range(workers):
            place = ["--work-dir", str(folder / f"work{number}"), cluster.master]
            command = [spark_class, "org.apache.spark.deploy.worker.Worker", *size, *place]
            cluster.workers.append(cluster.start(f"worker{number}", command, variables))
        for number in range(workers):
            wait_for(partial(said, cluster.log(f"worker{number}"), "(Successfully registered with master)"))
        yield cluster
    finally:
        cluster.stop()


def loopback_problem() -> str:
    """Why no server can be had on loopback; "" if one can."""
    try:
        with socket.create_server((LOOPBACK, 0)) as server:
            socket.create_connection(server.getsockname()[:2], timeout=5).close()
    except OSError as error:
        return f"no sockets on loopback: {error}"
    return ""


def wait_for(condition: Callable[[], T], seconds: float = START_SECONDS_MAX) -> T:
    """Ask until the answer is true."""
    give_up_at = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < give_up_at, f"not within {seconds} s"
        time.sleep(0.1)
    return answer


def said(log: Path, pattern: str) -> str:
    """What the pattern's first group found in a log; "" as long as it is not there."""
    found = re.search(pattern, log.read_text(errors="replace"))
    return found.group(1) if found else ""


def rounds_done(log: Path) -> int:
    """How far the latest line of progress says that a run is."""
    return max((int(found) for found in re.findall(r"^round (\d+) of", log.read_text(errors="replace"), re.MULTILINE)), default=0)


def java_options(worker: subprocess.Popen[bytes]) -> set[str]:
    """The command line of a worker's executor."""
    (executor,) = executors(worker)
    return set(command_line(executor))


def executors(worker: subprocess.Popen[bytes]) -> list[int]:
    """The processes that a worker runs tasks in."""
    return [pid for pid in children(worker.pid) if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in command_line(pid)]


def command_line(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def children(pid: int) -> list[int]:
    """Processes that a process has started and that are still there."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


def descendants(pid: int) -> list[int]:
    """Its children, theirs and so on."""
    found = children(pid)
    for child in list(found):
        found += descendants(child)
    return found
