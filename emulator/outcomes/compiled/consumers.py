"""What consumer groups read of a block's partitions, and what they could not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.columns import offsets_of
from emulator.outcomes.compiled.columns import nullable, table_of, texts_at
from emulator.outcomes.compiled.names import NO_BROKER, Names
from emulator.rounds.kafka.constants import NO_EPOCH, NOBODY
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.reading.records import CAUSES, NO_CAUSE, NO_POSITION, UNREAD_KINDS, Reader, Waited
from emulator.rounds.kafka.state import State
from emulator.rounds.kafka.told import Told
from emulator.rounds.packed import entries_of
from emulator.table_columns import CONSUMER_COUNTERS
from emulator.table_columns.arrow_columns import arrow_schema

CONSUMER_TABLES = ("consumer_groups", "unread")


def consumer_group_rows(names: Names, inputs: Inputs, state: State) -> pa.Table:
    """The rows of `consumer_groups`: a row a reader."""
    readers = np.asarray(entries_of(Reader, state.readers))
    partition = np.repeat(np.arange(len(state.readers.offsets) - 1), np.diff(state.readers.offsets))
    columns: dict[str, Any] = {name: readers[name] for name in (*CONSUMER_COUNTERS, "max_lag")}
    has_started = readers["position"] != NO_POSITION
    columns |= {
        "group": names.groups(partition, np.asarray(inputs.wants)["group"][readers["want"]]),
        "position": nullable(readers["position"], NO_POSITION),
        "epoch": nullable(readers["epoch"], NO_EPOCH),
        "lag": np.where(has_started, np.maximum(_committed_ends(state)[partition] - readers["position"], 0), 0),
        "waited_rounds": _waited_rounds(np.asarray(entries_of(Waited, state.waits))["waited_rounds"]),
        "stopped": texts_at(CAUSES, readers["stopped"], NO_CAUSE),
    }
    return table_of("consumer_groups", len(readers), names.ids(partition) | columns)


def unread_rows(names: Names, told: Told) -> pa.Table:
    """The rows of `unread`."""
    rows = told.unread
    partition = np.asarray(rows["partition"])
    columns = {name: rows[name] for name in ("from_round", "to_round", "from_offset", "to_offset")} | {
        "group": names.groups(partition, np.asarray(rows["group"])),
        "kind": texts_at(UNREAD_KINDS, rows["kind"]),
        "cause": texts_at(CAUSES, rows["cause"]),
        "broker": nullable(rows["broker"], NO_BROKER),
    }
    return table_of("unread", len(rows), names.ids(partition) | columns)


def _committed_ends(state: State) -> np.ndarray:
    """By partition the high watermark of T, or of the last one; 0 where there never was one."""
    parts = np.asarray(state.partitions)
    leader = parts["client_leader"]
    hw = np.asarray(state.replicas)["hw"][parts["first_replica"] + np.maximum(leader, 0)]
    return np.where(leader == NOBODY, 0, hw)


def _waited_rounds(rounds: np.ndarray) -> pa.Array:
    """By reader a map from causes to rounds, without those that are 0; `rounds`: of each reader by cause."""
    of_readers = rounds.reshape(-1, len(CAUSES))
    has = of_readers > 0
    offsets = pa.array(offsets_of(has.sum(axis=1)).astype(np.int32))
    causes = texts_at(CAUSES, np.nonzero(has)[1])
    found = pa.MapArray.from_arrays(offsets, causes, pa.array(of_readers[has], pa.int64()))
    return found.cast(arrow_schema("consumer_groups").field("waited_rounds").type)
