"""What a Python worker of Spark has loaded stays: it need not be looked through for garbage after every task.

pyspark/daemon.py collects garbage when a task is over. With Numba's objects and the rounds' that takes a tenth of a second or
two, which is longer than small blocks are played.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

_kept = False


def keep_loaded() -> None:
    """Take what is there, once a task has loaded all that the next ones need, out of what is collected; nothing in a driver."""
    global _kept
    pyspark: Any = sys.modules.get("pyspark")
    if not _kept and pyspark is not None and pyspark.TaskContext.get() is not None:
        _kept = True
        gc.collect()
        gc.freeze()
