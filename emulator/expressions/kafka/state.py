"""The state of Kafka's partitions while rounds run: one row per (scenario, partition, slot).

A slot is a replica's place in its partition's masks (expressions/slots.py). Columns called counters move by a constant amount
while nothing happens.
"""

from __future__ import annotations

from emulator.expressions.kafka.reading.types import CACHED_INDEX, READER, READERS_DRIFT
from emulator.expressions.kafka.tier.types import COPY, COUNTS_DRIFT, EPOCHS, INDEX, LOCAL_SEGMENT, REMOTE_EVENT, REMOTE_SEGMENT
from emulator.state_schema import StateSchema

RUN = (
    "start_offset: BIGINT, epoch: INT, start_bytes: BIGINT, batch_records: INT, batch_bytes: BIGINT,"
    " pattern: ARRAY<STRUCT<records: INT, bytes: BIGINT>>, round: INT"
)
TASK = "STRUCT<next: INT, period: INT, failures: INT>"
TIER_COUNTERS = (
    *("remote_copy_requests", "remote_copy_bytes", "remote_copied_again_bytes", "remote_copy_errors"),
    *("remote_delete_requests", "remote_delete_errors", "remote_deleted_bytes"),
    *("moved_to_tiered_storage", "aux_state_requests", "aux_state_errors", "aux_state_downloads", "listing_rounds"),
)
"""What is counted of remote storage, all but the last in outcomes. listing_rounds: those in which the broker asks the store for
metadata every now and then (metadata = "list")."""
STORAGE = (
    "retention_ms: BIGINT, retention_bytes: BIGINT, local_retention_ms: BIGINT, local_retention_bytes: BIGINT,"
    " check_rounds: INT, round_ms: INT, tiered: BOOLEAN, copies: BOOLEAN, task_rounds: INT, retry_rounds: ARRAY<INT>,"
    " backoff_rounds: INT, store_up: BOOLEAN, copy_bytes: BIGINT, by_list: BOOLEAN, metadata_lag: INT, finishes: BOOLEAN,"
    " from_leader: BOOLEAN, at_pending_upload: BOOLEAN, copy_quota: BIGINT, copy_lag_ms: BIGINT, copy_lag_bytes: BIGINT,"
    " eligible_log_ms: BIGINT, eligible_log_bytes: BIGINT,"
    " transactions: ARRAY<INT>, deletes_topic: BOOLEAN"
)
CONSUMERS = (
    "wants: ARRAY<STRUCT<start: BIGINT, reset: BIGINT, reads_committed: BOOLEAN, records_per_round: BIGINT, fetch_bytes: BIGINT,"
    " max_age_rounds: INT, rack: INT>>, followers_serve: BOOLEAN, store_bytes: BIGINT, reads_per_thread: INT, threads: INT,"
    " queue: INT, quota_bytes: BIGINT, index_cache_bytes: BIGINT, index_interval_bytes: BIGINT"
)
"""What groups do with a partition, by group, and what serves them. rack: a place in `site.rack_masks`."""

