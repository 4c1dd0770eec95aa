"""The table of replicas at the end of rounds that were named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.columns import spread
from emulator.outcomes.compiled.columns import epoch_lists, nullable, segment_lists, table_of, texts_at
from emulator.outcomes.compiled.final_state import LOGS, ROLES
from emulator.outcomes.compiled.names import Names
from emulator.outcomes.compiled.trace import list_offsets, with_tiers
from emulator.rounds.kafka.constants import FETCH_STATES, NO_EPOCH, NOT_RUNNING, NOT_SENT, OFFLINE, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.list_records import EpochEntry, Run, Segment
from emulator.rounds.kafka.state import RUN_LISTS, State
from emulator.rounds.packed import entries_of
from emulator.rounds.records import field_of, fields_at

_REPLICAS = {**LOGS, "flushed_offset": "flushed", "hw_checkpoint": "checkpoint"}
"""Column -> field of Replica."""


def replica_state_rows(names: Names, inputs: Inputs, state: State, at_round: int | None = None) -> pa.Table:
    """The rows of `replica_states` of a round: of partitions that stand at its end, the replicas assigned then.

    None: of all partitions, each at the end of the round that it stands at.
    """
    parts = np.asarray(state.partitions)
    is_there = ((parts["now"] == at_round + 1) if at_round is not None else np.ones(len(parts), bool))[names.partition_of]
    places = np.flatnonzero(is_there & ((parts["assigned"][names.partition_of] >> names.slot_of) & 1 == 1))
    partition, slot = names.partition_of[places], names.slot_of[places]
    part, replicas = fields_at(parts, partition), fields_at(state.replicas, places)

    def has(mask: str) -> np.ndarray:
        return np.asarray((part(mask) >> slot) & 1 == 1)

    status, client_leader = replicas("status"), part("client_leader")
    role = np.where(status & OFFLINE != 0, 2, (replicas("leading_epoch") != NO_EPOCH).astype(np.int64))
    remote_leo = np.where(client_leader == slot, UNKNOWN, replicas("remote_leo"))
    entries = np.diff(state.epochs.offsets)[places]
    epochs = np.asarray(entries_of(EpochEntry, state.epochs))[spread(state.epochs.offsets[places], entries)]
    columns = (
        {column: replicas(field) for column, field in _REPLICAS.items()}
        | _on_disk(inputs, state, partition, places, role)
        | {
            "round": part("now") - 1,
            "role": texts_at(ROLES, role),
            "remote_leo": nullable(remote_leo, UNKNOWN),
            "in_isr": has("isr"),
            "fetch_state": texts_at(FETCH_STATES, replicas("fetch_state"), NOT_SENT),
            "epochs": epoch_lists(entries, epochs),
            "leader": names.broker_at(partition, part("leader")),
            "last_leader": names.broker_at(partition, client_leader),
            "in_maximal_isr": has("held"),
            "min_isr": field_of(inputs.settings, "min_insync_replicas")[part("settings")],
            "leader_end_epoch": nullable(replicas("end_epoch"), NO_EPOCH),
            "leader_end_offset": nullable(replicas("end_offset"), UNKNOWN),
            "running": status & NOT_RUNNING == 0,
            "fenced": ~has("unfenced"),
        }
    )
    return table_of("replica_states", len(places), names.ids(partition) | columns)


def _on_disk(
    inputs: Inputs, state: State, partition: np.ndarray, places: np.ndarray, role: np.ndarray
) -> dict[str, pa.Array | np.ndarray]:
    """Columns of segments, and of how far logs are tiered; null where segments are not kept, as in `trace`."""
    part, replicas = fields_at(state.partitions, partition), fields_at(state.replicas, places)
    keeps = part("keeps_segments") != 0
    counts = np.diff(state.segments.offsets)[places]
    closed = np.asarray(entries_of(Segment, state.segments))[spread(state.segments.offsets[places], counts)]
    of = np.repeat(np.arange(len(places)), counts)
    size_bytes = replicas("active_bytes") + np.bincount(of, closed["size_bytes"], len(places)).astype(np.int64)
    order = np.argsort(np.append(of, np.arange(len(places))), kind="stable")  # the active one behind the closed ones
    bases = np.append(closed["base_offset"], replicas("active_base"))[order]
    rows = {name: replicas(name) for name in ("log_start", "local_start", "hw", "highest_remote")} | {
        "partition": partition,
        "role": role,
        "local_bytes": np.where(keeps, size_bytes, UNKNOWN),
        "tiered": field_of(inputs.settings, "tiered")[part("settings")],
        "newest_offset": _newest_offsets(inputs, state, places),
    }
    kept = np.repeat(keeps, counts + 1)
    return {
        "local_segments": segment_lists(np.where(keeps, counts + 1, 0), {"base_offset": bases[kept]}),
        "local_bytes": nullable(rows["local_bytes"], UNKNOWN),
        "highest_remote_offset": pa.array(rows["highest_remote"], mask=~with_tiers(inputs, state, rows)),
        **list_offsets(inputs, state, rows),
    }


def _newest_offsets(inputs: Inputs, state: State, places: np.ndarray) -> np.ndarray:
    """As rounds/kafka/segments.first_of_newest_round, of all replicas."""
    kinds = len(RUN_LISTS)
    last = state.runs.offsets[kinds * places + 1] - 1
    replicas = fields_at(state.replicas, places)
    leo, local_start = replicas("leo"), replicas("local_start")
    has = (last >= state.runs.offsets[kinds * places]) & (leo > local_start)
    newest = np.full(len(places), UNKNOWN, np.int64)
    run, leo, local_start = np.asarray(entries_of(Run, state.runs))[last[has]], leo[has], local_start[has]
    records = field_of(inputs.patterns, "records")[run["pattern"]]
    back = (run["phase"] + leo - 1 - run["start_offset"]) % records
    first = np.maximum(np.maximum(local_start, run["start_offset"]), leo - 1 - back)
    newest[has] = np.where(run["first_round"] < 0, local_start, first)
    return newest
