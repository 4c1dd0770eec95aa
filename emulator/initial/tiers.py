"""Remote storage before round 0: what every replica knows of the remote segments that a scenario begins with."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa

from emulator.expressions.kafka.state import TIER_COUNTERS
from emulator.expressions.kafka.tier.metadata import index_of, visible
from emulator.expressions.kafka.tier.types import REMOTE_EVENT, REMOTE_SEGMENT, empty_index
from emulator.inputs import ScenarioInputs
from emulator.inputs.change_types import arrow_type
from emulator.inputs.initial_remote import initial_remote_events, initial_remote_segments

_KNOWN = visible("given_remote_events", "slot", "0")
TIER_AT_START = {
    "was_tiered": "tiered_at_start",
    "is_deleted": "false",
    "pins": "array()",
    "remote_segments": f"coalesce(given_remote_segments, CAST(array() AS ARRAY<{REMOTE_SEGMENT}>))",
    "remote_events": f"coalesce(given_remote_events, CAST(array() AS ARRAY<{REMOTE_EVENT}>))",
    "remote_from": "0",
    "expired_up_to": "0L",
    "enough_local": "given_enough_local",
    "tier_broken": "0",
    "highest_remote": "-1L",
    "duty": "0",
    "knows_log_start": "false",
    **dict.fromkeys(("copy_task", "expiry_task", "follower_task"), "named_struct('next', 0, 'period', 1, 'failures', 0)"),
    "copy_starts": "array()",
    "metadata_read": "IF((assigned & own_bit) != 0, 0, -1)",
    "metadata_index": (
        "IF((assigned & own_bit) != 0 AND given_remote_events IS NOT NULL,"
        f" {index_of(_KNOWN, 'given_remote_segments')}, {empty_index()})"
    ),
    "tier_counts": "named_struct(" + ", ".join(f"'{name}', 0L" for name in TIER_COUNTERS) + ")",
}
"""SQL of the columns of remote storage before round 0, where segments are kept."""

NULL_AT_START = ("leaving", "duty_epoch", "copied", "copy_under_way", "aux_state")
"""Columns of it that are null then."""


def remote_columns(inputs: ScenarioInputs, leaders: np.ndarray) -> dict[str, pa.Array]:
    """The remote segments of every state's partition and their events, null where there are none."""
    rows: dict[int, list[Any]] = defaultdict(list)
    for row in inputs.scenario.initial_remote_segments.to_pylist():
        rows[inputs.partition_id(row["topic"], row["partition"])].append(row)
    caches = {
        (inputs.partition_id(row["topic"], row["partition"]), row["broker"]): [
            (e["epoch"], e["start_offset"]) for e in row["epochs"]
        ]
        for row in (inputs.scenario.initial_replicas.to_pylist() if rows else ())
    }
    segments: list[Any] = [None] * len(inputs.states)
    for at, partition in enumerate(inputs.states.tolist() if rows else ()):
        if partition in rows:
            leader = int(leaders[at])
            broker = inputs.worlds[int(inputs.partition_table.world_id[partition])].brokers[leader]
            cache = caches.get((partition, broker), [(0, 0)]) if leader >= 0 else []
            segments[at] = initial_remote_segments(rows[partition], leader, cache)
    events = [None if of_one is None else initial_remote_events(of_one) for of_one in segments]
    return {
        "given_remote_segments": pa.array(segments, arrow_type(f"ARRAY<{REMOTE_SEGMENT}>")),
        "given_remote_events": pa.array(events, arrow_type(f"ARRAY<{REMOTE_EVENT}>")),
    }


def enough_local(inputs: ScenarioInputs, record_bytes: np.ndarray) -> np.ndarray:
    """For every state's partition the mask of replicas that have enough of the log themselves (KIP-1303).

    `record_bytes`: of each state's records. What was there before round 0 spans no time.
    """
    found = np.full(len(inputs.states), -1, np.int32)
    if not inputs.prefers_local_log:
        return found
    places = {partition: at for at, partition in enumerate(inputs.states.tolist())}
    table = inputs.partition_table
    for row in inputs.scenario.initial_replicas.to_pylist():
        partition = inputs.partition_id(row["topic"], row["partition"])
        at, limit = places.get(partition), inputs.feeds[int(table.feed_id[partition])].eligible_local_log_bytes
        log_start = row["log_start_offset"] or 0
        local_start = log_start if row["local_log_start_offset"] is None else row["local_log_start_offset"]
        if at is None or local_start == log_start or (row["leo"] - local_start) * int(record_bytes[at]) >= limit:
            continue
        found[at] &= ~(1 << inputs.worlds[int(table.world_id[partition])].brokers.index(row["broker"]))
    return found
