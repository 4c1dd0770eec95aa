"""What Kafka's rounds read: rules of a protocol, scenarios, brokers over time, settings, workload, commands."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.kafka.reading.records import Want
from emulator.rounds.kafka.tier.records import StoreSpan, Transaction
from emulator.rounds.records import Record, Rows, constant


class Rules(Record):
    """What sets protocol generations apart, and the guards that mutants lack; the numbers are the steps of a round."""

    epochs_in_fetch: int = constant("4: fetches carry epochs, the leader checks them and answers divergence (KIP-320, KIP-595)")
    entry_at_election: int = constant("2: a new leader puts its epoch into its cache at once (KIP-279), else at its first append")
    asks: int = constant("4, 7: who begins to follow asks for the end of its last epoch first (KIP-101)")
    answers_epoch: int = constant("7: the answer names the epoch it is about (KIP-279)")
    cuts_to_high_watermark: int = constant("1, 8: who begins to follow cuts its log to its high watermark (before KIP-101)")
    cut_by_epoch: int = constant("7: a diverging answer cuts to where both logs end the epoch, else to the own high watermark")
    join_at_high_watermark: int = constant("5: who joins the ISR has reached T's high watermark of the round's start")
    join_at_epoch_start: int = constant("5: who joins the ISR has reached the start of T's epoch")
    wait_for_maximal_isr: int = constant("6: joiners, pending joins and who is about to join hold the high watermark back")
    fetch_in_leader_epoch: int = constant("4: a fetch of another epoch is refused")
    forget_followers: int = constant("2: a new leader knows no follower's LEO")
    hold_below_min_isr: int = constant("6: the high watermark stays while |ISR| < min.insync.replicas")
    remove_unclean_from_elr: int = constant("2: who restarts after an unclean stop leaves the ELR")
    response_in_leader_epoch: int = constant("7, 8: a response after the follower learned of another leader is dropped")
    below_last_stable: int = constant("9: a segment is copied when it ends below the last stable offset, else when it is closed")
    copy_before_delete: int = constant("9: only what is copied goes from the disk, else whatever local retention says")
    finished_counts: int = constant("9: the highest remote offset rises when a copy is finished, else when it is started")
    within_lineage: int = constant("9: the log's own epochs in remote storage say where to go on, else the highest of any epoch")
    build_epochs: int = constant("7: a follower takes the epochs below its start from the remote segment, else it has none")
    forget_on_truncation: int = constant("9: a truncation lowers the highest remote offset, else it never falls (Kafka to 4.3)")
    know_remote_first: int = constant("9: the highest remote offset is known before the log's size is taken (KAFKA-20732)")
    check_transitions: int = constant("9: an event that a segment's state does not allow changes nothing")
    wait_for_lag: int = constant("9: a segment is copied when it has waited for its lag (KIP-1241), else when it is closed")
    log_start_first: int = constant("9: the log start rises before remote segments go, else by the next run to what is left")
    lookup_by_epoch: int = constant("7: a segment is looked up by the log's epoch at the offset, else any that has the offset")
    drop_log: int = constant("7: who starts behind remote storage drops its own log, else its segments stay on the disk")
    check_every_fetch: int = constant("4: divergence is looked for in every fetch, else in a follower's first in an epoch")
    reads_within_lineage: int = constant("11: a remote read ends where the log has another epoch, else with its segment (Kafka)")
    checks_position: int = constant("11: a reader asks a new leader for the end of its epoch (KIP-320)")
    reads_committed_only: int = constant("11: what is not committed is not given out")
    follower_keeps_position: int = constant("11: a follower that lacks the position sends its reader back, else that is a reset")


class ScenarioRow(Record):
    """What all partitions of a scenario have in common."""

    rules: int = constant("place of its protocol's rules")
    rounds: int = constant("rounds of the run")
    elr: int = constant("1: eligible leader replicas (KIP-966)")
    shares: int = constant("1: its brokers' bandwidth is limited, or a replication throttle is set")
    late_news: int = constant("1: some fault lets news through late (stale_metadata with lag_rounds)")
    leaps: int = constant("1: quiet rounds are leapt over; the result is the same")
    session_timeout_rounds: int = constant("rounds")
    quiet_from: int = constant("first round after the last fault and command")
    bucket_rounds: int = constant("rounds of a time bucket of traffic")
    first_bucket: int = constant("place of its first broker's first bucket in Told.traffic")
    buckets: int = constant("time buckets of each broker")
    by_list: int = constant("1: metadata of remote segments is asked of the store, 0: it is a topic")
    metadata_lag: int = constant("rounds by which events of remote segments are read late")
    finishes: int = constant("1: a copy goes on when its leadership is lost")
    from_leader: int = constant("1: followers ask their leader for the epochs before their start (KIP-405, option 1)")
    some_tiered: int = constant("1: a topic of the run has remote storage: traces say what ListOffsets answers")
    reads_per_thread: int = constant("remote reads that a broker's reader thread makes in a round; 0: they take no time")
    round_us: int = constant("microseconds of a round")
    round_trip_us: int = constant("microseconds of a fetch that brings next to nothing")
    fetch_wait_us: int = constant("microseconds that it waits for replica.fetch.min.bytes")
    fetch_bytes_per_second: int = constant("what a fetch brings beyond that")
    delivery_rounds: int = constant("rounds for which producers keep records that they cannot send: delivery.timeout.ms")
    fetches_per_round: int = constant("so many fetches in a round, whatever they take; 0: as many as fit")
    draws: int = constant("its seed, mixed to 32 bits (last_moments.py)")


class BrokerSpan(Record):
    """A broker from a round on: what the faults say of it, and its own settings. A broker's last one is at FOREVER."""

    from_round: int = constant("its first round")
    status: int = constant("bits")
    cause: int = constant("fault_id of the strongest fault in force, else of the last that was; -1: none")
    moment: int = constant("of an offline broker: when in its first offline round it stopped (moments.py)")
    disk_bytes: int = constant("bytes per round of a slow disk; UNKNOWN: not slow")
    fetch_max_bytes: int = constant("the broker's own replica.fetch.max.bytes; UNKNOWN: as all brokers'")
    response_max_bytes: int = constant("the broker's own replica.fetch.response.max.bytes; UNKNOWN: as all brokers'")
    no_wait: int = constant("1: the broker's own replica.fetch.wait.max.ms is 0, 0: it is not; UNKNOWN: as all brokers'")
    metadata_lag: int = constant("rounds by which a fault has it read remote metadata late; NO_NEWS: it reads none")
    copy_quota: int = constant("the broker's own copy quota, bytes per second; UNKNOWN: as all brokers'")
    at_pending_upload: int = constant("the broker's own KIP-1023 key; UNKNOWN: as all brokers'")
    read_quota: int = constant("the broker's own remote fetch quota, bytes per round; UNKNOWN: as all brokers'")
    reader_threads: int = constant("the broker's own remote.log.reader.threads; UNKNOWN: as all brokers'")
    reader_queue: int = constant("the broker's own remote.log.reader.max.pending.tasks; UNKNOWN: as all brokers'")
    index_cache_bytes: int = constant("the broker's own room for indexes of remote segments; UNKNOWN: as all brokers'")
    stale: int = constant("row of the table of stale_metadata in this round")
    stale_before: int = constant("the same in the round before")
    first_cut: int = constant("place of its first cut link; links to peers that its messages do not reach")
    cut_count: int = constant("so many")
    first_slow: int = constant("place of its first slow link")
    slow_count: int = constant("so many")
    first_far: int = constant("place of its first link with a round trip of its own")
    far_count: int = constant("so many")


