"""The table of replicas at the end of rounds that were named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.columns import spread
from emulator.outcomes.compiled.columns import epoch_lists, field_of, nullable, table_of, texts_at
from emulator.outcomes.compiled.final_state import ROLES
from emulator.outcomes.compiled.names import Names
from emulator.rounds.kafka.records import (
    FETCH_STATES,
    NO_EPOCH,
    NOT_RUNNING,
    NOT_SENT,
    OFFLINE,
    UNKNOWN,
    EpochEntry,
    Inputs,
)
from emulator.rounds.kafka.state import State, entries_of

_REPLICAS = {
    "broker": "broker",
    "leader_epoch": "believed_epoch",
    "log_start_offset": "log_start",
    "local_log_start_offset": "local_start",
    "leo": "leo",
    "hw": "hw",
    "flushed_offset": "flushed",
    "hw_checkpoint": "checkpoint",
}
"""Column -> field of Replica."""


def replica_state_rows(names: Names, inputs: Inputs, state: State, at_round: int | None = None) -> pa.Table:
    """The rows of `replica_states` of a round: of partitions that stand at its end, the replicas assigned then.

    None: of all partitions, each at the end of the round that it stands at.
    """
    parts = np.asarray(state.partitions)
    is_there = ((parts["now"] == at_round + 1) if at_round is not None else np.ones(len(parts), bool))[names.partition_of]
    places = np.flatnonzero(is_there & ((parts["assigned"][names.partition_of] >> names.slot_of) & 1 == 1))
    partition, slot = names.partition_of[places], names.slot_of[places]
    part, replicas = parts[partition], np.asarray(state.replicas)[places]

    def has(mask: str) -> np.ndarray:
        return np.asarray((part[mask] >> slot) & 1 == 1)

    role = np.where(replicas["status"] & OFFLINE != 0, 2, (replicas["leading_epoch"] != NO_EPOCH).astype(np.int64))
    remote_leo = np.where(part["client_leader"] == slot, UNKNOWN, replicas["remote_leo"])
    entries = np.diff(state.epochs.offsets)[places]
    epochs = np.asarray(entries_of(EpochEntry, state.epochs))[spread(state.epochs.offsets[places], entries)]
    columns = {column: replicas[field] for column, field in _REPLICAS.items()} | {
        "round": part["now"] - 1,
        "role": texts_at(ROLES, role),
        "remote_leo": nullable(remote_leo, UNKNOWN),
        "in_isr": has("isr"),
        "fetch_state": texts_at(FETCH_STATES, replicas["fetch_state"], NOT_SENT),
        "epochs": epoch_lists(entries, epochs),
        "leader": names.broker_at(partition, part["leader"]),
        "last_leader": names.broker_at(partition, part["client_leader"]),
        "in_maximal_isr": has("held"),
        "min_isr": field_of(inputs.settings, "min_insync_replicas")[part["settings"]],
        "leader_end_epoch": nullable(replicas["end_epoch"], NO_EPOCH),
        "leader_end_offset": nullable(replicas["end_offset"], UNKNOWN),
        "running": replicas["status"] & NOT_RUNNING == 0,
        "fenced": ~has("unfenced"),
    }
    return table_of("replica_states", len(places), names.ids(partition) | columns)
