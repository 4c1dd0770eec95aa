"""One StructType per table, each column with its unit and meaning: the only place for them."""

from __future__ import annotations

from typing import cast

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

from emulator.rounds.kafka.tier.types import EPOCHS, INDEX, REMOTE_EVENT, REMOTE_SEGMENT

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
    ),
    "brokers": _table(_SCENARIO, _BROKER, _column("rack", _TEXT, "rack the broker stands in; null: none", True)),
    "partitions": _table(
        _SCENARIO,
        _TOPIC,
        _PARTITION,
        _column("replicas", _BROKERS, "broker ids in replica-list order at the end: the first is the preferred leader"),
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
        _column("looked_at", _TEXT, "when: every round, elections, end"),
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


# The engine's state: one row per (scenario, partition, slot). A slot is a replica's place in its partition's masks
# (emulator/rounds/slots.py). Columns called counters move by a constant amount while nothing happens.

RUN = (
    "start_offset: BIGINT, epoch: INT, start_bytes: BIGINT, batch_records: INT, batch_bytes: BIGINT,"
    " pattern: ARRAY<STRUCT<records: INT, bytes: BIGINT>>, round: INT"
)
SEGMENT = "base_offset: BIGINT, bytes: BIGINT, first_round: INT, newest_round: INT"
TASK = "STRUCT<next: INT, period: INT, failures: INT>"
TIER_COUNTERS = (
    *("remote_copy_requests", "remote_copy_bytes", "remote_copied_again_bytes", "remote_copy_errors"),
    *("remote_delete_requests", "remote_delete_errors", "remote_deleted_bytes"),
    *("moved_to_tiered_storage", "aux_state_requests", "aux_state_errors"),
)
STORAGE = (
    "retention_ms: BIGINT, retention_bytes: BIGINT, local_retention_ms: BIGINT, local_retention_bytes: BIGINT,"
    " check_rounds: INT, round_ms: INT, tiered: BOOLEAN, copies: BOOLEAN, task_rounds: INT, retry_rounds: ARRAY<INT>,"
    " backoff_rounds: INT, store_up: BOOLEAN, copy_bytes: BIGINT, by_list: BOOLEAN, metadata_lag: INT, finishes: BOOLEAN,"
    " from_leader: BOOLEAN, at_pending_upload: BOOLEAN, copy_quota: BIGINT, copy_lag_ms: BIGINT, copy_lag_bytes: BIGINT,"
    " transactions: ARRAY<INT>, deletes_topic: BOOLEAN"
)
WORLD = (
    "running: INT, offline: INT, untold: INT, deaf: INT, unfenced: INT, returning: INT, restarted: INT, unclean_restart: INT,"
    " clean_stop: INT,"
    " power_loss: INT, disk_loss: INT, clients_cut: INT, controller_up: BOOLEAN, drop: ARRAY<INT>,"
    " slow: ARRAY<STRUCT<from_slot: INT, to_slot: INT, bytes_per_round: BIGINT>>, disk: ARRAY<BIGINT>,"
    " cause: ARRAY<INT>, news_lag: ARRAY<INT>,"
    " fetch_max_bytes: ARRAY<BIGINT>, no_wait: ARRAY<BOOLEAN>, isolated: INT, metadata_lag: ARRAY<INT>,"
    " copy_quota: ARRAY<BIGINT>, at_pending_upload: ARRAY<BOOLEAN>"
)
FEED = (
    "records: INT, bytes: BIGINT, unconditional_records: INT, unconditional_bytes: BIGINT,"
    " batches: ARRAY<STRUCT<records: INT, bytes: BIGINT, acked_on_append: BOOLEAN>>,"
    " protocol: INT, min_insync_replicas: INT, unclean_election: BOOLEAN, elr: BOOLEAN, recovery: INT,"
    " lag_rounds: INT, isr_check_rounds: INT, fetch_max_bytes: BIGINT, no_wait: BOOLEAN, checkpoint_rounds: INT,"
    " rebalance_rounds: INT, segment_bytes: BIGINT, segment_rounds: INT, flush_messages: BIGINT, flush_rounds: INT,"
    " preferred_election: BOOLEAN, reassign_order: BIGINT, delete_before: ARRAY<BIGINT>, clears_elr: BOOLEAN,"
    " leader_throttled: ARRAY<INT>, follower_throttled: ARRAY<INT>,"
    f" storage: STRUCT<{STORAGE}>"
)
TRACE = (
    "round: INT, running: BOOLEAN, offline: BOOLEAN, assigned: INT, replica: BOOLEAN, is_leader: BOOLEAN,"
    " believed_epoch: INT, log_start_offset: BIGINT, leo: BIGINT, hw: BIGINT, remote_leo: BIGINT, in_isr: BOOLEAN,"
    " fetch_state: STRING, epochs: ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>,"
    " leader: INT, leader_epoch: INT, isr: INT, elr: INT, last_known_elr: INT,"
    " local_log_start_offset: BIGINT, local_segments: ARRAY<BIGINT>, local_bytes: BIGINT, highest_remote_offset: BIGINT,"
    " latest_offset: BIGINT, earliest_offset: BIGINT, max_timestamp_offset: BIGINT, earliest_local_offset: BIGINT,"
    " latest_tiered_offset: BIGINT, earliest_pending_upload_offset: BIGINT"
)

STATE_COLUMNS: dict[str, tuple[str, str]] = {
    "scenario_id": ("INT", "scenario"),
    "partition_id": ("BIGINT", "partition within the scenario, in topic order"),
    "slot": ("INT", "replica within the partition"),
    "own_bit": ("INT", "1 << slot"),
    "round": ("INT", "round to run next"),
    "traced": ("BOOLEAN", "whether every round is recorded"),
    "members": ("INT", "partitions that go through the same as this one, it included"),
    "world_id": ("INT", "which brokers the partition lives on: key of its world changes"),
    "feed_id": ("BIGINT", "which workload, settings and commands it has: key of its feed changes"),
    "world": (f"STRUCT<{WORLD}>", "what the faults say of the partition's brokers, masks by slot"),
    "feed": (f"STRUCT<{FEED}>", "workload, settings and commands in force"),
    # The partition, equal on all its rows: what the controller holds
    "assigned": ("INT", "mask of replicas"),
    "replica_order": ("BIGINT", "packed replica list"),
    "target_order": ("BIGINT", "packed target of a reassignment in progress, 0 if none"),
    "adding": ("INT", "mask of replicas a reassignment adds"),
    "leader_news": (
        "ARRAY<STRUCT<round: INT, leader: INT, epoch: INT>>",
        "what the controller held since when, in runs whose faults let news through late",
    ),
    "leader": ("INT", "slot of the controller's leader, -1 if none"),
    "leader_epoch": ("INT", "the controller's leader epoch"),
    "isr": ("INT", "mask of the controller's ISR"),
    "elr": ("INT", "mask of its eligible leader replicas (KIP-966)"),
    "last_known_elr": ("INT", "mask of LastKnownELR: the last leader, or with a recovery strategy who fell out of the ELR"),
    "recovery_answers": (
        "ARRAY<STRUCT<slot: INT, epoch: INT, leo: BIGINT>>",
        "what replicas answered the controller, which looks for a leader outside ISR and ELR, in the round before",
    ),
    # The partition, equal on all its rows: the leader that clients know
    "client_leader": ("INT", "slot of the replica elected last, -1 if none ever was"),
    "client_epoch": ("INT", "epoch it was elected with"),
    "leader_ready": ("BOOLEAN", "whether it knows that it leads"),
    "leader_isr": ("INT", "mask of the ISR it knows"),
    "pending_join": ("INT", "mask of joins not confirmed"),
    "pending_shrink": ("INT", "mask of shrinks not confirmed"),
    "committed_before": ("BIGINT", "highest high watermark of the leaders before it, 0 after an unclean election"),
    "leader_leo": ("BIGINT", "its LEO"),
    "leader_hw": ("BIGINT", "its high watermark"),
    "leader_epoch_start": ("BIGINT", "start offset of its epoch"),
    "leader_log_start": ("BIGINT", "its log start offset"),
    "leader_local_start": ("BIGINT", "the first offset that it has itself, null where segments are not kept"),
    # The replica
    "is_leader": ("BOOLEAN", "believes that it leads"),
    "believed_leader": ("INT", "slot of the leader it believes in, -1 if none"),
    "believed_epoch": ("INT", "leader epoch it believes in"),
    "truncating": ("BOOLEAN", "it has to ask where to cut its log before it fetches (KIP-101, KIP-279)"),
    "late_response": (
        f"STRUCT<slot: INT, offset: BIGINT, log: ARRAY<STRUCT<{RUN}>>, leo: BIGINT, hw: BIGINT, log_start_offset: BIGINT>",
        "a mutant's response of an old leader, to come in the next round",
    ),
    "leo": ("BIGINT", "log end offset, counter"),
    "hw": ("BIGINT", "high watermark, counter"),
    "log_start_offset": ("BIGINT", "log start offset"),
    "log": (f"ARRAY<STRUCT<{RUN}>>", "runs of equal batches, each with its epoch"),
    "log_bytes": ("BIGINT", "bytes of the log from offset 0, counter"),
    "hw_checkpoint": ("BIGINT", "high watermark on disk"),
    "flushed_offset": ("BIGINT", "records below it survive a power loss"),
    "segment_base_offset": ("BIGINT", "base offset of the active segment"),
    "segment_bytes": ("BIGINT", "bytes in the active segment, counter"),
    "segment_round": ("INT", "round of the active segment's first chunk"),
    "segments": (
        f"ARRAY<STRUCT<{SEGMENT}>>",
        "closed local segments, oldest first; null where nothing can be deleted in the run, so that they are not kept",
    ),
    "local_deleted_bytes": ("BIGINT", "bytes that retention took from its disk"),
    # Tiered storage (emulator/rounds/kafka/tier/): of the partition, equal on all its rows
    "was_tiered": ("BOOLEAN", "whether the topic had remote storage in the round before"),
    "is_deleted": ("BOOLEAN", "the topic was deleted"),
    "pins": ("ARRAY<STRUCT<fault: INT, offset: BIGINT>>", "where open transactions began"),
    "remote_segments": (f"ARRAY<{REMOTE_SEGMENT}>", "every attempt to copy a segment"),
    "remote_events": (f"ARRAY<{REMOTE_EVENT}>", "the event log of their metadata"),
    "remote_from": ("INT", "id of the first of them since remote storage was turned on last"),
    "leaving": ("STRUCT<segments: ARRAY<INT>, next: INT, failures: INT>", "what is removed as a whole, null: nothing"),
    "expired_up_to": ("BIGINT", "highest log start of any leader so far: what lies below may be gone"),
    # Of the replica's broker
    "highest_remote": ("BIGINT", "last offset that it knows to be tiered, -1: none"),
    "duty": ("INT", "0: none, 1: leader, 2: follower"),
    "duty_epoch": ("INT", "the leader's epoch, null: another duty"),
    "copied": ("BIGINT", "last offset that its copy task has behind it, null: not looked up yet"),
    "knows_log_start": ("BOOLEAN", "the log start was looked up in this leadership"),
    "copy_task": (TASK, "its task that copies: it is due in `next` and every `period` rounds after it"),
    "expiry_task": (TASK, "its task that deletes remote segments"),
    "follower_task": (TASK, "its task that looks how far its log is tiered"),
    "copy_under_way": (
        "STRUCT<segment: INT, left_bytes: BIGINT, as_of: INT, rate: BIGINT, orphaned: BOOLEAN>",
        "its copy: left_bytes at the start of round as_of, less by rate in each round from then on; null: none",
    ),
    "copy_starts": ("ARRAY<STRUCT<round: INT, bytes: BIGINT>>", "copies that it started within the quota's window"),
    "aux_state": (
        f"STRUCT<leader: INT, epoch: INT, next: INT, asked: STRUCT<start_offset: BIGINT, epochs: {EPOCHS}, is_built: BOOLEAN>>",
        "the state that it builds for a leader in an epoch, when it asks again, what it was told; null: none",
    ),
    "metadata_read": ("INT", "it has read the events of the rounds before this one, beside its own"),
    "metadata_index": (INDEX, "what it makes of them"),
    "tier_broken": ("INT", "mask of what did not hold between the tiers at the end of the last round (check_tiers.py)"),
    "tier_counts": (f"STRUCT<{', '.join(f'{name}: BIGINT' for name in TIER_COUNTERS)}>", "counters of outcomes"),
    "credit_bytes": ("BIGINT", "allowance of slow links, slow disks and quotas left from the round before"),
    "quota_bytes": ("BIGINT", "bytes a round that brokers' budgets leave its fetches until the next quota edge, null: any"),
    # What the client leader knows of the replica
    "remote_leo": ("BIGINT", "fetch offset it noted last, null until heard in this epoch"),
    "verified": ("BOOLEAN", "a fetch in this epoch was accepted: its log is a prefix of the leader's"),
    "caught_up_round": ("INT", "round in which it was last caught up"),
    "fetched_round": ("INT", "round of the last noted fetch"),
    "fetched_leader_leo": ("BIGINT", "the leader's LEO at that fetch"),
    "leader_log": (f"ARRAY<STRUCT<{RUN}>>", "the client leader's log while not verified, else null"),
    # What it acknowledged and committed as a leader
    "lead_start": ("BIGINT", "start of its current or last leadership, null while elected unawares"),
    "lead_hw": ("BIGINT", "high watermark reached in it"),
    "acked_from": ("BIGINT", "latest range acknowledged on append (acks 0, 1) in it"),
    "acked_to": ("BIGINT", "exclusive end of that range"),
    "acked_ranges": ("ARRAY<STRUCT<from_offset: BIGINT, to_offset: BIGINT>>", "earlier such ranges above the HW"),
    "leaderships": (
        "ARRAY<STRUCT<epoch: INT, round: INT, unclean: BOOLEAN, runs: BOOLEAN, cause: INT, leo: BIGINT, log_start_offset: BIGINT,"
        " local_start: BIGINT, acked_before: BIGINT, entries: ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>>>",
        "every leadership with the log it began with",
    ),
    "leadership_ends": (
        "ARRAY<STRUCT<start_offset: BIGINT, hw: BIGINT, acked: ARRAY<STRUCT<from_offset: BIGINT, to_offset: BIGINT>>>>",
        "what all but the last of them reached",
    ),
    # Outcomes
    "appended": ("BIGINT", "records appended as a leader, counter"),
    "truncated": ("BIGINT", "records cut by truncation, counter"),
    "replicated_bytes": ("BIGINT", "bytes appended as a follower, counter"),
    "refused": ("BIGINT", "records refused as a leader, counter"),
    "refusing": ("INT", "records it refused in the last round"),
    "produced_bytes": ("BIGINT", "bytes appended as a leader in this time bucket, counter"),
    "served_bytes": ("BIGINT", "bytes fetched from the believed leader in this time bucket, counter"),
    "served": ("ARRAY<STRUCT<slot: INT, bytes: BIGINT>>", "the same from earlier leaders in this bucket"),
    "elections": ("INT", "elections of the partition"),
    "unclean_elections": ("INT", "unclean ones"),
    "leaderless_rounds": ("INT", "rounds whose end found no running leader, counter"),
    "under_min_isr_rounds": ("INT", "rounds with |ISR| < min.insync.replicas, counter"),
    "under_replicated_rounds": ("INT", "rounds with |ISR| < |replicas|, counter"),
    "isr_shrinks": ("INT", "replicas that left the ISR"),
    "isr_expands": ("INT", "replicas that joined the ISR"),
    "events": (
        "ARRAY<STRUCT<round: INT, kind: INT, leader_epoch: INT, from_offset: BIGINT, to_offset: BIGINT, cause: INT>>",
        "what happened to the replica",
    ),
    # Invariants (emulator/rounds/kafka/check_invariants.py)
    "unlike_from": ("BIGINT", "first offset at which the own log is not the client leader's, null if there is none"),
    "alike_again": ("BIGINT", "first offset above it where both have the same epoch, null if there is none"),
    "epochs_fall": ("BOOLEAN", "a record of the own log has a lower epoch than one before it"),
    "impaired": ("BOOLEAN", "it lost records to a fault and lacks some below the leader's high watermark since"),
    "broken": ("INT", "mask of invariants that did not hold at the end of the last round"),
    "violations": (
        "ARRAY<STRUCT<round: INT, invariant: INT, leader: INT, leader_epoch: INT, leader_leo: BIGINT, leader_hw: BIGINT,"
        " leo: BIGINT, hw: BIGINT, isr: INT, leader_epochs: ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>,"
        " epochs: ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>, agreed_to: BIGINT, cause: INT>>",
        "invariants that broke, each when it did",
    ),
    "trace": (f"ARRAY<STRUCT<{TRACE}>>", "rounds recorded since the last write, null if not traced"),
}

STATE_DDL = ", ".join(f"{name} {kind}" for name, (kind, _) in STATE_COLUMNS.items())

NULLABLE = {
    *("quota_bytes", "late_response", "remote_leo", "leader_log", "lead_start", "unlike_from", "alike_again", "trace"),
    *("drop", "slow", "disk", "cause", "news_lag", "fetch_max_bytes", "no_wait", "batches", "delete_before", "pattern"),
    *("metadata_lag", "copy_quota", "at_pending_upload"),
    *("was_tiered", "is_deleted", "pins", "remote_segments", "remote_events", "remote_from", "leaving", "highest_remote"),
    *("duty", "duty_epoch", "copied", "knows_log_start", "copy_task", "expiry_task", "follower_task", "copy_under_way"),
    *("copy_starts", "aux_state", "metadata_read", "metadata_index", "tier_counts", "expired_up_to", "tier_broken"),
    *("leader_throttled", "follower_throttled", "storage", "leader_local_start", "segments", "local_deleted_bytes"),
}
"""Columns and fields that may be null."""


def state_type() -> StructType:
    """The state's columns, with what is never null marked so: code that need not look for nulls is half as long.

    World and feed are null until round 0 has put them in force, and nothing reads them before.
    """
    fields = []
    for field in cast(StructType, StructType.fromDDL(STATE_DDL)).fields:
        kind = field.dataType
        if isinstance(kind, ArrayType) and field.name in ("log", "leader_log"):
            kind = ArrayType(never_null(cast(StructType, kind.elementType)))
        elif isinstance(kind, StructType):
            kind = never_null(kind)
        fields.append(StructField(field.name, kind, field.name in NULLABLE))
    return StructType(fields)


def never_null(kind: StructType) -> StructType:
    """The struct, no field of which is null but NULLABLE ones."""
    return StructType([StructField(f.name, f.dataType, f.name in NULLABLE) for f in kind.fields])


STATE_GROUPS: dict[str, tuple[str, ...]] = {
    "controller": (
        "assigned",
        "replica_order",
        "target_order",
        "adding",
        "leader",
        "leader_epoch",
        "isr",
        "elr",
        "last_known_elr",
        "leader_news",
    ),
    "client": (
        "client_leader",
        "client_epoch",
        "leader_ready",
        "leader_isr",
        "pending_join",
        "pending_shrink",
        "committed_before",
    ),
    "belief": ("is_leader", "believed_leader", "believed_epoch", "truncating", "late_response"),
    "store": (
        *("log_start_offset", "hw_checkpoint", "flushed_offset"),
        *("segment_base_offset", "segment_round", "credit_bytes"),
    ),
    "tier": (
        *("segments", "local_deleted_bytes", "was_tiered", "is_deleted", "pins"),
        *("remote_segments", "remote_events", "remote_from", "leaving"),
        *("highest_remote", "duty", "duty_epoch", "copied", "knows_log_start", "copy_task", "expiry_task", "follower_task"),
        *("copy_under_way", "copy_starts", "aux_state", "metadata_read", "metadata_index", "tier_counts"),
        *("expired_up_to", "tier_broken"),
    ),
    "led": ("lead_start", "acked_from", "acked_ranges", "leaderships", "leadership_ends"),
    "tally": ("truncated", "refused", "refusing", "elections", "unclean_elections", "isr_shrinks", "isr_expands", "events"),
    "checks": ("unlike_from", "alike_again", "epochs_fall", "impaired", "broken", "violations"),
}
"""Columns that few rounds write: while rounds run, the state holds each group as one struct of that name."""

OPTIONAL_GROUPS = {"tier": "segments"}
"""Groups that are null where one of their columns is: group -> column."""

GROUP_OF = {column: group for group, columns in STATE_GROUPS.items() for column in columns}

COUNTERS_OF_ROUNDS = (
    *("caught_up_round", "fetched_round"),
    *("leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds"),
)
COUNTERS = (
    *("leo", "hw", "log_bytes", "segment_bytes", "leader_leo", "leader_hw", "remote_leo", "fetched_leader_leo"),
    *("lead_hw", "acked_to", "appended", "refused", "replicated_bytes", "produced_bytes", "served_bytes"),
    *COUNTERS_OF_ROUNDS,
)
"""Columns that move by a constant amount a round while nothing happens: what a leap multiplies (emulator/leaps.py)."""

SAMPLES = {
    "hw_checkpoint": ("hw", "IF((world.running & own_bit) != 0, feed.checkpoint_rounds, 0)"),
    "flushed_offset": ("leo", "IF((world.running & own_bit) != 0 AND feed.flush_messages = 0, feed.flush_rounds, 0)"),
}
"""Columns that take the value of a counter at the end of rounds divisible by a period (0: never): column -> (counter, period)."""

CONSTANTS = (
    *("scenario_id", "partition_id", "slot", "own_bit", "traced", "members", "world_id", "feed_id"),
    *("world", "feed", "quota_bytes"),
)
"""Columns that no round changes, and the inputs in force, which only what comes from outside changes."""
