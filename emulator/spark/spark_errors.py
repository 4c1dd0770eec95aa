"""What Spark raises, classic or Connect: for `except`."""

from __future__ import annotations

from pyspark.errors import PySparkException

try:
    from py4j.protocol import Py4JError  # of a call of Java: there is none without classic Spark
except ImportError:
    SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException,)
else:
    SPARK_ERRORS = (PySparkException, Py4JError)

SPARK_OR_FILE_ERRORS: tuple[type[Exception], ...] = (OSError, *SPARK_ERRORS)
