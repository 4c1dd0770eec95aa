"""What is wrong with the Python of a cluster's executors, from what Spark says when a task fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PACK = "give executors an environment by --archives: emulator pack --out env.tar.gz says how"


def executors_problem(error: Exception) -> str | None:
    """One line of what executors lack to run this package; None for any other error.

    `error`: of Spark, whose messages have the first lines of the failed task's.
    """
    text = "\n".join(_messages(error))
    if found := re.search(r'Cannot run program "([^"\n]+)"', text):
        return f"executors cannot run their Python, {found[1]} (spark.pyspark.python); {PACK}"
    if found := re.search(r"Error from python worker:\s*(?:error: )?(\S[^\n]*)", text):
        return f"executors cannot run their Python: {found[1]}"
    if found := re.search(r"Python in worker\w* (?:has|have) different version: (\S+) than that in driver: ([\d.]+\d)", text):
        return f"executors' Python is {found[1]}, the driver's {found[2]}; {PACK}"
    if found := re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text):
        return f"executors' Python has no module {found[1]}; {PACK}"
    return None


def _messages(error: Exception) -> Iterator[str]:
    """What the error says, and each of its causes in Java."""
    yield str(error)
    cause: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while cause is not None:
        yield str(cause.toString())
        cause = cause.getCause()
