"""What Spark raises, classic or Connect: for `except`, and in one line."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

try:
    from py4j.protocol import Py4JError  # of a call of Java: there is none without classic Spark
except ImportError:
    SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException,)
else:
    SPARK_ERRORS = (PySparkException, Py4JError)

SPARK_OR_FILE_ERRORS: tuple[type[Exception], ...] = (OSError, *SPARK_ERRORS)


def condensed(error: Exception) -> str:
    """Returns what Spark says of a wrong query in one line: no plan, no stack, the place as (line L, position P).

    >>> condensed(ValueError("[X] no table `a`.\\nTo go on, b. SQLSTATE: 42P01; line 2 pos 14;\\n'Project [*]"))
    '[X] no table `a`. To go on, b. (line 2, position 14)'
    """
    text = _innermost_message(error) or str(error)
    place = re.search(r"line (\d+),? pos(?:ition)? (\d+)", text)
    message = re.split(r"\s*SQLSTATE:|\n\s*== SQL|\n'|\n\s*at |;\s*line \d+ pos", text.strip(), maxsplit=1)[0]
    message = " ".join(message.split()) or type(error).__name__
    return f"{message} (line {place.group(1)}, position {place.group(2)})" if place else message


def _innermost_message(error: Exception) -> str | None:
    """Returns what the first cause of a Java exception says; the outer ones tell of jobs and threads."""
    java_exception = getattr(error, "java_exception", None)
    if java_exception is None:
        return None
    while java_exception.getCause() is not None:
        java_exception = java_exception.getCause()
    return str(java_exception.getMessage() or java_exception.toString())
