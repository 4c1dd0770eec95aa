"""The columns of every output table, each with its unit and meaning: the only place for them. Without Spark's types.

`emulator.schema` has them as Spark's StructTypes.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column; `kind` is its type as Spark's DDL writes it, elements and values of which are never null."""

    name: str
    kind: str
    comment: str
    nullable: bool = False


_INT = "int"
_LONG = "bigint"
_TEXT = "string"
_FLAG = "boolean"
_BROKERS = "array<int>"
_EPOCHS = "array<struct<epoch:int,start_offset:bigint>>"
_FRAGMENTS = "array<struct<first_entry:bigint,ensemble:array<int>>>"
_IN_FLIGHT = "array<struct<entry:bigint,acked_by:array<int>,awaited_from:array<int>>>"
_RECOVERIES = "array<struct<number:int,phase:string,lac:bigint>>"
_HELD = "array<struct<ensemble_index:int,from_entry:bigint,to_entry:bigint>>"

LIST_OFFSETS = {
    "latest_offset": "-1, the high watermark",
    "earliest_offset": "-2, the log start",
    "max_timestamp_offset": "-3, the first local record of the newest round (-1: none)",
    "earliest_local_offset": "-4, the local log start",
    "latest_tiered_offset": "-5, the last in remote storage (-1: none)",
    "earliest_pending_upload_offset": "-6, the first that is yet to be copied (-1: unknown)",
}
"""Columns of what leaders answer to the special timestamps of ListOffsets."""


def _table(*columns: Column) -> tuple[Column, ...]:
    return columns


# ---------------------------------------------------------------------------------------------------------------------
# Output tables: the contract of design.md section 7, and a few columns more. Ids, epochs and round numbers are int;
# offsets, bytes and counts are long. A nullable column says in its comment what null means.
# ---------------------------------------------------------------------------------------------------------------------

_SCENARIO = Column("scenario_id", _INT, "scenario: 0 is base, variants from 1 in the order of the file")
_TOPIC = Column("topic", _TEXT, "topic name")
_PARTITION = Column("partition", _INT, "partition number within the topic")
_LEDGER = Column("ledger", _INT, "number of the ledger in its topic's list; 0: a ledger by itself")
_BROKER = Column("broker", _INT, "broker id")
_ROUND = Column("round", _INT, "round number, from 0")
_ROLE = Column("role", _TEXT, "leader, follower or offline")
_BELIEVED_EPOCH = Column("leader_epoch", _INT, "leader epoch the replica believes in")
_LOG_START = Column("log_start_offset", _LONG, "offset: first of the whole log, remote part included")
_LOCAL_LOG_START = Column("local_log_start_offset", _LONG, "offset: first on the broker's own disk")
_LEO = Column("leo", _LONG, "offset: log end, exclusive")
_HW = Column("hw", _LONG, "offset: high watermark the replica knows, exclusive")
_IN_ISR = Column("in_isr", _FLAG, "whether the controller's ISR has the replica")
_LEADER = Column("leader", _INT, "broker id the controller has as leader, -1 without one")
_CONTROLLER_EPOCH = Column("leader_epoch", _INT, "leader epoch the controller has given")
_ISR = Column("isr", _BROKERS, "broker ids of the controller's ISR, sorted")


def _of_ledgers(more: str = "", nullable: bool = False) -> tuple[Column, ...]:
    """What of acknowledged entries isn't lost, and isn't well."""
    return (
        Column("acked_unreadable", _LONG, f"acknowledged entries whose bookies are all away at the end{more}", nullable),
        Column(
            "acked_under_replicated",
            _LONG,
            f"acknowledged entries that fewer bookies than the write quorum have and can serve at the end{more}",
            nullable,
        ),
    )


_GROUP = Column("group", _TEXT, "consumer group")

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

