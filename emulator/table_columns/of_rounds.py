"""What was seen in the rounds of partitions: violations, traffic, traces, states."""

from __future__ import annotations

from emulator.table_columns.columns import (
    BELIEVED_EPOCH,
    BROKER,
    BROKERS,
    CONTROLLER_EPOCH,
    EPOCHS,
    FLAG,
    HW,
    IN_ISR,
    INT,
    ISR,
    LEADER,
    LEO,
    LOCAL_LOG_START,
    LOG_START,
    LONG,
    PLACE,
    ROLE,
    ROUND,
    SCENARIO,
    TEXT,
    Column,
    table,
)

LIST_OFFSETS = {
    "latest_offset": "-1, the high watermark",
    "earliest_offset": "-2, the log start",
    "max_timestamp_offset": "-3, the first local record of the newest round (-1: none)",
    "earliest_local_offset": "-4, the local log start",
    "latest_tiered_offset": "-5, the last in remote storage (-1: none)",
    "earliest_pending_upload_offset": "-6, the first that is yet to be copied (-1: unknown)",
}

"""Columns of what leaders answer to the special timestamps of ListOffsets."""

ROUNDS_TABLES: dict[str, tuple[Column, ...]] = {
    "violations": table(
        *PLACE,
        Column("round", INT, "round at whose end it was seen, and not in the round before; null: in the final tables", True),
        Column("invariant", TEXT, "name of the invariant, as its specification has it"),
        Column("witness", TEXT, "the state that violates it, in words: both logs with their epochs and offsets"),
        Column("cause", INT, "faults.fault_id in force, or behind the election; null: no fault", True),
        Column("kind", TEXT, "violation, or suspect: something excuses it for which no rule of the real system is known"),
    ),
    "invariants": table(
        Column("invariant", TEXT, "name, as its specification has it"),
        Column("says", TEXT, "what must hold"),
        Column("predicate", TEXT, "SQL that finds a violation"),
        Column("looked_at", TEXT, "when: every round, elections, end, reads"),
        Column("source", TEXT, "who says so"),
    ),
    "broker_rounds": table(
        SCENARIO,
        BROKER,
        Column("from_round", INT, "first round of the time bucket"),
        Column("to_round", INT, "first round after the time bucket"),
        Column("bytes_in", LONG, "bytes fetched from other brokers in the bucket; of a bookie copies of entries"),
        Column("bytes_produced", LONG, "bytes that the broker appended for producers in the bucket; of a bookie adds"),
        Column(
            "bytes_out",
            LONG,
            "bytes served to other brokers in the bucket; by a bookie to clients, too",
        ),
        Column("cross_rack_bytes_out", LONG, "of these, bytes served to brokers, or bookies, of other racks"),
        Column("bytes_consumed", LONG, "bytes sent to consumers in the bucket"),
        Column("disk_bytes_read", LONG, "of these, bytes read from the broker's disk"),
        Column("bytes_uploaded", LONG, "bytes copied to remote storage in the bucket"),
        Column("bytes_downloaded", LONG, "bytes read from remote storage for consumers in the bucket, indexes included"),
        Column("bytes_waiting", LONG, "bytes that producers could not send the broker yet at the end of the bucket"),
        Column("bytes_expired", LONG, "bytes that producers gave up in the bucket: they had waited for delivery.timeout.ms"),
        Column("leader_count", INT, "partitions it runs for as the controller's leader at the end of the bucket; 0: a bookie"),
        Column(
            "follower_count",
            INT,
            "partitions followed at the end of the bucket; of a bookie ledgers whose last ensemble it is in",
        ),
        Column("up", FLAG, "whether the broker, or bookie, runs at the end of the bucket"),
        Column("up_rounds", INT, "rounds of the bucket in which the broker, or bookie, ran"),
        Column("local_bytes", LONG, "bytes of the broker's local logs, or the bookie's entries, at the end of the bucket"),
        Column(
            "network_in_saturated_rounds", INT, "rounds in which what it receives, a bookie adds, was held back by its network"
        ),
        Column("network_out_saturated_rounds", INT, "rounds in which what it sends was held back by its network"),
        Column(
            "disk_saturated_rounds",
            INT,
            "rounds in which its disk held back what it writes, or reads for others; of a bookie adds",
        ),
        Column("throttled_rounds", INT, "rounds in which a replication throttle of its held fetches back"),
        Column(
            "followers_held_rounds",
            INT,
            "rounds in which followers on it got less than they asked for, by any broker's budget or fetcher",
        ),
        Column(
            "producers_held_rounds",
            INT,
            "rounds in which its budgets, or clients' quotas, held back what producers, or writers of ledgers, send it",
        ),
        Column("consumers_held_rounds", INT, "rounds in which they held back what consumers read of it"),
        Column("uploads_held_rounds", INT, "rounds in which they held back its copies to remote storage"),
        Column("entries", LONG, "entries of ledgers that the bookie has at the end of the bucket; null: a broker", True),
    ),
    "trace": table(
        *PLACE,
        ROUND,
        BROKER,
        ROLE,
        BELIEVED_EPOCH,
        LOG_START,
        LOCAL_LOG_START,
        LEO,
        HW,
        Column("remote_leo", LONG, "offset: log end the leader knows of the replica; null: not heard yet", True),
        IN_ISR,
        Column("fetch_state", TEXT, "state of the replica's fetching; null: it does not fetch", True),
        Column("epochs", EPOCHS, "leader-epoch cache: epochs with their start offsets"),
        Column(
            "local_segments",
            "array<bigint>",
            "base offsets of the segments on the broker's own disk; null: not kept, since nothing can be deleted in the run",
            True,
        ),
        Column("local_bytes", LONG, "bytes of these segments; null likewise", True),
        Column(
            "highest_remote_offset", LONG, "offset: last that it knows to be in remote storage, -1: none; null likewise", True
        ),
        *(
            Column(
                name, LONG, f"offset: what ListOffsets answers to {what}; null: no leader, or no tiered topic in the run", True
            )
            for name, what in LIST_OFFSETS.items()
        ),
    ),
    "trace_partitions": table(
        *PLACE,
        ROUND,
        LEADER,
        CONTROLLER_EPOCH,
        ISR,
        Column("elr", BROKERS, "broker ids of the eligible leader replicas, sorted"),
        Column("last_known_elr", BROKERS, "broker ids of the controller's LastKnownELR, sorted"),
    ),
}
ROUNDS_TABLES["replica_states"] = table(
    *ROUNDS_TABLES["trace"],
    LEADER,
    Column("last_leader", INT, "broker id elected last, which remote_leo and the columns below speak of; -1: none was"),
    Column("in_maximal_isr", FLAG, "whether last_leader's hw waited for it in the round; false for all: it was not ready"),
    Column("min_isr", INT, "min.insync.replicas in force in the round"),
    Column("leader_end_epoch", INT, "epoch last_leader's cache answers about the replica's last one; null: none", True),
    Column("leader_end_offset", LONG, "offset: where that epoch ends in last_leader's log, exclusive; null likewise", True),
    Column("running", FLAG, "whether its broker runs: neither offline nor paused"),
    Column("fenced", FLAG, "whether the controller has its broker fenced"),
    Column("flushed_offset", LONG, "offset: records below it survive a power loss"),
    Column("hw_checkpoint", LONG, "offset: high watermark on disk, with which the broker would start"),
)
