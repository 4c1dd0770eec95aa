"""Tables of what a block's partitions and replicas are at the end of their run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import nullable, table_of, texts_at
from emulator.outcomes.compiled.names import Names
from emulator.outcomes.compiled.remote_segments import tier_counters
from emulator.rounds.kafka.constants import NO_EPOCH, OFFLINE
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import EpochEntry
from emulator.rounds.kafka.state import State
from emulator.rounds.packed import entries_of
from emulator.rounds.records import field_of, fields_at

ROLES = ("follower", "leader", "offline")
"""By the numbers that TraceRow.role has."""

_NOT_THERE = -1

_OF_ONE_NAME = (
    *("appended", "acked_lost", "sent_unacknowledged", "unacknowledged_lost", "committed_lost", "refused", "truncated"),
    *("elections", "unclean_elections", "leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds"),
    *("unwritable_rounds", "unacked_rounds", "isr_shrinks", "isr_expands", "replicated_bytes", "local_deleted_bytes"),
)
_OUTCOMES = {name: name for name in _OF_ONE_NAME} | {
    "acked": "acked_total",
    "given_up": "given_up_records",
    "leader_epoch": "epoch",
    "hw": "end_hw",
    "leo": "end_leo",
}
"""Column of `outcomes` -> field of Partition."""

LOGS = {
    "broker": "broker",
    "leader_epoch": "believed_epoch",
    "log_start_offset": "log_start",
    "local_log_start_offset": "local_start",
    "leo": "leo",
    "hw": "hw",
}
"""Column of `replicas`, and of `replica_states` -> field of Replica."""


def partition_rows(names: Names, inputs: Inputs, state: State) -> pa.Table:
    """The rows of `partitions`."""
    places = np.arange(len(state.partitions))
    return table_of(
        "partitions",
        len(places),
        names.ids(places)
        | {
            "replicas": names.brokers_in_order(field_of(state.partitions, "order")),
            "min_isr": field_of(inputs.settings, "min_insync_replicas")[field_of(state.partitions, "settings")],
            "first_leader": field_of(state.partitions, "first_leader"),
        },
    )


def outcome_rows(names: Names, inputs: Inputs, state: State) -> pa.Table:
    """The rows of `outcomes`."""
    partitions, places = np.asarray(state.partitions), np.arange(len(state.partitions))
    columns = {column: partitions[field] for column, field in _OUTCOMES.items()}
    slots = {
        "leader": names.broker_at(places, partitions["leader"]),
        "isr": names.brokers_in(places, partitions["isr"]),
        "elr": names.brokers_in(places, partitions["elr"]),
    }
    return table_of("outcomes", len(places), names.ids(places) | columns | slots | tier_counters(inputs, state))


def replica_rows(names: Names, state: State) -> pa.Table:
    """The rows of `replicas`: those assigned at the end."""
    places = np.flatnonzero(_is_assigned(names, state))
    replicas = fields_at(state.replicas, places)
    partitions = names.partition_of[places]
    columns = {column: replicas(field) for column, field in LOGS.items()}
    role = np.where(replicas("status") & OFFLINE != 0, 2, (replicas("leading_epoch") != NO_EPOCH).astype(np.int64))
    in_isr = (field_of(state.partitions, "isr")[partitions] >> names.slot_of[places]) & 1 == 1
    columns |= {"local_bytes": replicas("local_bytes"), "role": texts_at(ROLES, role), "in_isr": in_isr}
    return table_of("replicas", len(places), names.ids(partitions) | columns)


def leader_epoch_rows(names: Names, state: State) -> pa.Table:
    """The rows of `leader_epochs`: the caches of replicas assigned at the end."""
    entries = entries_of(EpochEntry, state.epochs)
    replica = np.repeat(np.arange(len(state.replicas)), np.diff(state.epochs.offsets))
    start = field_of(entries, "start_offset")
    ends = np.full(len(start), _NOT_THERE, np.int64)
    is_last = np.ones(len(start), bool)
    is_last[:-1] = replica[1:] != replica[:-1]
    ends[:-1] = np.where(is_last[:-1], _NOT_THERE, start[1:])
    kept = np.flatnonzero(_is_assigned(names, state)[replica])
    columns = {
        "broker": field_of(state.replicas, "broker")[replica[kept]],
        "epoch": field_of(entries, "epoch")[kept],
        "start_offset": start[kept],
        "end_offset": nullable(ends[kept], _NOT_THERE),
    }
    return table_of("leader_epochs", len(kept), names.ids(names.partition_of[replica[kept]]) | columns)


def _is_assigned(names: Names, state: State) -> np.ndarray:
    """By place of a replica in the block."""
    return np.asarray((field_of(state.partitions, "assigned")[names.partition_of] >> names.slot_of) & 1 == 1)