WORLD = (
    "running: INT, offline: INT, untold: INT, deaf: INT, unfenced: INT, returning: INT, restarted: INT, unclean_restart: INT,"
    " clean_stop: INT,"
    " power_loss: INT, disk_loss: INT, clients_cut: INT, controller_up: BOOLEAN, drop: ARRAY<INT>,"
    " slow: ARRAY<STRUCT<from_slot: INT, to_slot: INT, bytes_per_round: BIGINT>>, disk: ARRAY<BIGINT>,"
    " cause: ARRAY<INT>, news_lag: ARRAY<INT>,"
    " fetch_max_bytes: ARRAY<BIGINT>, no_wait: ARRAY<BOOLEAN>, isolated: INT, metadata_lag: ARRAY<INT>,"
    " copy_quota: ARRAY<BIGINT>, at_pending_upload: ARRAY<BOOLEAN>,"
    " read_quota: ARRAY<BIGINT>, reader_threads: ARRAY<INT>, reader_queue: ARRAY<INT>, index_cache_bytes: ARRAY<BIGINT>"
)
FEED = (
    "records: INT, bytes: BIGINT, unconditional_records: INT, unconditional_bytes: BIGINT,"
    " batches: ARRAY<STRUCT<records: INT, bytes: BIGINT, acked_on_append: BOOLEAN>>,"
    " protocol: INT, min_insync_replicas: INT, unclean_election: BOOLEAN, elr: BOOLEAN, recovery: INT,"
    " lag_rounds: INT, isr_check_rounds: INT, fetch_max_bytes: BIGINT, no_wait: BOOLEAN, checkpoint_rounds: INT,"
    " rebalance_rounds: INT, segment_bytes: BIGINT, segment_rounds: INT, flush_messages: BIGINT, flush_rounds: INT,"
    " preferred_election: BOOLEAN, reassign_order: BIGINT, delete_before: ARRAY<BIGINT>, clears_elr: BOOLEAN,"
    " leader_throttled: ARRAY<INT>, follower_throttled: ARRAY<INT>,"
    f" storage: STRUCT<{STORAGE}>, consumers: STRUCT<{CONSUMERS}>"
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
        f"ARRAY<{LOCAL_SEGMENT}>",
        "closed local segments, oldest first; null where nothing can be deleted in the run, so that they are not kept",
    ),
    "local_deleted_bytes": ("BIGINT", "bytes that retention took from its disk"),
    # Tiered storage (emulator/expressions/kafka/tier/): of the partition, equal on all its rows
    "was_tiered": ("BOOLEAN", "whether the topic had remote storage in the round before"),
    "is_deleted": ("BOOLEAN", "the topic was deleted"),
    "pins": ("ARRAY<STRUCT<fault: INT, offset: BIGINT>>", "where open transactions began"),
    "remote_segments": (f"ARRAY<{REMOTE_SEGMENT}>", "every attempt to copy a segment"),
    "remote_events": (f"ARRAY<{REMOTE_EVENT}>", "the event log of their metadata"),
    "remote_from": ("INT", "id of the first of them since remote storage was turned on last"),
    "leaving": ("STRUCT<segments: ARRAY<INT>, next: INT, failures: INT>", "what is removed as a whole, null: nothing"),
    "expired_up_to": ("BIGINT", "highest log start of any leader so far: what lies below may be gone"),
    "enough_local": ("INT", "mask of replicas that have enough of the log themselves, as they reported last (KIP-1303)"),
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
        COPY,
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
    # Consumers (emulator/expressions/kafka/reading/)
    "readers": (f"ARRAY<{READER}>", "those who ask this replica; null where no group ever reads the partition"),
    "reader_groups": ("ARRAY<INT>", "whose they are: places in feed.consumers.wants"),
    "cold_below": ("BIGINT", "the LEO that it had when its broker's memory was lost last, null: never"),
    "cached_indexes": (f"ARRAY<{CACHED_INDEX}>", "remote segments whose indexes its broker keeps, the least recently used first"),
    "site": (
        "STRUCT<broker: INT, page_cache_bytes: BIGINT, rack_masks: ARRAY<INT>>",
        "its broker's id, its share of the page cache (null: any), the partition's slots by rack",
    ),
    "credit_bytes": ("BIGINT", "allowance of slow links, slow disks and quotas left from the round before"),
    "quota_bytes": ("BIGINT", "bytes a round that brokers' budgets leave its fetches until the next quota edge, null: any"),
    "copy_share_bytes": ("BIGINT", "bytes a round that its broker's other copies leave its own until then, null: any"),
    "read_shares": ("ARRAY<BIGINT>", "bytes a round that other remote reads leave each group's reader until then, null: any"),
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
    "unwritable_rounds": ("INT", "rounds with something to write in which nothing was acknowledged, counter"),
    "unacked": ("BIGINT", "records that the client leader has and has not acknowledged, counter"),
    "unacked_rounds": ("BIGINT", "what `unacked` was at the ends of all rounds, summed"),
    "isr_shrinks": ("INT", "replicas that left the ISR"),
    "isr_expands": ("INT", "replicas that joined the ISR"),
    "events": (
        "ARRAY<STRUCT<round: INT, kind: INT, leader_epoch: INT, from_offset: BIGINT, to_offset: BIGINT, cause: INT>>",
        "what happened to the replica",
    ),
    # Invariants (emulator/expressions/kafka/check_invariants.py)
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
    *("quota_bytes", "copy_share_bytes", "read_shares"),
    *("late_response", "remote_leo", "leader_log", "lead_start", "unlike_from", "alike_again", "trace"),
    *("drop", "slow", "disk", "cause", "news_lag", "fetch_max_bytes", "no_wait", "batches", "delete_before", "pattern"),
    *("metadata_lag", "copy_quota", "at_pending_upload"),
    *("read_quota", "reader_threads", "reader_queue", "index_cache_bytes", "consumers"),
    *("readers", "reader_groups", "cold_below", "cached_indexes", "site"),
    *("was_tiered", "is_deleted", "pins", "remote_segments", "remote_events", "remote_from", "leaving", "highest_remote"),
    *("duty", "duty_epoch", "copied", "knows_log_start", "copy_task", "expiry_task", "follower_task", "copy_under_way"),
    *("copy_starts", "aux_state", "metadata_read", "metadata_index", "tier_counts", "expired_up_to", "tier_broken"),
    *(
        "enough_local",
        "leader_throttled",
        "follower_throttled",
        "storage",
        "leader_local_start",
        "segments",
        "local_deleted_bytes",
    ),
}
"""Columns and fields that may be null."""


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
        *("expired_up_to", "enough_local", "tier_broken"),
    ),
    "reading": ("readers", "reader_groups", "cold_below", "cached_indexes", "site"),
    "led": ("lead_start", "acked_from", "acked_ranges", "leaderships", "leadership_ends"),
    "tally": ("truncated", "refused", "refusing", "elections", "unclean_elections", "isr_shrinks", "isr_expands", "events"),
    "checks": ("unlike_from", "alike_again", "epochs_fall", "impaired", "broken", "violations"),
}
"""Columns that few rounds write: while rounds run, the state holds each group as one struct of that name."""

