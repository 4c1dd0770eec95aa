"""The tables of traced partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import epoch_lists, nullable, segment_lists, table_of, texts_at
from emulator.outcomes.compiled.final_state import ROLES
from emulator.outcomes.compiled.names import Names
from emulator.rounds.kafka.constants import FETCH_STATES, NOT_SENT, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.told import Told
from emulator.rounds.records import field_of

TRACE_TABLES = ("trace", "trace_partitions")


def trace_rows(names: Names, inputs: Inputs, state: State, told: Told) -> pa.Table:
    """The rows of `trace`."""
    trace = told.trace
    columns = {
        "round": trace["at_round"],
        "broker": trace["broker"],
        "role": texts_at(ROLES, trace["role"]),
        "leader_epoch": trace["leader_epoch"],
        "log_start_offset": trace["log_start"],
        "local_log_start_offset": trace["local_start"],
        "leo": trace["leo"],
        "hw": trace["hw"],
        "remote_leo": nullable(trace["remote_leo"], UNKNOWN),
        "in_isr": trace["in_isr"] != 0,
        "fetch_state": texts_at(FETCH_STATES, trace["fetch_state"], NOT_SENT),
        "epochs": epoch_lists(np.asarray(trace["epochs"]), told.trace_epochs),
        "local_segments": segment_lists(np.asarray(trace["segments"]), told.trace_segments),
        "local_bytes": nullable(trace["local_bytes"], UNKNOWN),
        "highest_remote_offset": pa.array(np.asarray(trace["highest_remote"]), mask=~with_tiers(inputs, state, trace)),
        **list_offsets(inputs, state, trace),
    }
    return table_of("trace", len(trace), names.ids(np.asarray(trace["partition"])) | columns)


def with_tiers(inputs: Inputs, state: State, trace: Any) -> np.ndarray:
    """By row whether segments are kept, in a run in which some topic has remote storage."""
    scenario = field_of(state.partitions, "scenario")[trace["partition"]]
    return (field_of(inputs.scenarios, "some_tiered")[scenario] != 0) & (np.asarray(trace["local_bytes"]) != UNKNOWN)


def list_offsets(inputs: Inputs, state: State, trace: Any) -> dict[str, pa.Array]:
    """What leaders answer to the special timestamps of ListOffsets."""
    is_told = with_tiers(inputs, state, trace) & (np.asarray(trace["role"]) == ROLES.index("leader"))
    tiered, highest = np.asarray(trace["tiered"]) != 0, np.asarray(trace["highest_remote"])
    has_all = trace["local_start"] == trace["log_start"]
    pending = np.where(highest >= 0, np.maximum(highest + 1, trace["log_start"]), np.where(has_all, trace["log_start"], UNKNOWN))
    answers = {
        "latest_offset": trace["hw"],
        "earliest_offset": trace["log_start"],
        "max_timestamp_offset": trace["newest_offset"],
        "earliest_local_offset": trace["local_start"],
        "latest_tiered_offset": np.where(tiered, highest, UNKNOWN),
        "earliest_pending_upload_offset": np.where(tiered, pending, UNKNOWN),
    }
    return {name: pa.array(np.asarray(values), mask=~is_told) for name, values in answers.items()}


def trace_partition_rows(names: Names, told: Told) -> pa.Table:
    """The rows of `trace_partitions`."""
    trace = told.trace_partitions
    places = np.asarray(trace["partition"])
    columns = {
        "round": trace["at_round"],
        "leader": names.broker_at(places, np.asarray(trace["leader"])),
        "leader_epoch": trace["leader_epoch"],
        **{name: names.brokers_in(places, trace[name]) for name in ("isr", "elr", "last_known_elr")},
    }
    return table_of("trace_partitions", len(trace), names.ids(places) | columns)