TABLE_COLUMNS: dict[str, tuple[Column, ...]] = {
    "runs": _table(
        Column("run_id", _TEXT, "id of the run that wrote these tables"),
        Column("name", _TEXT, "name in the scenario file"),
        Column("scenario_path", _TEXT, "where the scenario file was read from"),
        Column("scenario_text", _TEXT, "the scenario file, whole"),
        Column("seed", _LONG, "seed of everything drawn at random"),
        Column("versions", _TEXT, "JSON object: versions of the emulator and of what it ran on"),
        Column("started_at", "timestamp", "time the run started"),
        Column("seconds", "double", "seconds the run took"),
        Column("replica_rounds", _LONG, "rounds emulated, summed over replicas"),
        Column("scenario_folder", _TEXT, "folder that paths in the scenario file are relative to"),
        Column(
            "scenario_files",
            "map<string,string>",
            "files that the scenario file names, by absolute path: the SHA-256 of what was read",
        ),
    ),
    "scenarios": _table(
        _SCENARIO,
        Column("name", _TEXT, '"base" or the name of the variant'),
        Column("protocol", _TEXT, "protocol emulated"),
        Column("rounds", _INT, "rounds emulated"),
        Column("round_ms", _INT, "milliseconds a round stands for"),
        Column("mode", _TEXT, "plain or leap; the result is the same"),
        Column(
            "overrides",
            "map<string,string>",
            "what the variant sets, by dotted path; each is a column of that name as well",
        ),
        Column("event_kinds", "array<string>", "kinds of events that table events has of the scenario; null: all", True),
    ),
    "faults": _table(
        _SCENARIO,
        Column("fault_id", _INT, "fault, as events.cause names it"),
        Column("kind", _TEXT, "fault kind"),
        Column("from_round", _INT, "first round of the fault"),
        Column("to_round", _INT, "first round after the fault; null: until the end", True),
        Column("broker", _INT, "broker id; null: not about one broker", True),
        Column("peer", _INT, "broker id at the other end of the link; null: no link fault", True),
        Column("direction", _TEXT, "both, out or in, seen from broker; null: no link fault", True),
        Column("rack", _TEXT, "rack lost; null: not about a rack", True),
        Column("topic", _TEXT, "topic concerned; null: all", True),
        Column("partition", _INT, "partition concerned; null: all", True),
        Column(
            "bytes_per_second", _LONG, "bytes per second left by a slow link, disk or remote store; null: no such fault", True
        ),
        Column("clients", _FLAG, "whether an isolation cuts clients too; null: no isolation", True),
        Column(
            "lag_rounds",
            _INT,
            "rounds by which news come late (stale_metadata, remote_metadata_lag); null: none come, or another kind",
            True,
        ),
        Column("name", _TEXT, "name given to the fault; null: none", True),
        Column("from_offset", _LONG, "offset: first entry concerned (drop_adds, delay_adds); null: the first", True),
        Column("to_offset", _LONG, "offset: first entry not concerned any more; null: none", True),
        Column("power", _FLAG, "whether a rack lost its power, and what was not flushed; null: no rack_loss that says so", True),
        Column("round_trip_ms", "double", "milliseconds that a fetch over a slow link takes at least; null: no such fault", True),
        Column(
            "moment",
            "double",
            "fraction of its first round at which it stops the broker, 1: after the append; null: at its start, or no such fault",
            True,
        ),
    ),
    "brokers": _table(_SCENARIO, _BROKER, Column("rack", _TEXT, "rack the broker stands in; null: none", True)),
    "partitions": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        Column("replicas", _BROKERS, "broker ids in replica-list order at the end: the first is the preferred leader"),
        Column("min_isr", _INT, "min.insync.replicas at the end; null: a ledger", True),
    ),
    "outcomes": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        Column("appended", _LONG, "records appended by any leader, zombies included"),
        Column("acked", _LONG, "records acknowledged to clients"),
        Column("acked_lost", _LONG, "acknowledged records absent from the final leader's log"),
        Column("sent_unacknowledged", _LONG, "records with acks=0 that a leader appended: nobody was told of them"),
        Column("unacknowledged_lost", _LONG, "records sent with acks=0 absent from the final leader's log"),
        Column("committed_lost", _LONG, "records once below a leader's high watermark, absent likewise"),
        Column("refused", _LONG, "records refused with NOT_ENOUGH_REPLICAS or RECORD_TOO_LARGE"),
        Column("truncated", _LONG, "records cut from logs, summed over replicas"),
        Column("elections", _LONG, "elections of a leader, unclean and preferred ones included"),
        Column("unclean_elections", _LONG, "elections of a replica outside ISR and ELR"),
        Column("leaderless_rounds", _LONG, "rounds whose end finds no running leader that clients reach"),
        Column("under_min_isr_rounds", _LONG, "rounds with an ISR smaller than min.insync.replicas"),
        Column("under_replicated_rounds", _LONG, "rounds with an ISR smaller than the replica list"),
        Column("unwritable_rounds", _LONG, "rounds with something to write in which nothing was acknowledged"),
        Column("unacked_rounds", _LONG, "records waiting for their acknowledgement at the end of a round, summed over rounds"),
        Column("isr_shrinks", _LONG, "removals from the ISR"),
        Column("isr_expands", _LONG, "additions to the ISR"),
        Column("replicated_bytes", _LONG, "bytes that followers fetched"),
        Column("local_deleted_bytes", _LONG, "bytes that retention took from local disks, summed over replicas"),
        Column("remote_copy_requests", _LONG, "attempts to copy a segment to remote storage"),
        Column("remote_copy_bytes", _LONG, "bytes that went there, those of attempts that were given up included"),
        Column("remote_copied_again_bytes", _LONG, "bytes of these whose records an earlier attempt had"),
        Column("remote_copy_errors", _LONG, "attempts that failed"),
        Column("remote_delete_requests", _LONG, "attempts to delete a remote segment"),
        Column("remote_delete_errors", _LONG, "attempts that failed"),
        Column("remote_deleted_bytes", _LONG, "bytes deleted in remote storage"),
        Column("moved_to_tiered_storage", _LONG, "fetches answered with OFFSET_MOVED_TO_TIERED_STORAGE"),
        Column("aux_state_requests", _LONG, "questions of followers about their auxiliary state that a leader answered"),
        Column("aux_state_errors", _LONG, "those that came to nothing in remote storage"),
        Column("aux_state_downloads", _LONG, "auxiliary states that were read from remote storage"),
        Column("remote_list_requests", _LONG, 'LIST requests for metadata, with metadata = "list": see tiered_rounds.md'),
        _LEADER,
        _CONTROLLER_EPOCH,
        _ISR,
        Column("elr", _BROKERS, "broker ids of the eligible leader replicas at the end, sorted"),
        Column("hw", _LONG, "offset: high watermark of the leader, or of the last one, at the end"),
        Column("leo", _LONG, "offset: log end of the leader, or of the last one, at the end"),
        *_of_ledgers("; null: a partition", True),
    ),
    "events": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _ROUND,
        Column("kind", _TEXT, "what happened: election, leader_lost, isr_shrink, truncate, acked_lost, refused, ..."),
        Column("broker", _INT, "broker id it happened to or through; null: none", True),
        Column("leader_epoch", _INT, "leader epoch it happened in; null: none", True),
        Column("from_offset", _LONG, "offset: first concerned (truncate: old log end); null: none", True),
        Column("to_offset", _LONG, "offset: end, exclusive (truncate: new log end); null: none", True),
        Column("cause", _INT, "faults.fault_id behind it; null: no fault", True),
        Column("ledger", _INT, "number in the topic's list of the ledger it happened to; null: it is no list's", True),
        Column(
            "records", _LONG, "records concerned, if not all from from_offset on; null: all to to_offset, or none is named", True
        ),
    ),
    "event_counts": _table(
        _SCENARIO,
        _TOPIC,
        Column("kind", _TEXT, "kind of event, as in events"),
        Column("events", _LONG, "how many there were in all of its partitions, whether table events has them or not"),
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
        Column("local_bytes", _LONG, "bytes of the replica's local log at the end"),
    ),
    "leader_epochs": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _BROKER,
        Column("epoch", _INT, "leader epoch in the replica's cache at the end"),
        Column("start_offset", _LONG, "offset: first of the epoch in the replica's log"),
        Column("end_offset", _LONG, "offset: start of the replica's next epoch; null: its last epoch", True),
    ),
    "remote_segments": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        Column("segment", _INT, "number of the attempt within the partition, in the order in which they began"),
        Column("base_offset", _LONG, "offset: first of the segment"),
        Column("end_offset", _LONG, "offset: last of the segment, inclusive"),
        Column("epochs", _EPOCHS, "leader epochs of the segment with their start offsets"),
        Column("checkpoint", _EPOCHS, "leader epochs of its log up to its end"),
        Column("bytes", _LONG, "bytes of the segment"),
        Column("stored_bytes", _LONG, "bytes of it that lie in remote storage at the end"),
        Column("state", _TEXT, "COPY_STARTED, COPY_FINISHED, DELETE_STARTED or DELETE_FINISHED"),
        Column("broker", _INT, "broker id of who copied it, -1: none"),
        Column("leader_epoch", _INT, "leader epoch in which it was copied"),
        Column("started_round", _INT, "round in which the copy started; null: before the run", True),
        Column("copied_round", _INT, "round in which the copy finished; null: not yet, or before the run", True),
        Column("deleted_round", _INT, "round in which the deletion finished; null: not yet, -1: before the run", True),
        Column("in_lineage", _FLAG, "whether its epochs agree with the leader's cache"),
    ),
    "consumer_groups": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _GROUP,
        Column("position", _LONG, "offset: next that the group wants, at the end; null: it has not started", True),
        Column("epoch", _INT, "leader epoch of the last record that it read; null: none since it started or was reset", True),
        Column("lag", _LONG, "records from the position to the leader's high watermark, at the end"),
        Column("max_lag", _LONG, "the largest lag at the end of a round in which the group read"),
        *(Column(name, _LONG, comment) for name, comment in CONSUMER_COUNTERS.items()),
        Column(
            "waited_rounds",
            "map<string,bigint>",
            "rounds in which there was something and it got nothing, by cause",
        ),
        Column("stopped", _TEXT, "cause for which it gave up; null: it did not", True),
    ),
    "unread": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _GROUP,
        Column("kind", _TEXT, "stretch: rounds without records, skip: records never read, loss: what was read is gone"),
        Column("from_round", _INT, "first round"),
        Column("to_round", _INT, "first round after it"),
        Column("from_offset", _LONG, "offset: first concerned"),
        Column("to_offset", _LONG, "offset: end, exclusive"),
        Column("cause", _TEXT, "why: leaderless, store_away, below_log_start, truncated, ..."),
        Column("broker", _INT, "broker id that was asked; null: none", True),
    ),
    "violations": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        Column("round", _INT, "round at whose end it was seen, and not in the round before; null: in the final tables", True),
        Column("invariant", _TEXT, "name of the invariant, as its specification has it"),
        Column("witness", _TEXT, "the state that violates it, in words: both logs with their epochs and offsets"),
        Column("cause", _INT, "faults.fault_id in force, or behind the election; null: no fault", True),
        Column("kind", _TEXT, "violation, or suspect: something excuses it for which no rule of the real system is known"),
    ),
    "invariants": _table(
        Column("invariant", _TEXT, "name, as its specification has it"),
        Column("says", _TEXT, "what must hold"),
        Column("predicate", _TEXT, "SQL that finds a violation"),
        Column("looked_at", _TEXT, "when: every round, elections, end, reads"),
        Column("source", _TEXT, "who says so"),
    ),
    "broker_rounds": _table(
        _SCENARIO,
        _BROKER,
        Column("from_round", _INT, "first round of the time bucket"),
        Column("to_round", _INT, "first round after the time bucket"),
        Column("bytes_in", _LONG, "bytes fetched from other brokers in the bucket"),
        Column("bytes_produced", _LONG, "bytes that the broker appended for producers in the bucket"),
        Column("bytes_out", _LONG, "bytes served to other brokers in the bucket"),
        Column("cross_rack_bytes_out", _LONG, "of these, bytes served to brokers of other racks"),
        Column("leader_count", _INT, "partitions led at the end of the bucket"),
        Column("follower_count", _INT, "partitions followed at the end of the bucket"),
        Column("up", _FLAG, "whether the broker runs at the end of the bucket"),
        Column("up_rounds", _INT, "rounds of the bucket in which the broker ran"),
        Column("local_bytes", _LONG, "bytes of the broker's local logs at the end of the bucket"),
        Column("network_in_saturated_rounds", _INT, "rounds in which its network budget held fetches into it back"),
        Column("network_out_saturated_rounds", _INT, "rounds in which its network budget held fetches from it back"),
        Column("disk_saturated_rounds", _INT, "rounds in which its disk budget held fetches into it back"),
        Column("throttled_rounds", _INT, "rounds in which a replication throttle of its held fetches back"),
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
        Column("remote_leo", _LONG, "offset: log end the leader knows of the replica; null: not heard yet", True),
        _IN_ISR,
        Column("fetch_state", _TEXT, "state of the replica's fetching; null: it does not fetch", True),
        Column("epochs", _EPOCHS, "leader-epoch cache: epochs with their start offsets"),
        Column(
            "local_segments",
            "array<bigint>",
            "base offsets of the segments on the broker's own disk; null: not kept, since nothing can be deleted in the run",
            True,
        ),
        Column("local_bytes", _LONG, "bytes of these segments; null likewise", True),
        Column(
            "highest_remote_offset", _LONG, "offset: last that it knows to be in remote storage, -1: none; null likewise", True
        ),
        *(
            Column(
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
        Column("elr", _BROKERS, "broker ids of the eligible leader replicas, sorted"),
        Column("last_known_elr", _BROKERS, "broker ids of the controller's LastKnownELR, sorted"),
    ),
}

TABLE_COLUMNS["replica_states"] = _table(
    *TABLE_COLUMNS["trace"],
    _LEADER,
    Column("last_leader", _INT, "broker id elected last, which remote_leo and the columns below speak of; -1: none was"),
    Column("in_maximal_isr", _FLAG, "whether last_leader's hw waited for it in the round; false for all: it was not ready"),
    Column("min_isr", _INT, "min.insync.replicas in force in the round"),
    Column("leader_end_epoch", _INT, "epoch last_leader's cache answers about the replica's last one; null: none", True),
    Column("leader_end_offset", _LONG, "offset: where that epoch ends in last_leader's log, exclusive; null likewise", True),
    Column("running", _FLAG, "whether its broker runs: neither offline nor paused"),
    Column("fenced", _FLAG, "whether the controller has its broker fenced"),
    Column("flushed_offset", _LONG, "offset: records below it survive a power loss"),
    Column("hw_checkpoint", _LONG, "offset: high watermark on disk, with which the broker would start"),
)

TABLE_COLUMNS |= {
    "ledgers": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        Column("ensemble_size", _INT, "bookies of its ensembles (E)"),
        Column("write_quorum", _INT, "bookies that get an entry (Qw)"),
        Column("ack_quorum", _INT, "answers that acknowledge it (Qa)"),
        Column("state", _TEXT, "OPEN, IN_RECOVERY or CLOSED, as the metadata store has it"),
        Column("last_entry", _LONG, "entry: the last one of a closed ledger, -1: it is empty; null: not closed", True),
        Column("writer_lac", _LONG, "entry: the last one that the writer acknowledged, -1: none"),
        Column(
            "error",
            _TEXT,
            "error of the last operation of its writer or a recovery, as BKException.Code names it; null: OK",
            True,
        ),
        Column("writer", _TEXT, "writing, closing, shut, fenced off or crashed"),
        Column("next_entry", _LONG, "entry: the first one that the writer has not sent"),
        Column("ensemble_changes", _INT, "changes of the ensemble"),
        Column("adds_resent", _LONG, "adds in flight that went to bookies which came into the ensemble"),
        Column("failed_adds", _LONG, "adds in flight that failed"),
        Column("refused_fenced", _LONG, "adds answered LedgerFencedException without being sent"),
        Column("refused_closed", _LONG, "adds answered LedgerClosedException without being sent"),
        Column("unwritable_rounds", _LONG, "rounds with something to write in which nothing was acknowledged"),
        Column("entries_copied", _LONG, "copies of entries that replication workers made"),
        Column("underreplicated", _INT, "bookies of its fragments that are still to be replaced"),
        Column(
            "owner",
            _INT,
            "who created it: 0 for the first to serve the topic, 1 after a takeover, ...; null: it is no list's",
            True,
        ),
        Column("first_message", _LONG, "message of the topic that is its entry 0; null likewise", True),
        Column("created_round", _INT, "round from which on it takes adds; null likewise", True),
        Column("closed_round", _INT, "round at whose end it was closed first; null: never, or it is no list's", True),
        Column("deleted_round", _INT, "round in which retention deleted it; null likewise", True),
        Column("rolled_over", _TEXT, "why its owner went on to another one: entries, size, age, failure; null likewise", True),
        Column("offload_started_round", _INT, "round in which its copy to remote storage was begun last; null likewise", True),
        Column("offloaded_round", _INT, "round in which remote storage had all of it; null likewise", True),
        Column(
            "deleted_from_bookies_round", _INT, "round in which bookies deleted it, since it is offloaded; null likewise", True
        ),
        Column("remote_bytes", _LONG, "bytes of it in remote storage at the end"),
        Column("acked_lost", _LONG, "acknowledged entries behind its end, or that no bookie has any more"),
        *_of_ledgers(),
    ),
    "topics": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        Column("messages", _LONG, "messages that were due"),
        Column("acked", _LONG, "of these acknowledged"),
        Column("unacked", _LONG, "that whoever serves the topic hasn't acknowledged"),
        Column("acked_lost", _LONG, "acknowledged ones that no bookie of the list's ledgers has, but for what retention deleted"),
        Column("readable", _LONG, "entries that readers of its list get; a message sent again may stand twice"),
        Column("messages_deleted", _LONG, "entries that retention deleted"),
        Column("unwritable_rounds", _LONG, "rounds at whose end messages wait, and in which none was acknowledged"),
        Column("ledgers_created", _INT, "ledgers that were added to its list"),
        Column("ledgers_listed", _INT, "ledgers of the list at the end"),
        Column("ledgers_deleted", _INT, "ledgers that retention deleted"),
        Column("list_version", _INT, "how often the list was written"),
        Column("take_overs", _INT, "brokers that took the topic over"),
        *_of_ledgers(),
    ),
    "fragments": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        Column("first_entry", _LONG, "entry: first of the fragment"),
        Column("ensemble", _BROKERS, "bookie ids in the order of their indices"),
    ),
    "entries": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        Column("entry", _LONG, "entry of a traced ledger that some bookie has"),
        Column("bookies", _BROKERS, "bookie ids that have it, sorted"),
        Column("lac_stored", "array<bigint>", "LAC in its header on each of them"),
    ),
    "bookies": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _BROKER,
        Column("last_entry", _LONG, "entry: the last one that the bookie has; null: none", True),
        Column("lac", _LONG, "entry: what it knows to be confirmed, -1: none"),
        Column("fenced", _FLAG, "whether it is fenced for the ledger"),
        Column("entries", _LONG, "entries that it has"),
        Column("bytes", _LONG, "bytes of these"),
        Column("limbo", _FLAG, "whether it doesn't know what it lost of the ledger"),
    ),
    "ledger_clients": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        Column("client", _TEXT, "recovery, reader (open_no_recovery) or close"),
        Column("number", _INT, "number of the client among those of its kind"),
        Column("phase", _TEXT, "how far it is: mark, fence, read, write, close, done or failed"),
        Column("last_entry", _LONG, "entry: last of the ledger, or the LAC, that it found; null: none", True),
        Column("error", _TEXT, "what it was told last, as BKException.Code names it; null: nothing yet", True),
        Column("attempt_error", _TEXT, "what made the last attempt of a recovery that failed fail; null: none did", True),
    ),
}