OPTIONAL_GROUPS = {"tier": "segments", "reading": "readers"}
"""Groups that are null where one of their columns is: group -> column."""

COUNTERS_OF_ROUNDS = (
    *("caught_up_round", "fetched_round"),
    *("leaderless_rounds", "under_min_isr_rounds", "under_replicated_rounds", "unwritable_rounds"),
)
COUNTERS = (
    *("leo", "hw", "log_bytes", "segment_bytes", "leader_leo", "leader_hw", "remote_leo", "fetched_leader_leo"),
    *("lead_hw", "acked_to", "appended", "refused", "replicated_bytes", "produced_bytes", "served_bytes", "unacked"),
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
    *("world", "feed", "quota_bytes", "copy_share_bytes", "read_shares"),
)
"""Columns that no round changes, and the inputs in force, which only what comes from outside changes."""

KAFKA_STATE = StateSchema(
    columns=STATE_COLUMNS,
    world=WORLD,
    feed=FEED,
    nullable=NULLABLE,
    groups=STATE_GROUPS,
    optional_groups=OPTIONAL_GROUPS,
    counters=COUNTERS,
    counters_of_rounds=COUNTERS_OF_ROUNDS,
    nested_drifts={"readers": READERS_DRIFT, "tier_counts": COUNTS_DRIFT, "aux_state": "BIGINT"},
    samples=SAMPLES,
    sums={"unacked_rounds": "unacked"},
    resets={"segment_bytes": ("segment_base_offset", "log_bytes"), "flushed_offset": ("segment_base_offset", None)},
    constants=CONSTANTS,
    dense_arrays=("log", "leader_log"),
    has_buckets=True,
)
"""The state of Kafka's partitions."""
