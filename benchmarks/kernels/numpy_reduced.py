"""The reduced round as dense NumPy arrays, on one core.

They are indexed [slot, partition], so that what is computed over the few slots of a partition goes along whole rows: 5 times as
fast as the other way round.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.kernels import KernelRun


def run_rounds(partitions: int, replicas: int, rounds: int, records: int) -> KernelRun:
    """Runs the reduced round so many times from empty logs; slot 0 leads. The masks are general, as DuckDB's are."""
    shape = (replicas, partitions)
    leo, hw = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    leads, in_isr = np.zeros(shape, bool), np.ones(shape, bool)
    leads[0] = True
    highest = np.iinfo(np.int64).max
    began = time.perf_counter()
    for _ in range(rounds):
        # a follower asks from the LEO it starts the round with, and finds what its leader appends in this round
        appended = leo + records * leads
        leader_leo = np.where(leads, appended, 0).max(axis=0)
        leader_hw = np.where(leads, hw, 0).max(axis=0)
        isr_leo = np.where(in_isr, appended, highest).min(axis=0)
        hw = np.where(leads, np.maximum(hw, isr_leo), np.minimum(leader_leo, leader_hw))
        leo = np.broadcast_to(leader_leo, shape)
    return KernelRun(time.perf_counter() - began, leo.T, hw.T)
