"""The tables of remote storage before round 0 (docs/tiered_rounds.md, "Start")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from emulator.rounds.relational.inputs.run_inputs import RunInputs
from emulator.rounds.relational.tables import REMOTE_COLUMNS, REMOTE_EPOCH_COLUMNS, TIER_COLUMNS

Key = tuple[int, int]
Rows = list[dict[str, Any]]


def first_tiers(replicas: pa.Table, logs: Mapping[Key, Mapping[str, Any]]) -> Rows:
    """Nobody has a task yet, and nobody has looked up how far its log is tiered: rows of TIER_COLUMNS."""
    rows = []
    nothing: dict[str, Any] = dict.fromkeys(TIER_COLUMNS, 0) | {"highest_remote": -1, "knows_start": False}
    nothing |= dict.fromkeys(("copied", "builds_leader", "builds_epoch", "builds_next"), None)
    for pid, broker, log_start in zip(*(replicas[name].to_pylist() for name in ("pid", "broker", "log_start")), strict=True):
        log = logs.get((pid, broker))
        rows.append(nothing | {"pid": pid, "broker": broker, "whole_start": log["log_start_offset"] if log else log_start})
    return rows


def first_remote(inputs: RunInputs, partitions: pa.Table, entries: Rows) -> tuple[Rows, Rows]:
    """Rows of REMOTE_COLUMNS and REMOTE_EPOCH_COLUMNS: copied by the first leader, known to all.

    `entries`: the caches of replicas; a segment without epochs has the first leader's.
    """
    leaders = dict(zip(*(partitions[name].to_pylist() for name in ("pid", "leader")), strict=True))
    caches: dict[Key, list[tuple[int, int]]] = {}
    for row in entries:
        caches.setdefault((row["pid"], row["broker"]), []).append((row["epoch"], row["start_offset"]))
    segments, epochs = Rows(), Rows()
    numbers: dict[int, int] = {}
    for pid, row in sorted(inputs.initial_remote(), key=lambda found: (found[0], found[1]["base_offset"])):
        base, end, copier = row["base_offset"], row["end_offset"], leaders[pid]
        given = [(entry["epoch"], entry["start_offset"]) for entry in row["epochs"] or ()]
        whole = [entry for entry in given or caches.get((pid, copier), []) if entry[1] <= end]
        number = numbers[pid] = numbers.get(pid, -1) + 1
        own = {"pid": pid, "number": number, "base_offset": base, "segment_end": end, "copier": copier, "copied_round": None}
        last = whole[-1][0] if whole else -1
        segments.append({**own, "size_bytes": row["bytes"], "leader_epoch": last})
        for (epoch, start), following in zip(whole, [*(start for _, start in whole[1:]), end + 1], strict=True):
            spans = {"start_offset": start, "first_offset": max(start, base), "last_offset": min(following - 1, end)}
            epochs.append({**own, "epoch": epoch, **spans})
    return (
        [{name: row[name] for name in REMOTE_COLUMNS} for row in segments],
        [{name: row[name] for name in REMOTE_EPOCH_COLUMNS} for row in epochs],
    )
