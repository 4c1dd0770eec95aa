"""Types of the tiered state as SQL DDL, and the small texts that every part of it uses.

Offsets in bigint, exclusive at the end but for `end_offset`, which is the last one that a remote segment (or an epoch in it)
has. Bytes in bigint, rounds and epochs in int. Texts given to the functions of this package should be names: they are read
more than once.
"""

from __future__ import annotations

from typing import Literal, get_args

COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED = range(4)
"""States of a remote segment, as the page and RemoteLogSegmentState have them."""
StateName = Literal["COPY_STARTED", "COPY_FINISHED", "DELETE_STARTED", "DELETE_FINISHED"]
STATE_NAMES: tuple[StateName, ...] = get_args(StateName)

SERVED, UNREFERENCED, FORGOTTEN = range(3)
"""What an index makes of a segment in one epoch. Forgotten: another one serves the same start, and reaches less far."""

QUOTA_WINDOW_MS = 11_000
"""The window of the copy quota: 11 samples of a second (KIP-956)."""

BEFORE_THE_RUN = -1
"""Round of the events of initial remote segments."""

EPOCHS = "ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>"
"""An epoch cache or a part of it, both rising."""

LOCAL_SEGMENT = "STRUCT<base_offset: BIGINT, bytes: BIGINT, first_round: INT, newest_round: INT>"
"""A closed segment on a replica's disk; it ends at the next one's base, the last at the active one's."""

REMOTE_SEGMENT = (
    f"STRUCT<id: INT, base_offset: BIGINT, end_offset: BIGINT, epochs: {EPOCHS}, checkpoint: {EPOCHS}, bytes: BIGINT,"
    " newest_round: INT, slot: INT, leader_epoch: INT, state: INT, was_finished: BOOLEAN, stored_bytes: BIGINT,"
    " moved_bytes: BIGINT, started_round: INT, copied_round: INT, deleted_round: INT>"
)
"""One attempt to copy; `id` is its place in the partition's array. state: of the last event that was allowed, null: none.
started_round, copied_round: null where that is not, or was before the run (copied_round then BEFORE_THE_RUN)."""

COPY = "STRUCT<segment: INT, left_bytes: BIGINT, as_of: INT, rate: BIGINT, orphaned: BOOLEAN>"
"""A copy under way: left_bytes at the start of round as_of, less by rate in each round from then on."""

REMOTE_EVENT = "STRUCT<round: INT, segment: INT, state: INT, slot: INT>"
"""A segment enters a state; `slot` says so."""

INDEX_ENTRY = (
    "STRUCT<epoch: INT, start_offset: BIGINT, end_offset: BIGINT, segment: INT, base_offset: BIGINT, state: INT, status: INT>"
)
"""One epoch of one segment that is not deleted: where the epoch starts and ends in it (inclusive), base of the segment."""

INDEX = f"STRUCT<entries: ARRAY<{INDEX_ENTRY}>, highest: ARRAY<STRUCT<epoch: INT, end_offset: BIGINT>>>"
"""What a broker makes of the events it read (RemoteLogMetadataCache). highest: how far each epoch was ever copied."""


def empty_index() -> str:
    """The index of who has read nothing."""
    return f"CAST(named_struct('entries', array(), 'highest', array()) AS {INDEX})"


def segment_of(segments: str, segment: str) -> str:
    """The remote segment with this id."""
    return f"get({segments}, {segment})"


def chosen(rule: str, having: str, lacking: str) -> str:
    """One of two texts, by a rule that is SQL text itself; a constant one leaves no trace."""
    return {"true": having, "false": lacking}.get(rule, f"IF({rule}, {having}, {lacking})")


MOVING_COUNTERS = ("listing_rounds", "aux_state_requests", "aux_state_errors")
"""Counters of outcomes that go on while nothing happens (leaping.py)."""

COUNTS_DRIFT = f"STRUCT<{', '.join(f'{name}: BIGINT' for name in MOVING_COUNTERS)}>"
