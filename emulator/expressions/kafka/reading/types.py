"""Types of what consumer groups read, as SQL DDL (docs/consumer_rounds.md).

Offsets and bytes in bigint, rounds, epochs and slots in int. Texts given to the functions of this package should be names:
they are read more than once.
"""

from __future__ import annotations

from dataclasses import dataclass

EARLIEST, LATEST, NO_POLICY = -2, -1, -3
"""Where to start or to be reset to, beside an offset; the first two are those of ListOffsets."""

CAUSES = (
    "leaderless", "offset_unavailable", "not_committed", "open_transaction", "follower_behind", "follower_away",
    "follower_epoch", "follower_out_of_range", "store_away", "segment_gone", "other_partition", "reader_threads", "store_slow",
    "below_log_start", "above_log_end", "segment_unknown", "epoch_unknown", "truncated", "no_position", "topic_deleted",
)  # fmt: skip
"""Why nothing could be read, a position was reset, or a reader stopped; the state has places in this tuple."""

STRETCH, SKIP, LOSS = range(3)
"""Kinds of rows of `unread`."""

ANSWERS = (
    "none", "gone", "wait", "started", "reset", "truncated", "stopped", "replica_named", "empty", "local", "remote", "left",
)  # fmt: skip
"""What a round can bring a reader."""

DISK, PAGE_CACHE = 0, 1

COUNTERS = (
    "records", "page_cache_bytes", "disk_bytes", "remote_bytes", "page_cache_requests", "disk_requests", "remote_requests",
    "remote_errors", "throttled_rounds", "index_hits", "index_misses", "index_bytes", "follower_bytes", "cross_rack_bytes",
    "empty_fetches", "resets", "truncations", "skipped", "read_again", "read_lost",
)  # fmt: skip

UNREAD = "STRUCT<kind: INT, from_round: INT, to_round: INT, from_offset: BIGINT, to_offset: BIGINT, cause: INT, slot: INT>"
"""A row of `unread`; [from, to) in rounds and offsets; slot: who was asked, null: nobody."""

STRETCH_TYPE = "STRUCT<cause: INT, slot: INT, from_round: INT, last_round: INT, from_offset: BIGINT, to_offset: BIGINT>"
"""Consecutive rounds in which a reader gets nothing by one cause."""

READER_FIELDS = {
    "position": "BIGINT",
    "epoch": "INT",
    "leader": "INT",
    "leader_epoch": "INT",
    "replica": "INT",
    "replica_until": "INT",
    "reset_cause": "INT",
    "stopped": "INT",
    "remote_round": "INT",
    "max_lag": "BIGINT",
    "stretch": STRETCH_TYPE,
    "waited": "ARRAY<INT>",
    "unread": f"ARRAY<{UNREAD}>",
    **dict.fromkeys(COUNTERS, "BIGINT"),
}
READER = "STRUCT<" + ", ".join(f"{name}: {kind}" for name, kind in READER_FIELDS.items()) + ">"
"""One group's reading of the partition.

position, epoch: next offset, epoch of the last record; null: none. leader, leader_epoch: whom it was checked against. replica:
the slot it asks until `replica_until`, null: the leader. waited: rounds by cause, in the order of CAUSES.
"""

WANT = (
    "STRUCT<start: BIGINT, reset: BIGINT, reads_committed: BOOLEAN, records_per_round: BIGINT, fetch_bytes: BIGINT,"
    " max_age_rounds: INT, in_rack: INT, serves_rack: INT>"
)
"""What a group does in this round; null: it is not in force.

start, reset: an offset or EARLIEST, LATEST, NO_POLICY. records_per_round: null for any number. in_rack: mask of the slots in its
rack, null without a rack. serves_rack: the same, 0 where followers do not serve.
"""

CACHED_INDEX = "STRUCT<segment: INT, bytes: BIGINT>"
"""A segment whose indexes a broker keeps."""

FOLLOWERS = "ARRAY<STRUCT<slot: INT, broker: INT, remote_leo: BIGINT, caught_up_round: INT, log_start_offset: BIGINT>>"
"""What the leader knows of its followers."""


@dataclass(frozen=True)
class Asked:
    """SQL texts over the row of the replica that a reader asks, at the end of a round.

    `is_lead`: it is the client leader; `serves`: it runs, is a replica, clients reach it, and a leader is ready. `segment`: the
    remote segment that has the reader's position by the replica's epochs and metadata, null: none.
    """

    round: str
    slot: str
    is_lead: str
    serves: str
    client_leader: str
    client_epoch: str
    leader_epoch_start: str
    leader_hw: str
    believed_epoch: str
    leo: str
    hw: str
    last_stable_offset: str
    log: str
    log_bytes: str
    epochs: str
    log_start: str
    local_log_start: str
    is_tiered: str
    is_deleted: str
    cold_below: str
    page_cache_bytes: str
    followers: str
    isr: str
    segment: str
    store_up: str
    lists_metadata: str
    store_bytes: str


def code(cause: str) -> str:
    """A cause as the state has it."""
    return str(CAUSES.index(cause))


def answer(name: str) -> str:
    """An answer as the state has it."""
    return str(ANSWERS.index(name))


MOVING = ("position", "max_lag", "remote_round", *COUNTERS)
OF_STRETCH = ("last_round", "to_offset")
"""What quiet rounds only move of a reader, and of its stretch."""

READERS_DRIFT = "ARRAY<STRUCT<" + ", ".join(f"{name}: BIGINT" for name in (*MOVING, *OF_STRETCH)) + ", waited: ARRAY<BIGINT>>>"
"""By how much a round moved each reader."""
