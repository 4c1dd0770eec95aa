"""What is said of a cluster's executors that cannot run this package; texts are Spark 4.1's."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from emulator import session
from emulator.cli.exits import run_command_line
from emulator.spark.executors import PACK, executors_problem

WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "pyspark.zip/pyspark/worker.py", line 3305, in main
    check_python_version(infile)
"""
NO_MODULE = f"{WORKER}ModuleNotFoundError: No module named 'emulator.engine'\n"
OTHER_VERSION = (
    f"{WORKER}pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different"
    " version: 3.12 than that in driver: 3.11, PySpark cannot run with different minor versions.\n"
)
OF_THE_LAUNCHER = """org.apache.spark.SparkException:
Error from python worker:
  error: Python 3.11 (cpython-311-x86_64-linux-gnu) is needed, as of the packed environment; no
PYTHONPATH was:
  /spark/python/lib/pyspark.zip
"""
NOT_THERE = 'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file or directory'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NO_MODULE, f"executors' Python has no module emulator.engine; {PACK}"),
        (OTHER_VERSION, f"executors' Python is 3.12, the driver's 3.11; {PACK}"),
        (OF_THE_LAUNCHER, "executors cannot run their Python: Python 3.11 (cpython-311-x86_64-linux-gnu) is needed, as of"
         " the packed environment; no"),
        (NOT_THERE, f"executors cannot run their Python, ./environment/bin/python (spark.pyspark.python); {PACK}"),
        ("Job aborted due to stage failure", None),
    ],
)  # fmt: skip
def test_what_executors_lack(text: str, told: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert executors_problem(ValueError(text)) == told
    inner = SimpleNamespace(toString=lambda: text, getCause=lambda: None)
    outer = SimpleNamespace(toString=lambda: "Task failed", getCause=lambda: inner)
    error: Any = Py4JError("Job aborted")
    error.java_exception = outer
    assert executors_problem(error) == told

    class Failing:
        def make_context(self, *_: object, **__: object) -> None:
            raise Py4JError(text)

    commands: Any = Failing()
    assert run_command_line(commands, "emulator", []) == 3
    line = capsys.readouterr().err
    assert line.startswith(f"error: the run failed: {told or text}") and line.count("\n") == 1


def test_the_executors_python_may_be_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """spark.pyspark.python, which spark-submit alone reads, holds for sessions that are built here as well."""
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    settings = session._settings("spark://there:7077", {"spark.pyspark.python": "./environment/bin/python"}, submitted=False)
    assert os.environ["PYSPARK_PYTHON"] == "./environment/bin/python"
    assert settings["spark.pyspark.python"] == "./environment/bin/python"
    monkeypatch.delenv("PYSPARK_PYTHON")
    session._settings("local[2]", {}, submitted=False)
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
