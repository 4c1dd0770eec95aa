RUN = "start_offset: BIGINT, epoch: INT, start_bytes: BIGINT, batch_records: INT, batch_bytes: BIGINT, pattern: ARRAY<STRUCT<records: INT, bytes: BIGINT>>"
BATCHES = "STRUCT<records: INT, unconditional_records: INT, bytes: BIGINT, batches: ARRAY<STRUCT<records: INT, bytes: BIGINT, acked_on_append: BOOLEAN>>, pattern: ARRAY<STRUCT<records: INT, bytes: BIGINT>>>"
WORLD = (
    "running: INT, offline: INT, untold: INT, deaf: INT, unfenced: INT, returning: INT, restarted: INT, clean_stop: INT,"
    " power_loss: INT, disk_loss: INT, clients_cut: INT, controller_up: BOOLEAN, drop: ARRAY<INT>,"
    " slow: ARRAY<STRUCT<from_slot: INT, to_slot: INT, bytes_per_round: BIGINT>>, disk: ARRAY<BIGINT>, cause: ARRAY<INT>,"
    " fetch_max_bytes: ARRAY<BIGINT>, no_wait: ARRAY<BOOLEAN>"
)
FEED = (
    f"all_batches: {BATCHES}, unconditional_batches: {BATCHES}, min_insync_replicas: INT, unclean_election: BOOLEAN,"
    " lag_rounds: INT, isr_check_rounds: INT, fetch_max_bytes: BIGINT, no_wait: BOOLEAN, checkpoint_rounds: INT,"
    " rebalance_rounds: INT, segment_bytes: BIGINT, segment_rounds: INT, flush_messages: BIGINT, flush_rounds: INT,"
    " preferred_election: BOOLEAN, reassign_order: BIGINT, delete_before: BIGINT"
)
TRACE = (
    "round: INT, running: BOOLEAN, offline: BOOLEAN, assigned: INT, replica: BOOLEAN, is_leader: BOOLEAN, believed_epoch: INT, log_start_offset: BIGINT,"
    " leo: BIGINT, hw: BIGINT, remote_leo: BIGINT, in_isr: BOOLEAN, fetch_state: STRING, epochs: ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>,"
    " leader: INT, leader_epoch: INT, isr: INT"
)

STATE_COLUMNS: dict[str, tuple[str, str]] = {
    "scenario_id": ("INT", "scenario"),
    "partition_id": ("BIGINT", "partition within the scenario, in topic order"),
    "slot": ("INT", "replica within the partition"),
    "own_bit": ("INT", "1 << slot"),
    "round": ("INT", "round to run next"),
    "traced": ("BOOLEAN", "whether every round is recorded"),
    "world_id": ("INT", "which brokers the partition lives on: key of its world changes"),
    "feed_id": ("BIGINT", "which workload, settings and commands it has: key of its feed changes"),
    "world": (f"STRUCT<{WORLD}>", "what the faults say of the partition's brokers, masks by slot"),
    "feed": (f"STRUCT<{FEED}>", "workload, settings and commands in force"),
    # The partition, equal on all its rows: what the controller holds
    "assigned": ("INT", "mask of replicas"),
    "replica_order": ("BIGINT", "packed replica list"),
    "target_order": ("BIGINT", "packed target of a reassignment in progress, 0 if none"),
    "adding": ("INT", "mask of replicas a reassignment adds"),
    "leader": ("INT", "slot of the controller's leader, -1 if none"),
    "leader_epoch": ("INT", "the controller's leader epoch"),
    "isr": ("INT", "mask of the controller's ISR"),
    # The partition, equal on all its rows: the leader that clients know
    "client_leader": ("INT", "slot of the replica elected last, -1 if none ever was"),
    "client_epoch": ("INT", "epoch it was elected with"),
    "leader_ready": ("BOOLEAN", "whether it knows that it leads"),
    "leader_isr": ("INT", "mask of the ISR it knows"),
    "pending_join": ("INT", "mask of joins not confirmed"),
    "pending_shrink": ("INT", "mask of shrinks not confirmed"),
    "leader_leo": ("BIGINT", "its LEO"),
    "leader_hw": ("BIGINT", "its high watermark"),
    "leader_epoch_start": ("BIGINT", "start offset of its epoch"),
    "leader_log_start": ("BIGINT", "its log start offset"),
    # The replica
    "is_leader": ("BOOLEAN", "believes that it leads"),
    "believed_leader": ("INT", "slot of the leader it believes in, -1 if none"),
    "believed_epoch": ("INT", "leader epoch it believes in"),
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
    "credit_bytes": ("BIGINT", "allowance of slow links and disks left from the round before"),
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
        "ARRAY<STRUCT<epoch: INT, round: INT, unclean: BOOLEAN, cause: INT, leo: BIGINT, log_start_offset: BIGINT,"
        " acked_before: BIGINT, entries: ARRAY<STRUCT<epoch: INT, start_offset: BIGINT>>>>",
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
    "trace": (f"ARRAY<STRUCT<{TRACE}>>", "rounds recorded since the last write, null if not traced"),
}