TABLE_COLUMNS |= {
    "ledger_rounds": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _ROUND,
        Column("state", _TEXT, "OPEN, IN_RECOVERY or CLOSED, as the metadata store has it"),
        Column("last_entry", _LONG, "entry: the last one of a closed ledger, -1: it is empty; null: not closed", True),
        Column("fragments", _FRAGMENTS, "fragments as the metadata store has them, in the order in which they were added"),
        Column("writer", _TEXT, "writing, closing, shut, fenced off or crashed"),
        Column("writer_lac", _LONG, "entry: the last one that the writer acknowledged, -1: none"),
        Column("last_add_pushed", _LONG, "entry: the last one that the writer sent, -1: none"),
        Column("queued", _LONG, "entries that wait to be sent"),
        Column("ensemble", _BROKERS, "bookie ids that the writer writes to, in the order of their indices"),
        Column("replacing", _BROKERS, "bookie ids that an ensemble change under way replaces, sorted"),
        Column("in_flight", _IN_FLIGHT, "the writer's adds that it has not acknowledged: who took them, whose answers it awaits"),
        Column("recoveries", _RECOVERIES, "recoveries under way: how far they are, and the last entry that they recovered"),
        Column("underreplicated", _INT, "bookies of its fragments that are to be replaced"),
    ),
    "bookie_rounds": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _LEDGER,
        _ROUND,
        _BROKER,
        Column("status", _TEXT, "heard, silent or dead"),
        Column("registered", _FLAG, "whether an ensemble may take it"),
        Column("in_ensemble", _FLAG, "whether the writer writes to it"),
        Column("fenced", _FLAG, "whether it is fenced for the ledger"),
        Column("limbo", _FLAG, "whether it doesn't know what it lost of the ledger"),
        Column("last_entry", _LONG, "entry: the last one that the bookie has; null: none", True),
        Column("lac", _LONG, "entry: what it knows to be confirmed, -1: none"),
        Column("entries", _LONG, "entries that it has"),
        Column("held", _HELD, "these: of each range those that the index of an ensemble gets"),
    ),
    "topic_rounds": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _ROUND,
        Column("messages", _LONG, "messages that were due so far"),
        Column("acked", _LONG, "of these acknowledged"),
        Column("unacked", _LONG, "that whoever serves the topic hasn't acknowledged"),
        Column("owner", _INT, "who serves it: 0 for the first, 1 after a takeover, ..."),
        Column("owner_phase", _TEXT, "what the owner is about: create, recover, wait, write, close or stopped"),
        Column("writes", _INT, "number of the ledger that the owner writes; null: none", True),
        Column("listed", _BROKERS, "numbers of the ledgers of the list"),
        Column("offloading", _INT, "number of the ledger that is copied to remote storage; null: none", True),
        Column("offloaded", _BROKERS, "numbers of the ledgers of the list that remote storage has"),
        Column("list_version", _INT, "how often the list was written"),
    ),
}

OPEN_TABLES = frozenset({"scenarios"})
"""Tables whose further columns depend on the scenario file."""
