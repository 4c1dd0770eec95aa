"""The Kafka round in other engines than Spark: the round reduced to append, fetch, high watermark, and a dense full one.

Every module but `crashes` has one kernel with one function, which returns a KernelRun.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class KernelRun(NamedTuple):
    """Wall clock seconds of the rounds alone, and arrays [partition, slot] after the last one; `isr` where it can change."""

    seconds: float
    leo: NDArray[np.int64]
    hw: NDArray[np.int64]
    isr: NDArray[np.bool_] | None = None
