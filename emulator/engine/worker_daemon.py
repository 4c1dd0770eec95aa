"""Spark's daemon of Python workers, which has imported what plays blocks before it forks the first worker.

As Spark starts it by itself, it imports PySpark from an archive without bytecode, and each worker imports the rest anew: a second
in all, of a run that may take five. A daemon of one's own is Spark's setting `spark.python.daemon.module`, as PySpark's page
"Debugging PySpark" has it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from pathlib import Path


def without_installed(paths: Sequence[str]) -> list[str]:
    """Python's search path without archives of Spark that lie within an installed PySpark: it is the same, with bytecode."""
    folders = {Path(path).resolve() for path in paths}
    return [path for path in paths if not (_is_of_pyspark(Path(path)) and Path(path).resolve().parents[3] in folders)]


def _is_of_pyspark(path: Path) -> bool:
    """Whether it is FOLDER/pyspark/python/lib/NAME.zip."""
    return path.suffix == ".zip" and path.parts[-4:-1] == ("pyspark", "python", "lib")


if __name__ == "__main__":
    sys.path[:] = without_installed(sys.path)
    from pyspark import daemon

    import emulator.engine.play_blocks  # noqa: F401

    gc.collect()
    gc.freeze()  # no worker looks through it again
    daemon.manager()  # type: ignore[no-untyped-call]