class Link(Record):
    """Messages of a broker to a peer."""

    peer: int = constant("place of the peer among the scenario's brokers")
    number: int = constant("bytes per round that a slow link carries; microseconds of a far one's round trip")


class Settings(Record):
    """Settings of a partition from a round on. A partition's last ones are at FOREVER."""

    from_round: int = constant("its first round")
    min_insync_replicas: int = constant("min.insync.replicas")
    unclean_election: int = constant("unclean.leader.election.enable")
    recovery: int = constant("unclean.recovery.strategy")
    lag_rounds: int = constant("replica.lag.time.max.ms in whole rounds")
    isr_check_ms: int = constant("ms between two looks for who has fallen behind")
    fetch_max_bytes: int = constant("replica.fetch.max.bytes")
    response_max_bytes: int = constant("replica.fetch.response.max.bytes")
    no_wait: int = constant("1: replica.fetch.wait.max.ms is 0")
    checkpoint_ms: int = constant("replica.high.watermark.checkpoint.interval.ms")
    rebalance_ms: int = constant("ms between two automatic preferred elections; 0: there are none")
    segment_bytes: int = constant("segment.bytes")
    segment_rounds: int = constant("segment.ms in rounds")
    flush_messages: int = constant("flush.messages; 0: none")
    flush_ms: int = constant("flush.ms; 0: none")
    clears_elr: int = constant("1: min.insync.replicas is altered in this round")
    retention_check_ms: int = constant("log.retention.check.interval.ms")
    local_retention_rounds: int = constant("a segment whose newest record is older goes from the disk; UNKNOWN: never")
    local_retention_bytes: int = constant("bytes of the log above which segments go from the disk; UNKNOWN: never")
    tiered: int = constant("1: the topic has remote storage")
    copies: int = constant("1: its segments are copied")
    retention_rounds: int = constant("a segment as old goes from remote storage; UNKNOWN: never")
    retention_bytes: int = constant("bytes of the whole log above which segments go for good; UNKNOWN: never")
    task_ms: int = constant("remote.log.manager.task.interval.ms: from the end of a task to its next run")
    retry_ms: int = constant("remote.log.manager.task.retry.backoff.ms")
    retry_most_ms: int = constant("the same, .max.ms")
    round_ms: int = constant("ms of a round")
    backoff_rounds: int = constant("replica.fetch.backoff.ms in rounds")
    at_pending_upload: int = constant("1: an empty follower starts behind what is tiered (KIP-1023)")
    copy_quota_bytes: int = constant("a broker's copy quota, bytes per second; UNKNOWN: none")
    copy_lag_rounds: int = constant("a segment as old may be copied (KIP-1241); 0: at once, UNKNOWN: never because of its age")
    copy_lag_bytes: int = constant("likewise with so many bytes behind it")
    eligible_log_rounds: int = constant("who has so many rounds of the log itself is preferred as leader (KIP-1303); 0: none")
    eligible_log_bytes: int = constant("likewise so many bytes; 0: none")
    followers_serve: int = constant("1: T names followers to readers of their rack (KIP-392)")
    read_quota_bytes: int = constant("a broker's remote fetch quota, bytes per round; UNKNOWN: none")
    reader_threads: int = constant("remote.log.reader.threads")
    reader_queue: int = constant("remote.log.reader.max.pending.tasks")
    index_cache_bytes: int = constant("remote.log.index.file.cache.total.size.bytes")
    index_interval_bytes: int = constant("index.interval.bytes")


