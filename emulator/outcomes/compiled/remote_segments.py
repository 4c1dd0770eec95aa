"""What a block's partitions have in remote storage at the end, and what it took."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.columns import spread
from emulator.outcomes.compiled.columns import epoch_lists, nullable, table_of, texts_at
from emulator.outcomes.compiled.names import Names
from emulator.rounds.kafka.constants import UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.tier.records import NOT_DELETED, STATE_NAMES, RemoteSegment
from emulator.rounds.packed import entries_of
from emulator.rounds.records import field_of

_SEGMENTS = {
    "base_offset": "base_offset",
    "end_offset": "end_offset",
    "bytes": "size_bytes",
    "stored_bytes": "stored_bytes",
    "leader_epoch": "leader_epoch",
}
"""Column of `remote_segments` -> field of RemoteSegment."""

_COUNTERS = {
    "remote_copy_requests": "copy_requests",
    "remote_copy_bytes": "copy_bytes",
    "remote_copied_again_bytes": "copied_again_bytes",
    "remote_copy_errors": "copy_errors",
    "remote_delete_requests": "delete_requests",
    "remote_delete_errors": "delete_errors",
    "remote_deleted_bytes": "deleted_bytes",
    "moved_to_tiered_storage": "moved",
    "aux_state_requests": "aux_requests",
    "aux_state_errors": "aux_errors",
    "aux_state_downloads": "aux_downloads",
}
"""Column of `outcomes` -> field of TierPartition."""


def remote_segment_rows(names: Names, state: State) -> pa.Table:
    """The rows of `remote_segments`: every attempt to copy a segment, and those of the start."""
    segments = np.asarray(entries_of(RemoteSegment, state.remote))
    counts = np.diff(state.remote.offsets)
    partition = np.repeat(np.arange(len(counts)), counts)
    columns = {column: segments[field] for column, field in _SEGMENTS.items()} | {
        "segment": spread(np.zeros_like(counts), counts),
        "epochs": _epochs(state, partition, segments["first_epoch"], segments["epochs"]),
        "checkpoint": _epochs(state, partition, segments["first_checkpoint"], segments["checkpoints"]),
        "state": texts_at(STATE_NAMES, segments["state"]),
        "broker": names.broker_at(partition, segments["slot"]),
        "started_round": nullable(segments["started_round"], UNKNOWN),
        "copied_round": nullable(segments["copied_round"], UNKNOWN),
        "deleted_round": nullable(segments["deleted_round"], NOT_DELETED),
        "in_lineage": segments["in_lineage"] != 0,
    }
    return table_of("remote_segments", len(segments), names.ids(partition) | columns)


def _epochs(state: State, partition: np.ndarray, first: np.ndarray, counts: np.ndarray) -> pa.Array:
    """Spans of the epochs that partitions have for their remote segments."""
    entries = np.asarray(entries_of(EpochEntry, state.remote_epochs))
    return epoch_lists(counts, entries[spread(state.remote_epochs.offsets[partition] + first, counts)])


def tier_counters(inputs: Inputs, state: State) -> dict[str, np.ndarray]:
    """Columns of `outcomes` that count what remote storage took; none where no partition of the block has it."""
    if not len(state.tier):
        return {}
    counters = {column: field_of(state.tier, field) for column, field in _COUNTERS.items()}
    return counters | {"remote_list_requests": _list_requests(inputs, state)}


def _list_requests(inputs: Inputs, state: State) -> np.ndarray:
    """LIST requests for metadata: one of each replica in every interval of its tasks, one for each question by option 2."""
    parts = np.asarray(state.partitions)
    scenarios, settings = np.asarray(inputs.scenarios)[parts["scenario"]], parts["settings"]
    round_ms, task_ms = (np.repeat(field_of(inputs.settings, name)[settings], parts["slots"]) for name in ("round_ms", "task_ms"))
    intervals = field_of(state.tiers, "listing_rounds") * round_ms // np.maximum(task_ms, round_ms)
    asked = np.add.reduceat(intervals, parts["first_replica"])
    asked = asked + np.where(scenarios["from_leader"] != 0, 0, field_of(state.tier, "aux_requests"))
    return np.where(scenarios["by_list"] != 0, asked, 0)
