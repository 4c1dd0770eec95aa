"""Kafka's round as a dense NumPy kernel of one protocol and one kind of fault: what compiled rounds are held beside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class KernelRun(NamedTuple):
    """Wall clock seconds of the rounds alone, and arrays [partition, slot] after the last one."""

    seconds: float
    leo: NDArray[np.int64]
    hw: NDArray[np.int64]
    isr: NDArray[np.bool_]
