"""Which folders are on this machine."""

from __future__ import annotations

import os


def local_folder(uri: str) -> str | None:
    """Returns the path of a folder that is surely on this machine; None where only Hadoop's settings can tell."""
    configured = {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"} & os.environ.keys()
    path = uri.removeprefix("file://").removeprefix("file:")
    if "://" in path or (configured and path == uri):
        return None
    return path if os.path.isdir(path) else None
