"""How many events of each kind a block has, by topic; and which of them become rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.outcomes.compiled.columns import table_of, texts_at
from emulator.outcomes.compiled.names import Names
from emulator.scenario.event_kinds import PARTITION_EVENTS


def is_written(names: Names, partitions: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """By event whether it becomes a row; `kinds`: places in PARTITION_EVENTS."""
    return (names.event_kinds[partitions] >> kinds) & 1 == 1


def no_events(names: Names) -> np.ndarray:
    """None of any kind: counts by topic of the block, then by kind."""
    return np.zeros((names.topic_count, len(PARTITION_EVENTS)), np.int64)


def event_counts(names: Names, partitions: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Likewise of these events."""
    shape = (names.topic_count, len(PARTITION_EVENTS))
    places = names.topic_place[partitions] * shape[1] + kinds
    return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)


def event_count_rows(names: Names, counts: np.ndarray) -> pa.Table:
    """The rows of `event_counts`; of kinds without any event there are none."""
    topic, kind = np.nonzero(counts)
    first_of_topic = np.zeros(names.topic_count, np.int64)
    first_of_topic[names.topic_place[::-1]] = np.arange(len(names.topic_place))[::-1]
    ids = names.ids(first_of_topic[topic])
    columns = {name: ids[name] for name in ("scenario_id", "topic")}
    columns |= {"kind": texts_at(PARTITION_EVENTS, kind), "events": counts[topic, kind]}
    return table_of("event_counts", len(topic), columns)
