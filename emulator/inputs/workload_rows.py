"""Rows of the workload, and which partitions each is for."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

import numpy as np
import pyarrow as pa

from emulator.scenario.model import Scenario

R = TypeVar("R")


@dataclass(frozen=True)
class WorkloadRow:
    """One workload row: what is appended per round while it is in force."""

    from_round: int
    to_round: int
    records: int
    record_bytes: int
    acks: str
    max_in_flight: int | None = None


def rows_of_topic(scenario: Scenario, topic: str, count: int) -> list[tuple[WorkloadRow, list[tuple[int, int]]]]:
    """The workload rows of a topic with `count` partitions, in file order, and the ranges of partitions that each is for."""
    table = scenario.workload
    names = table.column("topic").to_pylist()
    matches = {name: fnmatchcase(topic, name) for name in set(names)}
    chosen = [i for i, name in enumerate(names) if matches[name]]
    rows = table.take(pa.array(chosen, pa.int64())).to_pylist() if len(chosen) < len(names) else table.to_pylist()
    return [
        (
            WorkloadRow(r["from_round"], r["to_round"], r["records_per_round"], r["record_bytes"], r["acks"], r["max_in_flight"]),
            partition_ranges(r["partitions"], count),
        )
        for r in rows
    ]


def partition_ranges(text: str | None, count: int) -> list[tuple[int, int]]:
    """Inclusive ranges of a `partitions` text such as "0-3,7"; all partitions if absent."""
    if text is None:
        return [(0, count - 1)]
    ranges = []
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        ranges.append((int(low), int(high or low)))
    return ranges


def rows_by_member(rows: list[tuple[R, list[tuple[int, int]]]], members: np.ndarray) -> list[list[R]]:
    """The rows, in their order, of each member partition; with each the ranges of partitions that it is for."""
    order = np.argsort(members)
    ordered = members[order]
    by_member: list[list[R]] = [[] for _ in members]
    for row, ranges in rows:
        for low, high in ranges:
            for i in range(int(np.searchsorted(ordered, low)), int(np.searchsorted(ordered, high, "right"))):
                by_member[int(order[i])].append(row)
    return by_member
