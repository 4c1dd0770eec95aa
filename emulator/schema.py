"""One StructType per table, each column with its unit and meaning: the only place for them."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

NO_LEADER = -1

_INT = IntegerType()
_LONG = LongType()
_TEXT = StringType()
_FLAG = BooleanType()
_BROKERS = ArrayType(_INT, containsNull=False)
EPOCHS_TYPE = ArrayType(
    StructType([StructField("epoch", _INT, False), StructField("start_offset", _LONG, False)]), containsNull=False
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


def _column(name: str, kind: DataType, comment: str, nullable: bool = False) -> StructField:
    return StructField(name, kind, nullable, {"comment": comment})


def _table(*columns: StructField) -> StructType:
    return StructType(list(columns))


# ---------------------------------------------------------------------------------------------------------------------
# Output tables: the contract of design.md section 7, and a few columns more. Ids, epochs and round numbers are int;
# offsets, bytes and counts are long. A nullable column says in its comment what null means.
# ---------------------------------------------------------------------------------------------------------------------

_SCENARIO = _column("scenario_id", _INT, "scenario: 0 is base, variants from 1 in the order of the file")
_TOPIC = _column("topic", _TEXT, "topic name")
_PARTITION = _column("partition", _INT, "partition number within the topic")
_LEDGER = _column("ledger", _INT, "number of the ledger in its topic's list; 0: a ledger by itself")
_BROKER = _column("broker", _INT, "broker id")
_ROUND = _column("round", _INT, "round number, from 0")
_ROLE = _column("role", _TEXT, "leader, follower or offline")
_BELIEVED_EPOCH = _column("leader_epoch", _INT, "leader epoch the replica believes in")
_LOG_START = _column("log_start_offset", _LONG, "offset: first of the whole log, remote part included")
_LOCAL_LOG_START = _column("local_log_start_offset", _LONG, "offset: first on the broker's own disk")
_LEO = _column("leo", _LONG, "offset: log end, exclusive")
_HW = _column("hw", _LONG, "offset: high watermark the replica knows, exclusive")
_IN_ISR = _column("in_isr", _FLAG, "whether the controller's ISR has the replica")
_LEADER = _column("leader", _INT, "broker id the controller has as leader, -1 without one")
_CONTROLLER_EPOCH = _column("leader_epoch", _INT, "leader epoch the controller has given")
_ISR = _column("isr", _BROKERS, "broker ids of the controller's ISR, sorted")

_GROUP = _column("group", _TEXT, "consumer group")

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
    "index_hits": "remote reads whose segment's indexes the broker had",
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

OUTPUT_TABLES: dict[str, StructType] = {
    "runs": _table(
        _column("run_id", _TEXT, "id of the run that wrote these tables"),
        _column("name", _TEXT, "name in the scenario file"),
        _column("scenario_path", _TEXT, "where the scenario file was read from"),
        _column("scenario_text", _TEXT, "the scenario file, whole"),
        _column("seed", _LONG, "seed of everything drawn at random"),
        _column("versions", _TEXT, "JSON object: versions of the emulator and of what it ran on"),
        _column("started_at", TimestampType(), "time the run started"),
        _column("seconds", DoubleType(), "seconds the run took"),
        _column("replica_rounds", _LONG, "rounds emulated, summed over replicas"),
        _column("scenario_folder", _TEXT, "folder that paths in the scenario file are relative to"),
        _column(
            "scenario_files",
            MapType(_TEXT, _TEXT, valueContainsNull=False),
            "files that the scenario file names, by absolute path: the SHA-256 of what was read",
        ),
    ),
    "scenarios": _table(
        _SCENARIO,
        _column("name", _TEXT, '"base" or the name of the variant'),
        _column("protocol", _TEXT, "protocol emulated"),
        _column("rounds", _INT, "rounds emulated"),
        _column("round_ms", _INT, "milliseconds a round stands for"),
        _column("mode", _TEXT, "plain or leap; the result is the same"),
        _column(
            "overrides",
            MapType(_TEXT, _TEXT, valueContainsNull=False),
            "what the variant sets, by dotted path; each is a column of that name as well",
        ),
        _column(
            "event_kinds",
            ArrayType(_TEXT, containsNull=False),
            "kinds of events that table events has of the scenario; null: all",
            True,
        ),
    ),
    "faults": _table(
        _SCENARIO,
        _column("fault_id", _INT, "fault, as events.cause names it"),
        _column("kind", _TEXT, "fault kind"),
        _column("from_round", _INT, "first round of the fault"),
        _column("to_round", _INT, "first round after the fault; null: until the end", True),
        _column("broker", _INT, "broker id; null: not about one broker", True),
        _column("peer", _INT, "broker id at the other end of the link; null: no link fault", True),
        _column("direction", _TEXT, "both, out or in, seen from broker; null: no link fault", True),
        _column("rack", _TEXT, "rack lost; null: not about a rack", True),
        _column("topic", _TEXT, "topic concerned; null: all", True),
        _column("partition", _INT, "partition concerned; null: all", True),
        _column(
            "bytes_per_second", _LONG, "bytes per second left by a slow link, disk or remote store; null: no such fault", True
        ),
        _column("clients", _FLAG, "whether an isolation cuts clients too; null: no isolation", True),
        _column(
            "lag_rounds",
            _INT,
            "rounds by which news come late (stale_metadata, remote_metadata_lag); null: none come, or another kind",
            True,
        ),
        _column("name", _TEXT, "name given to the fault; null: none", True),
        _column("from_offset", _LONG, "offset: first entry concerned (drop_adds, delay_adds); null: the first", True),
        _column("to_offset", _LONG, "offset: first entry not concerned any more; null: none", True),
    ),
    "brokers": _table(_SCENARIO, _BROKER, _column("rack", _TEXT, "rack the broker stands in; null: none", True)),
    "partitions": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _column("replicas", _BROKERS, "broker ids in replica-list order at the end: the first is the preferred leader"),
        _column("min_isr", _INT, "min.insync.replicas at the end; null: a ledger", True),
    ),
    "outcomes": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _column("appended", _LONG, "records appended by any leader, zombies included"),
        _column("acked", _LONG, "records acknowledged to clients"),
        _column("acked_lost", _LONG, "acknowledged records absent from the final leader's log"),
        _column("committed_lost", _LONG, "records once below a leader's high watermark, absent likewise"),
        _column("refused", _LONG, "records refused with NOT_ENOUGH_REPLICAS"),
        _column("truncated", _LONG, "records cut from logs, summed over replicas"),
        _column("elections", _LONG, "elections of a leader, unclean and preferred ones included"),
        _column("unclean_elections", _LONG, "elections of a replica outside ISR and ELR"),
        _column("leaderless_rounds", _LONG, "rounds whose end finds no running leader that clients reach"),
        _column("under_min_isr_rounds", _LONG, "rounds with an ISR smaller than min.insync.replicas"),
        _column("under_replicated_rounds", _LONG, "rounds with an ISR smaller than the replica list"),
        _column("unwritable_rounds", _LONG, "rounds with something to write in which nothing was acknowledged"),
        _column("unacked_rounds", _LONG, "records waiting for their acknowledgement at the end of a round, summed over rounds"),
        _column("isr_shrinks", _LONG, "removals from the ISR"),
        _column("isr_expands", _LONG, "additions to the ISR"),
        _column("replicated_bytes", _LONG, "bytes that followers fetched"),
        _column("local_deleted_bytes", _LONG, "bytes that retention took from local disks, summed over replicas"),
        _column("remote_copy_requests", _LONG, "attempts to copy a segment to remote storage"),
        _column("remote_copy_bytes", _LONG, "bytes that went there, those of attempts that were given up included"),
        _column("remote_copied_again_bytes", _LONG, "bytes of these whose records an earlier attempt had"),
        _column("remote_copy_errors", _LONG, "attempts that failed"),
        _column("remote_delete_requests", _LONG, "attempts to delete a remote segment"),
        _column("remote_delete_errors", _LONG, "attempts that failed"),
        _column("remote_deleted_bytes", _LONG, "bytes deleted in remote storage"),
        _column("moved_to_tiered_storage", _LONG, "fetches answered with OFFSET_MOVED_TO_TIERED_STORAGE"),
        _column("aux_state_requests", _LONG, "questions of followers about their auxiliary state that a leader answered"),
        _column("aux_state_errors", _LONG, "those that came to nothing in remote storage"),
        _column("aux_state_downloads", _LONG, "auxiliary states that were read from remote storage"),
        _column("remote_list_requests", _LONG, 'LIST requests for metadata, with metadata = "list": see tiered_rounds.md'),
        _LEADER,
        _CONTROLLER_EPOCH,
        _ISR,
        _column("elr", _BROKERS, "broker ids of the eligible leader replicas at the end, sorted"),
        _column("hw", _LONG, "offset: high watermark of the leader, or of the last one, at the end"),
        _column("leo", _LONG, "offset: log end of the leader, or of the last one, at the end"),
    ),
    "events": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _ROUND,
        _column("kind", _TEXT, "what happened: election, leader_lost, isr_shrink, truncate, acked_lost, refused, ..."),
        _column("broker", _INT, "broker id it happened to or through; null: none", True),
        _column("leader_epoch", _INT, "leader epoch it happened in; null: none", True),
        _column("from_offset", _LONG, "offset: first concerned (truncate: old log end); null: none", True),
        _column("to_offset", _LONG, "offset: end, exclusive (truncate: new log end); null: none", True),
        _column("cause", _INT, "faults.fault_id behind it; null: no fault", True),
        _column("ledger", _INT, "number in the topic's list of the ledger it happened to; null: it is no list's", True),
    ),
    "event_counts": _table(
        _SCENARIO,
        _TOPIC,
        _column("kind", _TEXT, "kind of event, as in events"),
        _column("events", _LONG, "how many there were in all of its partitions, whether table events has them or not"),
    ),
    "replicas": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _BROKER,
        _ROLE,
        _BELIEVED_EPOCH,
        _LOG_START,
        _LOCAL_LOG_START,
        _LEO,
        _HW,
        _IN_ISR,
        _column("local_bytes", _LONG, "bytes of the replica's local log at the end"),
    ),
    "leader_epochs": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _BROKER,
        _column("epoch", _INT, "leader epoch in the replica's cache at the end"),
        _column("start_offset", _LONG, "offset: first of the epoch in the replica's log"),
        _column("end_offset", _LONG, "offset: start of the replica's next epoch; null: its last epoch", True),
    ),
    "remote_segments": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _column("segment", _INT, "number of the attempt within the partition, in the order in which they began"),
        _column("base_offset", _LONG, "offset: first of the segment"),
        _column("end_offset", _LONG, "offset: last of the segment, inclusive"),
        _column("epochs", EPOCHS_TYPE, "leader epochs of the segment with their start offsets"),
        _column("checkpoint", EPOCHS_TYPE, "leader epochs of its log up to its end"),
        _column("bytes", _LONG, "bytes of the segment"),
        _column("stored_bytes", _LONG, "bytes of it that lie in remote storage at the end"),
        _column("state", _TEXT, "COPY_STARTED, COPY_FINISHED, DELETE_STARTED or DELETE_FINISHED"),
        _column("broker", _INT, "broker id of who copied it, -1: none"),
        _column("leader_epoch", _INT, "leader epoch in which it was copied"),
        _column("started_round", _INT, "round in which the copy started; null: before the run", True),
        _column("copied_round", _INT, "round in which the copy finished; null: not yet, or before the run", True),
        _column("deleted_round", _INT, "round in which the deletion finished; null: not yet, -1: before the run", True),
        _column("in_lineage", _FLAG, "whether its epochs agree with the leader's cache"),
    ),
    "consumer_groups": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _GROUP,
        _column("position", _LONG, "offset: next that the group wants, at the end; null: it has not started", True),
        _column("epoch", _INT, "leader epoch of the last record that it read; null: none since it started or was reset", True),
        _column("lag", _LONG, "records from the position to the leader's high watermark, at the end"),
        _column("max_lag", _LONG, "the largest lag at the end of a round in which the group read"),
        *(_column(name, _LONG, comment) for name, comment in CONSUMER_COUNTERS.items()),
        _column(
            "waited_rounds",
            MapType(_TEXT, _LONG, valueContainsNull=False),
            "rounds in which there was something and it got nothing, by cause",
        ),
        _column("stopped", _TEXT, "cause for which it gave up; null: it did not", True),
    ),
    "unread": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _GROUP,
        _column("kind", _TEXT, "stretch: rounds without records, skip: records never read, loss: what was read is gone"),
        _column("from_round", _INT, "first round"),
        _column("to_round", _INT, "first round after it"),
        _column("from_offset", _LONG, "offset: first concerned"),
        _column("to_offset", _LONG, "offset: end, exclusive"),
        _column("cause", _TEXT, "why: leaderless, store_away, below_log_start, truncated, ..."),
        _column("broker", _INT, "broker id that was asked; null: none", True),
    ),
    "violations": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _column("round", _INT, "round at whose end it was seen, and not in the round before; null: in the final tables", True),
        _column("invariant", _TEXT, "name of the invariant, as its specification has it"),
        _column("witness", _TEXT, "the state that violates it, in words: both logs with their epochs and offsets"),
        _column("cause", _INT, "faults.fault_id in force, or behind the election; null: no fault", True),
    ),
    "invariants": _table(
        _column("invariant", _TEXT, "name, as its specification has it"),
        _column("says", _TEXT, "what must hold"),
        _column("predicate", _TEXT, "SQL that finds a violation"),
        _column("looked_at", _TEXT, "when: every round, elections, end, reads"),
        _column("source", _TEXT, "who says so"),
    ),
    "broker_rounds": _table(
        _SCENARIO,
        _BROKER,
        _column("from_round", _INT, "first round of the time bucket"),
        _column("to_round", _INT, "first round after the time bucket"),
        _column("bytes_in", _LONG, "bytes fetched from other brokers in the bucket"),
        _column("bytes_out", _LONG, "bytes served to other brokers in the bucket"),
        _column("cross_rack_bytes_out", _LONG, "of these, bytes served to brokers of other racks"),
        _column("leader_count", _INT, "partitions led at the end of the bucket"),
        _column("follower_count", _INT, "partitions followed at the end of the bucket"),
        _column("up", _FLAG, "whether the broker runs at the end of the bucket"),
        _column("up_rounds", _INT, "rounds of the bucket in which the broker ran"),
        _column("local_bytes", _LONG, "bytes of the broker's local logs at the end of the bucket"),
        _column("network_in_saturated_rounds", _INT, "rounds in which its network budget held fetches into it back"),
        _column("network_out_saturated_rounds", _INT, "rounds in which its network budget held fetches from it back"),
        _column("disk_saturated_rounds", _INT, "rounds in which its disk budget held fetches into it back"),
        _column("throttled_rounds", _INT, "rounds in which a replication throttle of its held fetches back"),
    ),
    "trace": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _ROUND,
        _BROKER,
        _ROLE,
        _BELIEVED_EPOCH,
        _LOG_START,
        _LOCAL_LOG_START,
        _LEO,
        _HW,
        _column("remote_leo", _LONG, "offset: log end the leader knows of the replica; null: not heard yet", True),
        _IN_ISR,
        _column("fetch_state", _TEXT, "state of the replica's fetching; null: it does not fetch", True),
        _column("epochs", EPOCHS_TYPE, "leader-epoch cache: epochs with their start offsets"),
        _column(
            "local_segments",
            ArrayType(_LONG, containsNull=False),
            "base offsets of the segments on the broker's own disk; null: not kept, since nothing can be deleted in the run",
            True,
        ),
        _column("local_bytes", _LONG, "bytes of these segments; null likewise", True),
        _column(
            "highest_remote_offset", _LONG, "offset: last that it knows to be in remote storage, -1: none; null likewise", True
        ),
        *(
            _column(
                name, _LONG, f"offset: what ListOffsets answers to {what}; null: no leader, or no tiered topic in the run", True
            )
            for name, what in LIST_OFFSETS.items()
        ),
    ),
    "trace_partitions": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _ROUND,
        _LEADER,
        _CONTROLLER_EPOCH,
        _ISR,
        _column("elr", _BROKERS, "broker ids of the eligible leader replicas, sorted"),
        _column("last_known_elr", _BROKERS, "broker ids of the controller's LastKnownELR, sorted"),
    ),
}

OUTPUT_TABLES["replica_states"] = _table(
    *OUTPUT_TABLES["trace"].fields,
    _LEADER,
    _column("last_leader", _INT, "broker id elected last, which remote_leo and the columns below speak of; -1: none was"),
    _column("in_maximal_isr", _FLAG, "whether last_leader's hw waited for it in the round; false for all: it was not ready"),
    _column("min_isr", _INT, "min.insync.replicas in force in the round"),
    _column("leader_end_epoch", _INT, "epoch last_leader's cache answers about the replica's last one; null: none", True),
    _column("leader_end_offset", _LONG, "offset: where that epoch ends in last_leader's log, exclusive; null likewise", True),
    _column("running", _FLAG, "whether its broker runs: neither offline nor paused"),
    _column("fenced", _FLAG, "whether the controller has its broker fenced"),
    _column("flushed_offset", _LONG, "offset: records below it survive a power loss"),
    _column("hw_checkpoint", _LONG, "offset: high watermark on disk, with which the broker would start"),
)

OUTPUT_TABLES |= {
    "ledgers": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _column("ensemble_size", _INT, "bookies of its ensembles (E)"),
        _column("write_quorum", _INT, "bookies that get an entry (Qw)"),
        _column("ack_quorum", _INT, "answers that acknowledge it (Qa)"),
        _column("state", _TEXT, "OPEN, IN_RECOVERY or CLOSED, as the metadata store has it"),
        _column("last_entry", _LONG, "entry: the last one of a closed ledger, -1: it is empty; null: not closed", True),
        _column("writer_lac", _LONG, "entry: the last one that the writer acknowledged, -1: none"),
        _column("error", _TEXT, "error of the last operation of its writer or a recovery, as the API names it; null: OK", True),
        _column("writer", _TEXT, "writing, closing, shut, fenced off or crashed"),
        _column("next_entry", _LONG, "entry: the first one that the writer has not sent"),
        _column("ensemble_changes", _INT, "changes of the ensemble"),
        _column("adds_resent", _LONG, "adds in flight that went to bookies which came into the ensemble"),
        _column("failed_adds", _LONG, "adds in flight that failed"),
        _column("refused_fenced", _LONG, "adds answered LedgerFencedException without being sent"),
        _column("refused_closed", _LONG, "adds answered LedgerClosedException without being sent"),
        _column("unwritable_rounds", _LONG, "rounds with something to write in which nothing was acknowledged"),
        _column("entries_copied", _LONG, "copies of entries that replication workers made"),
        _column("underreplicated", _INT, "bookies of its fragments that are still to be replaced"),
        _column(
            "owner",
            _INT,
            "who created it: 0 for the first to serve the topic, 1 after a takeover, ...; null: it is no list's",
            True,
        ),
        _column("first_message", _LONG, "message of the topic that is its entry 0; null likewise", True),
        _column("created_round", _INT, "round from which on it takes adds; null likewise", True),
        _column("closed_round", _INT, "round at whose end it was closed first; null: never, or it is no list's", True),
        _column("deleted_round", _INT, "round in which retention deleted it; null likewise", True),
        _column("rolled_over", _TEXT, "why its owner went on to another one: entries, size, age, failure; null likewise", True),
        _column("offload_started_round", _INT, "round in which its copy to remote storage was begun last; null likewise", True),
        _column("offloaded_round", _INT, "round in which remote storage had all of it; null likewise", True),
        _column(
            "deleted_from_bookies_round", _INT, "round in which bookies deleted it, since it is offloaded; null likewise", True
        ),
        _column("remote_bytes", _LONG, "bytes of it in remote storage at the end"),
    ),
    "topics": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _column("messages", _LONG, "messages that were due"),
        _column("acked", _LONG, "of these acknowledged"),
        _column("unacked", _LONG, "that whoever serves the topic hasn't acknowledged"),
        _column("acked_lost", _LONG, "acknowledged ones that no ledger of the list has, but for what retention deleted"),
        _column("readable", _LONG, "entries that readers of its list get; a message sent again may stand twice"),
        _column("messages_deleted", _LONG, "entries that retention deleted"),
        _column("unwritable_rounds", _LONG, "rounds at whose end messages wait, and in which none was acknowledged"),
        _column("ledgers_created", _INT, "ledgers that were added to its list"),
        _column("ledgers_listed", _INT, "ledgers of the list at the end"),
        _column("ledgers_deleted", _INT, "ledgers that retention deleted"),
        _column("list_version", _INT, "how often the list was written"),
        _column("take_overs", _INT, "brokers that took the topic over"),
    ),
    "fragments": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _column("first_entry", _LONG, "entry: first of the fragment"),
        _column("ensemble", _BROKERS, "bookie ids in the order of their indices"),
    ),
    "entries": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _column("entry", _LONG, "entry of a traced ledger that some bookie has"),
        _column("bookies", _BROKERS, "bookie ids that have it, sorted"),
        _column("lac_stored", ArrayType(_LONG, containsNull=False), "LAC in its header on each of them"),
    ),
    "bookies": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _BROKER,
        _column("last_entry", _LONG, "entry: the last one that the bookie has; null: none", True),
        _column("lac", _LONG, "entry: what it knows to be confirmed, -1: none"),
        _column("fenced", _FLAG, "whether it is fenced for the ledger"),
        _column("entries", _LONG, "entries that it has"),
        _column("bytes", _LONG, "bytes of these"),
        _column("limbo", _FLAG, "whether it doesn't know what it lost of the ledger"),
    ),
    "ledger_clients": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _column("client", _TEXT, "recovery, reader (open_no_recovery) or close"),
        _column("number", _INT, "number of the client among those of its kind"),
        _column("phase", _TEXT, "how far it is: mark, fence, read, write, close, done or failed"),
        _column("last_entry", _LONG, "entry: last of the ledger, or the LAC, that it found; null: none", True),
        _column("error", _TEXT, "what it was told last, as the API names it; null: nothing yet", True),
    ),
}
