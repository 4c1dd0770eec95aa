"""The table of events: what the rounds told, and when whose broker was fenced and unfenced."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.inputs.arrays.columns import spread
from emulator.outcomes.compiled.columns import nullable, table_of, texts_at
from emulator.outcomes.compiled.event_counts import event_counts, is_written
from emulator.outcomes.compiled.names import Names
from emulator.rounds.kafka.constants import FENCED, FOREVER, RETURNING, UNKNOWN
from emulator.rounds.kafka.event_kinds import EVENT_KINDS
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.state import State
from emulator.rounds.records import field_of
from emulator.scenario.event_kinds import OF_BROKERS, PARTITION_EVENTS

_NO_FAULT = -1


def told_events(names: Names, events: np.ndarray) -> pa.Table:
    """The rows of `events` that the rounds told (records.Event)."""
    columns = {
        "round": events["at_round"],
        "kind": texts_at(EVENT_KINDS, events["kind"]),
        "broker": events["broker"],
        "leader_epoch": nullable(events["leader_epoch"], UNKNOWN),
        "from_offset": nullable(events["from_offset"], UNKNOWN),
        "to_offset": nullable(events["to_offset"], UNKNOWN),
        "cause": nullable(events["cause"], _NO_FAULT),
        "records": nullable(events["records"], UNKNOWN),
    }
    return table_of("events", len(events), names.ids(np.asarray(events["partition"])) | columns)


def fence_events(names: Names, inputs: Inputs, state_at_start: State) -> tuple[pa.Table, np.ndarray]:
    """The rows of `events` that say when brokers are fenced and unfenced, and how many there are, written or not.

    There is one for each replica assigned at the start; its `span` is then the first of its broker's.
    """
    partitions, replicas = np.asarray(state_at_start.partitions), np.asarray(state_at_start.replicas)
    is_assigned = (partitions["assigned"][names.partition_of] >> names.slot_of) & 1 == 1
    replica, span, kind = _fences(inputs, np.flatnonzero(is_assigned), replicas["span"])
    partition = names.partition_of[replica]
    from_round = field_of(inputs.spans, "from_round")
    in_time = from_round[span] < field_of(inputs.scenarios, "rounds")[partitions["scenario"][partition]]
    replica, span, kind, partition = replica[in_time], span[in_time], kind[in_time], partition[in_time]
    kind = kind + PARTITION_EVENTS.index(OF_BROKERS[0])
    counts, written = event_counts(names, partition, kind), is_written(names, partition, kind)
    replica, span, kind, partition = replica[written], span[written], kind[written], partition[written]
    columns = {
        "round": from_round[span],
        "kind": texts_at(PARTITION_EVENTS, kind),
        "broker": replicas["broker"][replica],
        "cause": nullable(field_of(inputs.spans, "cause")[span], _NO_FAULT),
    }
    return table_of("events", len(replica), names.ids(partition) | columns), counts


def _fences(inputs: Inputs, replicas: np.ndarray, first_span: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(replica, span, 0: fenced, 1: unfenced) of everything that happens to the brokers of these replicas."""
    spans, kinds = _fences_of_brokers(inputs)
    ends = np.flatnonzero(field_of(inputs.spans, "from_round") == FOREVER)
    begin = np.searchsorted(spans, first_span[replicas])
    end = np.searchsorted(spans, ends[np.searchsorted(ends, first_span[replicas])])
    count = end - begin
    at = spread(begin, count)
    return np.repeat(replicas, count), spans[at], kinds[at]


def _fences_of_brokers(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """(place of the span, ascending; 0: fenced, 1: unfenced)."""
    from_round, status = field_of(inputs.spans, "from_round"), field_of(inputs.spans, "status")
    is_last = from_round == FOREVER
    fenced, returning = status & FENCED != 0, status & RETURNING != 0
    fenced_before = np.zeros(len(fenced), bool)
    fenced_before[1:] = fenced[:-1] & ~is_last[:-1]
    happens = np.stack([(fenced & ~fenced_before) | returning, (~fenced & fenced_before) | returning], axis=1)
    span, kind = np.nonzero(happens & ~is_last[:, None])
    return span, kind
