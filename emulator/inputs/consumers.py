"""Settings of consumers, and of what remote reads take at brokers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from emulator.scenario import ConsumerRow, Scenario
from emulator.scenario.configs_in_run import values
from emulator.scenario.model import Topic
from emulator.scenario.workload import DEFAULT_RECORD_BYTES

MOST_RECORDS, MOST_BYTES = 2**40, 2**60
"""More of records or bytes in a round is never met, and would overflow when added to."""


def groups_of(rows: Sequence[ConsumerRow]) -> list[str]:
    """The groups of these rows, each once, in the order in which they come: that of `wants`."""
    return list(dict.fromkeys(row.group for row in rows))


def reads_per_thread(scenario: Scenario) -> int | None:
    """Remote reads that one thread of a broker makes in a round; None: they take no time."""
    read_ms = scenario.remote_storage.read_ms
    return max(1, scenario.round_ms // read_ms) if read_ms > 0 else None


def taken_bytes(row: ConsumerRow) -> int:
    """Bytes that a reader takes in a round at the most, by its row."""
    return MOST_BYTES if row.bytes_per_round is None else min(row.bytes_per_round, MOST_BYTES)


def largest_record(scenario: Scenario) -> int:
    """Bytes of the largest record of any segment, of those that are remote at the start as a mean."""
    given, remote = scenario.initial_replicas, scenario.initial_remote_segments
    records = pc.add(pc.subtract(remote.column("end_offset"), remote.column("base_offset")), 1)
    sizes = [
        scenario.workload.column("record_bytes"),
        pc.fill_null(given.column("record_bytes"), DEFAULT_RECORD_BYTES),
        pc.add(pc.divide(remote.column("bytes"), records), 1),
    ]
    return max(pc.max(size).as_py() or 1 for size in sizes)


def least_segment(scenario: Scenario, topics: Sequence[Topic]) -> int:
    """Bytes that two segments of these topics have at least that follow each other: one would have held less, unless it was given
    so, or may roll by age.
    """
    if any(int(ms) < scenario.rounds * scenario.round_ms for topic in topics for ms in values(scenario, topic, "segment.ms")):
        return 1
    sizes = [int(size) for topic in topics for size in values(scenario, topic, "segment.bytes")]
    sizes += [pc.min(scenario.initial_remote_segments.column("bytes")).as_py() or sizes[0]]
    given = scenario.initial_replicas
    segments = given.column("segments").combine_chunks()
    begins, of = pc.list_flatten(segments).to_numpy(), pc.list_parent_indices(segments).to_numpy()
    record_bytes = pc.fill_null(given.column("record_bytes"), DEFAULT_RECORD_BYTES).to_numpy()
    own = (np.diff(begins) * record_bytes[of[:-1]])[np.diff(of) == 0]
    return max(1, min([*sizes, *own.tolist()]))


def most_of_a_round(
    fetches: Any, fetch_bytes: Any, limit_bytes: Any, records: Any, record_bytes: int, pieces: Any = 1
) -> tuple[Any, Any]:
    """(requests, bytes) of a reader's remote read at the most, numbers or arrays. `fetches`: that a round holds, of fetch_bytes;
    limit_bytes, records: what the reader takes in it; record_bytes: of the largest record; pieces: of the read.

    Two fetches of a piece that follow each other bring more than fetch_bytes, or one would have: as many times as there are such
    pairs, and one of each piece beside them.
    """
    limit = limit_of_a_round(limit_bytes, records, record_bytes)
    requests = np.minimum(np.minimum(fetches, records), np.maximum(1, 2 * (-(-limit // fetch_bytes) + pieces - 1) - 1))
    return requests, np.maximum(record_bytes, np.minimum(limit, fetches * np.maximum(fetch_bytes, record_bytes)))


def limit_of_a_round(limit_bytes: Any, records: Any, record_bytes: int) -> Any:
    """Bytes of that many records, and no more than limit_bytes."""
    whole = limit_bytes // record_bytes
    return np.where(records < whole, np.minimum(records, whole) * record_bytes, limit_bytes)


def read_quota(bytes_per_second: int, round_ms: int) -> int:
    """Bytes that remote reads get in a round (KIP-956); without a quota more than they ever want."""
    return min(MOST_BYTES, bytes_per_second * round_ms // 1000)
