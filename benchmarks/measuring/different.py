"""Partitions that all differ: a rate of three significant digits and a log end of its own for each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

KEYS = 'workload_file = "workload.csv"\ninitial_file = "initial.csv"'
"""What a scenario file says to have them."""


def write_different(folder: Path, partitions: int, record_bytes: int) -> None:
    """Writes the files of KEYS for topic "orders": always the same ones."""
    rates, ends = rates_and_log_ends(partitions)
    workload = [f"orders,{p},{rate},{record_bytes}" for p, rate in enumerate(rates.tolist())]
    logs = [f"orders,{p},{leo}" for p, leo in enumerate(ends.tolist())]
    (folder / "workload.csv").write_text("\n".join(["topic,partitions,records_per_round,record_bytes", *workload, ""]), "ascii")
    (folder / "initial.csv").write_text("\n".join(["topic,partition,leo", *logs, ""]), "ascii")


def rates_and_log_ends(partitions: int) -> tuple[np.ndarray, np.ndarray]:
    """What the files say: records of each partition in a round, and where its log ends."""
    random = np.random.default_rng(0)
    return random.integers(100, 1000, partitions), random.integers(0, 10**6, partitions)
