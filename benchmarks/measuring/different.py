"""Partitions that all differ: a rate of three significant digits and a log end of its own for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

KEYS = 'workload_file = "workload.csv"\ninitial_file = "initial.csv"'
"""What a scenario file says to have them."""


def write_different(folder: Path, partitions: int, record_bytes: int) -> None:
    """Writes the files of KEYS for topic "orders": always the same ones."""
    random = np.random.default_rng(0)
    rates, ends = random.integers(100, 1000, partitions).tolist(), random.integers(0, 10**6, partitions).tolist()
    workload = [f"orders,{p},{rate},{record_bytes}" for p, rate in enumerate(rates)]
    logs = [f"orders,{p},{leo}" for p, leo in enumerate(ends)]
    (folder / "workload.csv").write_text("\n".join(["topic,partitions,records_per_round,record_bytes", *workload, ""]), "ascii")
    (folder / "initial.csv").write_text("\n".join(["topic,partition,leo", *logs, ""]), "ascii")