class WorkloadSpan(Record):
    """What is appended to a partition in each round from one on. A partition's last one is at FOREVER."""

    from_round: int = constant("its first round")
    pattern: int = constant("all batches of a round; UNKNOWN: none")
    unconditional: int = constant("those of acks 0 and 1, which a small ISR does not refuse; UNKNOWN: none")
    too_large: int = constant("records beside them that are above max.message.bytes")


class Pattern(Record):
    """The batches of one round, which a run of a log repeats."""

    records: int = constant("records of all its batches")
    size_bytes: int = constant("bytes of all its batches")
    record_bytes: int = constant("bytes of each record; UNKNOWN: they differ")
    first_batch: int = constant("place of its first batch")
    batch_count: int = constant("batches")
    unconditional_records: int = constant("records of its batches with acks 0 or 1")
    unacknowledged_records: int = constant("records of its batches with acks 0")


class Batch(Record):
    """A batch of a pattern."""

    end: int = constant("records of the pattern up to its end")
    end_bytes: int = constant("bytes likewise")
    acked_on_append: int = constant("1: acks is 0 or 1")
    unacknowledged: int = constant("1: acks is 0")


class Command(Record):
    """What an administrator does to a partition at the start of a round. A partition's last one is at FOREVER."""

    at_round: int = constant("round")
    kind: int = constant("PREFERRED_ELECTION, REASSIGN, DELETE_RECORDS or DELETE_TOPIC")
    offset: int = constant("delete_records: the new log start; -1: the high watermark")
    order: int = constant("reassign: the new replica list, an order of slots; 0: what is under way is cancelled")


class Inputs(NamedTuple):
    """What rounds read of a block's scenarios."""

    scenarios: Rows[ScenarioRow]
    rules: Rows[Rules]
    spans: Rows[BrokerSpan]
    links: Rows[Link]
    stale: np.ndarray
    settings: Rows[Settings]
    workload: Rows[WorkloadSpan]
    patterns: Rows[Pattern]
    batches: Rows[Batch]
    commands: Rows[Command]
    store: Rows[StoreSpan]
    transactions: Rows[Transaction]
    wants: Rows[Want]
