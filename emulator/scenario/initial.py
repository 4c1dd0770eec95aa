"""The state at the start: what the controller knows, the replicas' logs, the remote segments.

What of it can be is checked by initial_rows.py, row by row, and by initial_others.py, of rows together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from emulator.scenario.epoch_caches import epochs_or_first
from emulator.scenario.initial_file import InitialFile
from emulator.scenario.initial_others import check_copies, check_leader_epochs, check_once
from emulator.scenario.initial_rows import check_partition_rows, check_replica_rows, check_segment_rows
from emulator.scenario.model import (
    INITIAL_PARTITIONS_SCHEMA,
    INITIAL_REMOTE_SEGMENTS_SCHEMA,
    INITIAL_REPLICAS_SCHEMA,
    Topic,
)
from emulator.scenario.places import Places
from emulator.scenario.rows import rows_of_list
from emulator.scenario.shapes import InitialReplicaShape, InitialShape
from emulator.scenario.topics import Layout


def resolve_initial(
    places: Places,
    shape: InitialShape,
    topics: Sequence[Topic],
    imported: Sequence[pa.Table] = (),
    file: InitialFile | None = None,
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Returns initial partitions, replicas and remote segments: the imported ones first, then those of
    `file`, then those of `initial`.

    `imported`: three such tables, already checked, or none. Raises InputError for the first entry that is of no partition or
    replica there is, says what cannot be, or stands twice.
    """
    tables = [
        rows_of_list(places, ("initial", "partitions"), [entry.model_dump() for entry in shape.partitions],
                     INITIAL_PARTITIONS_SCHEMA),
        rows_of_list(places, ("initial", "replicas"), [_filled(entry) for entry in shape.replicas],
                     INITIAL_REPLICAS_SCHEMA),
        rows_of_list(places, ("initial", "remote_segments"),
                     [{**entry.model_dump(), "epochs": _epoch_entries(entry.epochs)}
                      for entry in shape.remote_segments],
                     INITIAL_REMOTE_SEGMENTS_SCHEMA),
    ]  # fmt: skip
    partitions, replicas, segments = before = [[table] for table in imported] or [[], [], []]
    if file is not None or any(rows.table.num_rows for rows in tables):
        layout = Layout.of(topics)
        check_partition_rows(tables[0], layout)
        check_replica_rows(tables[1], layout)
        check_segment_rows(tables[2], layout)
        if file is not None:
            check_once(file.partitions, partitions, layout, None)
            partitions.append(file.partitions.table)
            check_once(file.replicas, replicas, layout, "broker")
            replicas.append(file.replicas.table)
            segments.append(file.remote_segments.table)
        check_once(tables[0], partitions, layout, None)
        check_once(tables[1], replicas, layout, "broker")
        if file is not None:
            replicas.append(file.logs_of_others([*replicas, tables[1].table], layout))
        said = pa.concat_tables([*partitions, tables[0].table])
        for rows in (*([file.replicas, file.logs] if file is not None else []), tables[1]):
            check_leader_epochs(rows, said, layout)
        for rows in (*([file.remote_segments] if file is not None else []), tables[2]):
            check_copies(rows, said, layout)
    whole = [pa.concat_tables([*parts, rows.table]) for parts, rows in zip(before, tables, strict=True)]
    return whole[0], whole[1], whole[2]


def _filled(entry: InitialReplicaShape) -> Mapping[str, Any]:
    row = entry.model_dump()
    if row["local_log_start_offset"] is None:
        row["local_log_start_offset"] = entry.log_start_offset
    if row["hw"] is None:
        row["hw"] = entry.leo
    row["epochs"] = epochs_or_first(entry.log_start_offset, entry.leo)
    if entry.epochs is not None:
        row["epochs"] = _epoch_entries(entry.epochs)
    return row


def _epoch_entries(pairs: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    return [{"epoch": min(epoch, 2**31 - 1), "start_offset": start} for epoch, start in pairs]
