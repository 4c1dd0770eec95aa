"""What a block of partitions tells while it is played: rows of tables, as record arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from emulator.rounds.records import words_of


class Told(NamedTuple):
    """Rows in the order in which they were told.

    `events`: records.Event; `trace`: TraceRow, whose epoch caches stand in `trace_epochs` (EpochEntry) and whose segments,
    the active one last, in `trace_segments` (Segment), one after the other;
    `trace_partitions`: PartitionTraceRow; `violations`: Violation, each with its `epochs` and then `leader_epochs` entries of
    `witness_epochs`; `unread`: reading.records.Unread; `traffic`: Traffic by place (ScenarioRow.first_bucket).
    """

    events: np.ndarray
    trace: np.ndarray
    trace_epochs: np.ndarray
    trace_segments: np.ndarray
    trace_partitions: np.ndarray
    violations: np.ndarray
    witness_epochs: np.ndarray
    unread: np.ndarray
    traffic: np.ndarray


def joined(parts: Sequence[Told]) -> Told:
    """What was told in several stretches, one after the other, as if in one."""
    if len(parts) == 1:
        return parts[0]
    rows = {name: np.concatenate([getattr(part, name) for part in parts]).view(np.recarray) for name in Told._fields[:-1]}
    traffic = parts[0].traffic.copy()
    for part in parts[1:]:
        words_of(traffic)[:] += words_of(part.traffic)
    return Told(**rows, traffic=traffic)
