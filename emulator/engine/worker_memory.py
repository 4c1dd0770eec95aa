"""What a Python worker of Spark has loaded stays, and is not looked for again in every task.

pyspark/daemon.py collects garbage when a task is over. With Numba's objects and the rounds' that takes a tenth of a second or
two, which is longer than small blocks are played. And pyspark/worker_util.py has Python look for modules anew when a task
begins: before Python 3.12 it then reads the list of files of every archive that it has imported from, once for each package in
it; they are those of pyspark.zip and of a jar. That takes another tenth.
"""

from __future__ import annotations

import gc
import sys
import zipimport
from typing import Any

_kept = False


def keep_loaded() -> None:
    """Take what is there, once a task has loaded all that the next ones need, out of what is collected; nothing in a driver."""
    global _kept
    pyspark: Any = sys.modules.get("pyspark")
    if pyspark is None or pyspark.TaskContext.get() is None:
        return
    _forget_archives()
    if not _kept:
        _kept = True
        gc.collect()
        gc.freeze()


def _forget_archives() -> None:
    """Python makes what finds modules in them once more when something is imported, with the lists of files that it has read."""
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimport.zipimporter):
            del sys.path_importer_cache[path]
