"""What consumer groups read."""

from __future__ import annotations

from emulator.table_columns.columns import INT, LONG, PLACE, TEXT, Column, table

GROUP = Column("group", TEXT, "consumer group")

CONSUMER_COUNTERS = {
    "records": "records read",
    "page_cache_bytes": "bytes read from brokers' memory",
    "disk_bytes": "bytes read from brokers' disks",
    "remote_bytes": "bytes read from remote storage, through brokers",
    "page_cache_requests": "fetches answered from memory",
    "disk_requests": "fetches answered from disk",
    "remote_requests": "fetches answered from remote storage",
    "remote_errors": "remote reads that failed",
    "throttled_rounds": "rounds in which the remote fetch quota cut a read",
    "index_hits": "of remote_requests, those whose segment's indexes the broker had",
    "index_misses": "those for which it fetched them",
    "index_bytes": "bytes of the indexes fetched",
    "follower_bytes": "bytes read from followers",
    "cross_rack_bytes": "bytes read from brokers of other racks than the group's",
    "empty_fetches": "fetches that found nothing to read",
    "resets": "positions that were reset",
    "truncations": "times it was told that the log was cut below its position",
    "skipped": "records that it will never read, since a reset moved the position up",
    "read_again": "records that a reset made it read again",
    "read_lost": "records read that the leader does not have any more",
}

"""What is counted of a reader (reading/types.COUNTERS)."""

CONSUMERS_TABLES: dict[str, tuple[Column, ...]] = {
    "consumer_groups": table(
        *PLACE,
        GROUP,
        Column("position", LONG, "offset: next that the group wants, at the end; null: it has not started", True),
        Column("epoch", INT, "leader epoch of the last record that it read; null: none since it started or was reset", True),
        Column("lag", LONG, "records from the position to the leader's high watermark, at the end"),
        Column("max_lag", LONG, "the largest lag at the end of a round in which the group read"),
        *(Column(name, LONG, comment) for name, comment in CONSUMER_COUNTERS.items()),
        Column(
            "waited_rounds",
            "map<string,bigint>",
            "rounds in which there was something and it got nothing, or it could not start, by cause",
        ),
        Column("stopped", TEXT, "cause for which it gave up; null: it did not", True),
    ),
    "unread": table(
        *PLACE,
        GROUP,
        Column("kind", TEXT, "stretch: rounds without records, skip: records never read, loss: what was read is gone"),
        Column("from_round", INT, "first round"),
        Column("to_round", INT, "first round after it"),
        Column("from_offset", LONG, "offset: first concerned"),
        Column("to_offset", LONG, "offset: end, exclusive"),
        Column("cause", TEXT, "why: leaderless, store_away, below_log_start, truncated, ..."),
        Column("broker", INT, "broker id that was asked; null: none", True),
    ),
}
