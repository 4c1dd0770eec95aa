"""All tables of one block."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.consumers import consumer_group_rows, unread_rows
from emulator.outcomes.compiled.event_counts import event_count_rows
from emulator.outcomes.compiled.events import told_events
from emulator.outcomes.compiled.final_state import leader_epoch_rows, outcome_rows, partition_rows, replica_rows
from emulator.outcomes.compiled.names import Names
from emulator.outcomes.compiled.remote_segments import remote_segment_rows
from emulator.outcomes.compiled.trace import trace_partition_rows, trace_rows
from emulator.outcomes.compiled.traffic import TRAFFIC_SCHEMA, traffic_sums
from emulator.outcomes.compiled.violations import violation_rows
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.told import Told
from emulator.table_columns.arrow_columns import arrow_schema

TABLES = (
    "partitions", "outcomes", "events", "replicas", "leader_epochs", "remote_segments", "violations", "trace", "trace_partitions",
    "replica_states", "consumer_groups", "unread",
)  # fmt: skip
"""Output tables whose rows a block has."""

BLOCK_TABLES: dict[str, pa.Schema] = {name: arrow_schema(name) for name in TABLES} | {
    "traffic": TRAFFIC_SCHEMA, "event_counts": arrow_schema("event_counts"),
}  # fmt: skip
"""By name the columns of what a block gives. The last two are sums, of which the run has those over all blocks."""


def block_tables(
    names: Names, inputs: Inputs, fences: pa.Table, state: State, told: Told, states: Sequence[pa.Table], counts: np.ndarray
) -> dict[str, pa.Table]:
    """The rows of BLOCK_TABLES of a block that was played to its end.

    `names` and `fences` (`fence_events`) are of its start; `states`: `replica_state_rows` of the rounds that were named;
    `counts`: `event_counts` of all events; `told` has those that are written.
    """
    return told_tables(names, inputs, fences, state, told, states, counts) | end_tables(names, inputs, state)


def end_tables(names: Names, inputs: Inputs, state: State) -> dict[str, pa.Table]:
    """Of these the rows that say how a block ended."""
    return {
        "partitions": partition_rows(names, inputs, state),
        "outcomes": outcome_rows(names, inputs, state),
        "replicas": replica_rows(names, state),
        "leader_epochs": leader_epoch_rows(names, state),
        "remote_segments": remote_segment_rows(names, state),
        "consumer_groups": consumer_group_rows(names, inputs, state),
    }


def told_tables(
    names: Names, inputs: Inputs, fences: pa.Table, state: State, told: Told, states: Sequence[pa.Table], counts: np.ndarray
) -> dict[str, pa.Table]:
    """Of these the rows that were told on the way, in any stretch of it; `fences` are for one of them, `state` of its end."""
    return {
        "events": pa.concat_tables([told_events(names, told.events), fences]),
        "unread": unread_rows(names, told),
        "violations": violation_rows(names, told),
        "trace": trace_rows(names, inputs, state, told),
        "trace_partitions": trace_partition_rows(names, told),
        "replica_states": pa.concat_tables([arrow_schema("replica_states").empty_table(), *states]),
        "traffic": traffic_sums(names, inputs, told.traffic),
        "event_counts": event_count_rows(names, counts),
    }
