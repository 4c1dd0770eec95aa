"""Logs that scenarios begin with: caches, segments, batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

DEFAULT_RECORD_BYTES = 1000
Key = tuple[int, int]


def local_start(log: Mapping[str, Any]) -> int:
    """Where a given log starts on its replica's own disk."""
    return int(log["log_start_offset"] if log["local_log_start_offset"] is None else log["local_log_start_offset"])


def record_sizes(logs: Mapping[Key, Mapping[str, Any]]) -> dict[int, int]:
    """Bytes of an initial record, by pid: the largest that a replica gives."""
    sizes: dict[int, int] = {}
    for (pid, _), log in logs.items():
        sizes[pid] = max(sizes.get(pid, 0), log["record_bytes"] or 0)
    return {pid: size or DEFAULT_RECORD_BYTES for pid, size in sizes.items()}


def parted_by_segments(
    replicas: pa.Table, partitions: pa.Table, logs: Mapping[Key, Mapping[str, Any]]
) -> tuple[pa.Table, list[dict[str, int]]]:
    """The replicas with their active segments, and the closed ones as rows; without `segments` given a log is one segment."""
    kept = set(partitions.filter(partitions["keeps_segments"])["pid"].to_pylist()) if logs else set()
    sizes = record_sizes(logs)
    names = ("segment_base", "segment_size")
    base, size = (replicas[name].to_numpy().copy() for name in names)
    leo = replicas["leo"].to_numpy()
    closed = []
    for at, key in enumerate(zip(replicas["pid"].to_pylist(), replicas["broker"].to_pylist(), strict=True) if kept else ()):
        if key[0] not in kept or key not in logs:
            continue
        start = local_start(logs[key])
        bases = [start, *(b for b in logs[key]["segments"] or () if b > start)]
        for first, end in zip(bases, bases[1:], strict=False):
            row = {"pid": key[0], "broker": key[1], "base_offset": first, "end_offset": end}
            closed.append(row | {"size_bytes": (end - first) * sizes[key[0]], "first_round": 0, "newest_round": 0})
        base[at], size[at] = bases[-1], (leo[at] - bases[-1]) * sizes[key[0]]
    table = replicas.drop_columns(list(names))
    table = table.append_column("segment_base", pa.array(base)).append_column("segment_size", pa.array(size))
    newest = pa.array(np.zeros(len(leo), np.int32), mask=leo <= base)
    return table.append_column("segment_newest", newest), closed


def cache_entries(replicas: pa.Table, logs: Mapping[Key, Mapping[str, Any]]) -> list[dict[str, int]]:
    """The caches as given; the leader's has its epoch, at its LEO if not before."""
    rows = []
    columns = ("pid", "broker", "leads", "believed_epoch", "log_start", "leo")
    for pid, broker, leads, epoch, log_start, leo in zip(*(replicas[name].to_pylist() for name in columns), strict=True):
        log = logs.get((pid, broker))
        entries = [(entry["epoch"], entry["start_offset"]) for entry in (log["epochs"] or () if log else ())]
        log_start = log["log_start_offset"] if log else log_start
        below = [entry for entry in entries if entry[1] <= log_start]
        if below:  # a log that is opened cuts its cache at its start (UnifiedLog, LeaderEpochFileCache.truncateFromStart)
            entries = [(below[-1][0], log_start), *(entry for entry in entries if entry[1] > log_start)]
        if not entries and leo > log_start:
            entries = [(0, log_start)]
        if leads and (not entries or entries[-1][0] < epoch):
            entries.append((epoch, leo))
        rows += [{"pid": pid, "broker": broker, "epoch": e, "start_offset": start} for e, start in entries]
    return rows


def log_entries(
    entries: list[dict[str, int]], logs: Mapping[Key, Mapping[str, Any]], ends: Mapping[Key, int]
) -> list[dict[str, int]]:
    """What logs hold: as caches say, but from where it is beyond the leader's log, in its epoch (verbs/logs.py, BEYOND).

    `ends`: where leaders' logs end, by pid and the epoch in which they append.
    """
    held = []
    for row, following in zip(entries, [*entries[1:], None], strict=True):
        key, end = (row["pid"], row["broker"]), ends.get((row["pid"], row["epoch"]))
        of_same = following is not None and (following["pid"], following["broker"]) == key
        to_offset = following["start_offset"] if following is not None and of_same else logs.get(key, {"leo": 0})["leo"]
        if end is None or to_offset <= end or to_offset <= row["start_offset"]:
            held.append(row)
            continue
        if row["start_offset"] < end:
            held.append(row)
        held.append({**row, "epoch": -1 - row["epoch"], "start_offset": max(row["start_offset"], end)})
    return held


def given_batches(entries: list[dict[str, int]], logs: Mapping[Key, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Initial records are batches of one record; those that several replicas have stand there once."""
    sizes = record_sizes(logs)
    of_replica = defaultdict(list)
    for row in entries:
        of_replica[row["pid"], row["broker"]].append((row["epoch"], row["start_offset"]))
    parts: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for (pid, broker), log in logs.items():
        own = of_replica[pid, broker]
        ends = [*(start for _, start in own[1:]), log["leo"]]
        for (epoch, start), end in zip(own, ends, strict=False):
            first = max(start, local_start(log))
            if first < end:
                parts[pid, epoch].append((first, end))
    rows = []
    for (pid, epoch), ranges in parts.items():
        merged: list[list[int]] = []
        for start, end in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([start, end])
        sized = {"batch_records": 1, "record_bytes": sizes[pid], "acked_on_append": False, "unacknowledged": False}
        sized |= {"first_round": 0, "batch_rounds": 0}
        rows += [{"pid": pid, "epoch": epoch, "base_offset": start, "end_offset": end, **sized} for start, end in merged]
    return rows
