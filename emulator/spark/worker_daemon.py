"""Spark's daemon of Python workers, which has imported what plays blocks before it forks the first worker.

As Spark starts it by itself, it imports PySpark from an archive without bytecode, and each worker imports the rest anew: a second
for each, of a run that may take five. A daemon of one's own is the setting `spark.python.daemon.module`, as PySpark's page
"Debugging PySpark" has it for workers of one's own.
"""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def _prefer_installed() -> None:
    """Leave out archives of Spark's Python that lie within a package which is installed: it is the same, with bytecode."""
    folders = {Path(entry) for entry in sys.path}
    sys.path[:] = [entry for entry in sys.path if not (_is_of_spark(Path(entry)) and Path(entry).parents[3] in folders)]


def _is_of_spark(path: Path) -> bool:
    """Whether it is site-packages/pyspark/python/lib/NAME.zip."""
    return path.suffix == ".zip" and path.parts[-4:-1] == ("pyspark", "python", "lib")


if __name__ == "__main__":
    _prefer_installed()
    from pyspark import daemon

    import emulator.engine.play_blocks  # noqa: F401

    gc.collect()
    gc.freeze()
    daemon.manager()
