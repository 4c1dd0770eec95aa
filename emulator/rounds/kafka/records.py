"""The records of Kafka's round: a partition and its replicas, what their lists hold, what they read, what they tell.

Offsets count records, `leo`, `hw` and `..._to` are exclusive ends. Slots are places in the partition's masks (rounds/slots.py).
T is the client leader: the replica elected last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emulator.rounds.kafka.event_kinds import EVENT_KINDS
from emulator.rounds.kafka.reading.records import Want
from emulator.rounds.kafka.tier.records import (
    Chosen,
    Known,
    KnownState,
    Pin,
    Reach,
    RemoteEvent,
    RemoteSegment,
    StartedCopy,
    StoreSpan,
    TierPartition,
    TierReplica,
    Transaction,
)
from emulator.rounds.lists import List
from emulator.rounds.records import (
    Record,
    Rows,
    apart,
    compared,
    constant,
    counter,
    due,
    part_apart,
    part_of,
    sample,
    scratch,
    total,
)

NOBODY = -1
"""No leader, no slot."""
NO_EPOCH = -1
UNKNOWN = -1
"""A remote LEO that was not heard in this epoch; an offset that is not there."""
NEVER = -(1 << 40)
"""A round long before the run."""
FOREVER = 1 << 40
"""A round long after it."""
BEFORE_THE_RUN = -1
"""The round of what was there at the start."""

# What the faults say of a broker in a round (docs/kafka_rounds.md): bits of `status`.
OFFLINE, PAUSED, ISOLATED, WAKING, FENCED, RETURNING, RESTARTED, UNCLEAN_RESTART = (1 << bit for bit in range(8))
CLEAN_STOP, POWER_LOSS, DISK_LOSS, CLIENTS_CUT, STALE, STALE_BEFORE, CONTROLLER_DOWN = (1 << bit for bit in range(8, 15))
NOT_RUNNING = OFFLINE | PAUSED
OUT_OF_TOUCH = OFFLINE | PAUSED | ISOLATED
DEAF = OUT_OF_TOUCH | STALE
UNTOLD = DEAF | WAKING | STALE_BEFORE
CHANGES_LOG = RESTARTED | CLEAN_STOP | POWER_LOSS | DISK_LOSS

NOT_COVERED, NO_NEWS = -2, -1
"""In the table of stale_metadata: the fault is not about the partition; it lets nothing through. Else: lag in rounds."""

# Answers to a fetch
NO_ANSWER, DATA, DIVERGING, BELOW_LOG_START, ABOVE_LEO, EPOCH_END, OUT_OF_ORDER, NO_END, MOVED = range(9)

FETCH_STATES = (
    "", "unanswered", "asked", "out_of_order", "truncated", "fetched", "out_of_range", "empty",
    "moved_to_tiered_storage", "building_remote_log_aux", "aux_state_built",
)  # fmt: skip
(
    NOT_SENT, UNANSWERED, ASKED, UNORDERED, TRUNCATED, FETCHED, OUT_OF_RANGE, EMPTY,
    MOVED_AWAY, BUILDING, BUILT,
) = range(len(FETCH_STATES))  # fmt: skip
"""What became of a fetch: `fetch_state` of the trace, a place in FETCH_STATES."""

# Kinds of events
(
    ELECTION, UNCLEAN_ELECTION, LEADER_LOST, ISR_SHRINK, ISR_EXPAND, TRUNCATE, REFUSED, SEGMENT_ROLL,
    RECORDS_DELETED, LOG_DAMAGED, REASSIGNMENT_COMPLETED, ACKED_LOST, COMMITTED_LOST, LOCAL_DELETE,
    COPY_STARTED_EVENT, COPY_FINISHED_EVENT, COPY_FAILED_EVENT, REMOTE_DELETE, AUX_STATE_BUILT, TOPIC_DELETED,
    UNACKNOWLEDGED_LOST,
) = range(len(EVENT_KINDS))  # fmt: skip

NO_STRATEGY, BALANCED, AGGRESSIVE = range(3)
"""unclean.recovery.strategy"""

ACKS_ALL, ACKS_LEADER, ACKS_NONE = range(3)
"""acks of a workload row: all, 1 and 0."""

PREFERRED_ELECTION, REASSIGN, DELETE_RECORDS, DELETE_TOPIC = range(4)
"""Kinds of commands."""


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
    fetch_bytes_per_second: int = constant("what a fetch brings beyond that")
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
    isr_check_rounds: int = constant("rounds between two looks for who has fallen behind")
    fetch_max_bytes: int = constant("replica.fetch.max.bytes")
    response_max_bytes: int = constant("replica.fetch.response.max.bytes")
    no_wait: int = constant("1: replica.fetch.wait.max.ms is 0")
    checkpoint_rounds: int = constant("rounds between two checkpoints of the high watermark")
    rebalance_rounds: int = constant("rounds between two automatic preferred elections; 0: there are none")
    segment_bytes: int = constant("segment.bytes")
    segment_rounds: int = constant("segment.ms in rounds")
    flush_messages: int = constant("flush.messages; 0: none")
    flush_rounds: int = constant("flush.ms in rounds; 0: none")
    clears_elr: int = constant("1: min.insync.replicas is altered in this round")
    retention_check_rounds: int = constant("rounds between two looks for segments to delete")
    local_retention_rounds: int = constant("a segment whose newest record is older goes from the disk; UNKNOWN: never")
    local_retention_bytes: int = constant("bytes of the log above which segments go from the disk; UNKNOWN: never")
    tiered: int = constant("1: the topic has remote storage")
    copies: int = constant("1: its segments are copied")
    retention_rounds: int = constant("a segment as old goes from remote storage; UNKNOWN: never")
    retention_bytes: int = constant("bytes of the whole log above which segments go for good; UNKNOWN: never")
    task_rounds: int = constant("rounds from the end of a task of the remote log manager to its next run")
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
    order: int = constant("reassign: the new replica list, an order of slots")


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


class Run(Record):
    """Records of a log that repeat a pattern in one epoch; it ends where the next one starts, the last at the LEO."""

    start_offset: int = constant("its first offset")
    epoch: int = constant("leader epoch of its records")
    pattern: int = constant("place of its pattern")
    phase: int = constant("records of the pattern before its first one")
    start_bytes: int = constant("bytes of the log below it, from offset 0 on")
    first_round: int = constant("round in which its first record was appended; -1: before the run")


class Segment(Record):
    """A closed segment on a replica's disk; it ends where the next one starts, the last at the active one's base."""

    base_offset: int = constant("its first offset")
    size_bytes: int = constant("bytes in it, those of records below the log start included")
    first_round: int = constant("round of its first chunk")
    newest_round: int = constant("round in which its newest record was appended by a leader; UNKNOWN: it is empty")


class EpochEntry(Record):
    """An entry of a leader epoch cache (LeaderEpochFileCache); both fields rise strictly."""

    epoch: int = constant("leader epoch")
    start_offset: int = constant("its first offset")


class RecordRange(Record):
    """Records of one epoch."""

    epoch: int = constant("leader epoch")
    from_offset: int = constant("first")
    to_offset: int = constant("end, exclusive")


class Sent(Record):
    """Records with acks=0 that a leader appended one after the other, or with others between them that its pattern has."""

    epoch: int = constant("leader epoch")
    from_offset: int = constant("first")
    to_offset: int = constant("end, exclusive")
    pattern: int = constant("place of the pattern that they repeat from its first record on; UNKNOWN: all have acks=0")


class News(Record):
    """What the controller held at the end of a round, and until the next entry."""

    at_round: int = constant("round")
    leader: int = constant("slot")
    epoch: int = constant("leader epoch")


class Replica(Record):
    """A replica: its broker, what it believes, its log, and what T knows of it."""

    broker: int = constant("broker id")
    broker_place: int = constant("place of the broker among the scenario's")
    rack: int = constant("number of its rack; negative without one")
    # What is in force of its broker
    span: int = compared("place in Inputs.spans of what is in force")
    status: int = compared("bits")
    cause: int = compared("fault_id")
    cuts: int = compared("mask of slots that its messages do not reach")
    slow_to: int = compared("mask of slots to which its messages are slow")
    far_to: int = compared("mask of slots to which the way has a round trip of its own")
    disk_bytes: int = compared("bytes per round of a slow disk, UNKNOWN: not slow")
    fetch_max_bytes: int = compared("its own, UNKNOWN: as all")
    response_max_bytes: int = compared("likewise")
    no_wait: int = compared("its own, UNKNOWN: as all")
    news_lag: int = compared("rounds by which news come late; NOT_COVERED: at once, NO_NEWS: never")
    # What it believes
    believed_leader: int = compared("slot, NOBODY: none, or it is no replica")
    believed_epoch: int = compared("leader epoch")
    leading_epoch: int = compared("the epoch that it knows it leads in, NO_EPOCH: it follows")
    highest_remote: int = apart("the last offset that it knows to be tiered, UNKNOWN: none")
    builds: int = compared("1: it builds the state before its next record, which is in remote storage, and does not fetch")
    truncating: int = compared("1: it has to ask where to cut its log before it fetches (KIP-101, KIP-279)")
    # Its log
    log_start: int = apart("log start offset")
    local_start: int = apart("first offset on its own disk; the log start but in topics that copy")
    leo: int = counter("log end offset")
    hw: int = counter("high watermark")
    log_bytes: int = counter("bytes of the log from offset 0 on")
    checkpoint: int = sample("high watermark on disk")
    flushed: int = sample("records below it survive a power loss")
    active_base: int = apart("base offset of the active segment")
    active_bytes: int = counter("bytes in it")
    active_round: int = apart("round of its first chunk")
    quota_bytes: int = compared("bytes per round that shared budgets leave it until the next quota edge, UNKNOWN: any")
    credit_bytes: int = compared("allowance of slow links, slow disks and quotas left from the round before")
    credit_unsure: int = compared("1: under a quota that held nothing back it would have another credit")
    runs: List = part_of(List, "its records")
    epochs: List = part_of(List, "its leader epoch cache")
    segments: List = part_apart(List, "its closed segments, where they are kept")
    # What T knows of it
    remote_leo: int = counter("fetch offset that T noted last, UNKNOWN: not heard in this epoch")
    in_line: int = compared("1: T noted a fetch of it in this epoch")
    caught_up: int = counter("round in which it was last caught up, NEVER")
    noted_round: int = counter("round of the last noted fetch, NEVER")
    noted_leader_leo: int = counter("T's LEO at that fetch, UNKNOWN")
    # What it answered a controller that looks for a leader (KIP-966)
    recovery_epoch: int = compared("last epoch of its cache")
    recovery_leo: int = compared("its LEO, UNKNOWN: it was not asked or did not answer")
    # A response that a mutant takes late
    late_leader: int = compared("slot of who sent it, NOBODY: there is none")
    late_offset: int = compared("offset asked for")
    late_end: int = compared("end of what it brings")
    late_hw: int = compared("the leader's high watermark")
    late_bytes: int = compared("bytes of it")
    late_runs: List = part_of(List, "its records")
    # Invariants
    unlike_from: int = compared("first offset at which its log is not T's, UNKNOWN: there is none")
    alike_again: int = compared("first offset above it where both have the same epoch, UNKNOWN: there is none")
    epochs_fall: int = compared("1: a record has a lower epoch than one before it")
    impaired: int = compared("1: it lost records to a fault and lacks some below the high watermark since")
    damaged_round: int = compared("round in which it first lost records to a fault, FOREVER: it did not")
    broken: int = compared("mask of invariants that do not hold")
    tier_broken: int = compared("those of remote storage among them")
    compares: int = compared("1: its log may be another than T's since this round")
    # Outcomes
    fetched_bytes: int = counter("bytes fetched from the believed leader in this time bucket")
    produced_bytes: int = counter("bytes appended as a leader in this time bucket")
    # What shared budgets are held against; all rounds up to the one at which it was looked at last
    lacked_bytes: int = scratch("most bytes that it lacked of T's log at a round's start; UNKNOWN: it never could ask")
    needed_bytes: int = scratch("the least quota that would have held none of its fetches back")
    # Of one round
    hw_at_start: int = scratch("high watermark after inputs")
    answer: int = scratch("what its fetch is answered")
    answer_leader: int = scratch("slot of who answers")
    answer_is_t: int = scratch("1: who answers is T, in its epoch")
    answer_epoch: int = scratch("of a diverging answer, and of an answered question")
    answer_end: int = scratch("end offset of that epoch; UNKNOWN: undefined")
    fetch_epoch: int = scratch("leader epoch it believed in when it fetched")
    fetch_state: int = scratch("what became of its fetch")
    superseded_epoch: int = scratch("the epoch that it leads in, of a superseded leader")
    damaged_from: int = scratch("records [from, to) that a fault took; UNKNOWN: none")
    damaged_to: int = scratch("their end")
    local_bytes: int = scratch("bytes of its log; set at the run's end")
    end_epoch: int = scratch("what T's epoch cache says of its last epoch: the epoch, NO_EPOCH: nothing; set where it stops")
    end_offset: int = scratch("the offset where that one ends; likewise")


class Partition(Record):
    """A partition: the controller's view, T's, and outcomes."""

    number: int = constant("partition_id within its scenario")
    place: int = constant("its place in the block")
    scenario: int = constant("place of its scenario")
    slots: int = constant("replicas ever, its slots")
    first_replica: int = constant("place of slot 0 among the block's replicas")
    stale_class: int = constant("column of the table of stale_metadata")
    traced: int = constant("1: every round of it is traced")
    first_acks_all: int = constant("0: what it starts with was acknowledged on append")
    tiered: int = constant("1: the topic has remote storage in some round")
    store: int = constant("place of its first store span")
    keeps_segments: int = constant("1: closed segments are kept, for something may delete one; else a cut starts an empty one")
    end: int = constant("round at which to stop")
    # What is in force
    now: int = counter("round")
    next_change: int = due("the next round in which an input changes")
    settings: int = compared("place of the settings in force")
    workload: int = compared("place of the workload in force")
    command: int = compared("place of the first command still to come")
    commands_now: int = compared("commands of this round, the last ones before `command`")
    controller_down: int = compared("1: there is no controller")
    unfenced: int = compared("mask")
    returning: int = compared("mask of brokers that are fenced and unfenced in this round")
    # The controller's view
    leader: int = compared("slot, NOBODY")
    epoch: int = compared("leader epoch")
    isr: int = compared("mask")
    elr: int = compared("mask of eligible leader replicas")
    last_known_elr: int = compared("mask")
    assigned: int = compared("mask of replicas, those being added included")
    order: int = compared("replica list, an order of slots")
    target: int = compared("replica list to come, 0: none")
    adding: int = compared("mask of replicas that a reassignment adds")
    deleted: int = compared("1: the topic was deleted")
    has_enough: int = compared("mask of who has enough of the log itself, as it reported last (KIP-1303)")
    news: List = part_of(List, "what the controller announced, for those who learn of it late")
    # T's view
    client_leader: int = compared("slot of T, NOBODY: there never was a leader")
    client_epoch: int = compared("epoch T was elected with")
    known_isr: int = compared("mask of the ISR that T knows")
    pending_joins: int = compared("mask of joins not confirmed")
    pending_shrinks: int = compared("mask of shrinks not confirmed")
    leader_hw: int = counter("T's high watermark after step 6")
    epoch_start: int = compared("start of T's epoch; UNKNOWN: T was elected unawares")
    committed_before: int = compared("highest high watermark of the leaders before T; 0 after an unclean election")
    # T's leadership
    lead_broker: int = compared("T's broker id")
    lead_epoch: int = compared("T's epoch")
    lead_round: int = compared("round of T's election, BEFORE_THE_RUN")
    lead_cause: int = compared("fault behind it")
    lead_unclean: int = compared("1: it was elected uncleanly")
    lead_runs: int = compared("1: it ran when it was elected")
    lead_leo: int = compared("its LEO then")
    lead_log_start: int = compared("its log start then")
    lead_acked_before: int = compared("up to there the initial log was acknowledged")
    lead_hw: int = counter("high watermark that it reached")
    lead_deleted_to: int = apart("up to there delete_records and retention took records from its disk, 0: none")
    lead_entries: List = part_of(List, "the records it began with, as ranges")
    acked_from: int = compared("latest range acknowledged on append (acks 0, 1) in it")
    acked_to: int = counter("its end")
    acked_ranges: List = part_of(List, "earlier such ranges above the high watermark")
    sent_from: int = compared("latest stretch of records with acks=0 in it (Sent)")
    sent_to: int = counter("its end")
    sent_pattern: int = compared("its pattern")
    missing: List = part_of(List, "committed records that it lacked when it was elected, though no rule gave them up")
    missing_suspect: int = compared("1: that is suspect, for as many replicas lost records as may lose what is committed")
    unclean_epoch: int = compared("epoch of the last unclean election, 0: there was none")
    lossy_epoch: int = compared("epoch of the last election of a replica that lacked what a fault had taken, 0: none")
    given_up: List = part_of(List, "committed records that those leaders lacked")
    expired_to: int = compared("highest log start of any leader so far, where remote storage is: what lies below may be gone")
    # What all leaderships before T's acknowledged and committed
    acked: List = part_of(List, "ranges, disjoint, by epoch and offset; those with acks=0 are in them")
    committed: List = part_of(List, "likewise")
    acked_for_all: List = part_of(List, "likewise, committed in the leader's own epoch")
    sent: List = part_of(List, "stretches of records with acks=0, by epoch and offset, without the latest")
    # Outcomes
    appended: int = counter("records appended by leaders")
    acked_records: int = compared("records acknowledged by the leaderships before T's, those with acks=0 among them")
    sent_unacknowledged: int = counter("records with acks=0 that leaders appended")
    refused: int = counter("records refused")
    truncated: int = compared("records cut")
    replicated_bytes: int = counter("bytes fetched by followers")
    local_deleted_bytes: int = apart("bytes that retention took from disks")
    elections: int = compared("elections of a leader")
    unclean_elections: int = compared("unclean ones")
    leaderless_rounds: int = counter("rounds without a serving leader")
    under_min_isr_rounds: int = counter("rounds with |ISR| < min.insync.replicas")
    under_replicated_rounds: int = counter("rounds with |ISR| < |replicas|")
    unwritable_rounds: int = counter("rounds in which something waited and nothing was acknowledged")
    unacked: int = counter("records that wait for their acknowledgement")
    unacked_rounds: int = total("sum of `unacked` at the ends of all rounds")
    isr_shrinks: int = compared("removals from the ISR")
    isr_expands: int = compared("additions to the ISR")
    refusing: int = compared("records that T refuses in each round now")
    refusing_slot: int = compared("slot of who refuses")
    refusing_round: int = compared("since when")
    refusing_epoch: int = compared("T's epoch then")
    refusing_leo: int = compared("its LEO then")
    acked_total: int = compared("records acknowledged in the whole run, of those appended in it; set at its end")
    acked_lost: int = compared("records ever acknowledged that the last leader's log lacks; set at the run's end")
    unacknowledged_lost: int = compared("records with acks=0 likewise; set at the run's end")
    committed_lost: int = compared("records ever committed likewise; set at the run's end")
    end_leo: int = compared("LEO of the leader, or of the last one; set at the run's end")
    end_hw: int = compared("its high watermark; set at the run's end")
    violations: int = compared("violations of invariants, suspects aside")
    played: int = scratch("rounds that were not leapt over")
    # Of one round
    adds_replicas: int = scratch("mask of replicas that a command of this round adds")
    accepted: int = scratch("records appended")
    acked_on_append: int = scratch("of these, with acks 0 or 1")
    noted: int = scratch("mask of followers that T noted")
    leader_at_start: int = scratch("the controller's leader before this round's election")
    epoch_at_start: int = scratch("its epoch")
    superseded: int = scratch("mask of running replicas that think they lead and are not T in its epoch, before the news")
    fenced_out: int = scratch("mask of who left the ISR by fencing")
    joined: int = scratch("mask of who joined it")
    lagged_out: int = scratch("mask of who left it by lagging")
    size_joined: int = scratch("|ISR| with this round's joins")
    size_shrunk: int = scratch("|ISR| without this round's shrinks")
    hw_limit: int = scratch("what the maximal ISR has, joins included")
    held: int = scratch("mask of whom T's high watermark waits for after the shrinks, itself included; 0: T was not ready")
    hw_before: int = scratch("T's high watermark before it advanced")


class Event(Record):
    """A row of `events`."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    kind: int = constant("place in EVENT_KINDS")
    broker: int = constant("broker id, -1: none")
    leader_epoch: int = constant("UNKNOWN: null")
    from_offset: int = constant("UNKNOWN: null")
    to_offset: int = constant("UNKNOWN: null")
    cause: int = constant("fault_id, -1: null")
    records: int = constant("records concerned; UNKNOWN: null")


class TraceRow(Record):
    """A row of `trace`: a replica at the end of a round."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    broker: int = constant("broker id")
    role: int = constant("0: follower, 1: leader, 2: offline")
    leader_epoch: int = constant("believed in")
    log_start: int = constant("offset")
    leo: int = constant("offset")
    hw: int = constant("offset")
    remote_leo: int = constant("UNKNOWN: null")
    in_isr: int = constant("0 or 1")
    fetch_state: int = constant("place in FETCH_STATES, 0: null")
    epochs: int = constant("entries of its epoch cache, in Told.trace_epochs")
    local_start: int = constant("offset")
    local_bytes: int = constant("bytes on its disk; UNKNOWN: segments are not kept")
    highest_remote: int = constant("the last offset that it knows to be tiered")
    tiered: int = constant("1: remote storage is on")
    newest_offset: int = constant("of a leader: the first record on its disk of the newest round; UNKNOWN: there is none")
    segments: int = constant("segments on its disk, in Told.trace_segments; 0: they are not kept")


class PartitionTraceRow(Record):
    """A row of `trace_partitions`."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    leader: int = constant("slot")
    leader_epoch: int = constant("")
    isr: int = constant("mask")
    elr: int = constant("mask")
    last_known_elr: int = constant("mask")


class Violation(Record):
    """An invariant that broke: a witness."""

    partition: int = constant("place of the partition in the block")
    at_round: int = constant("round")
    invariant: int = constant("place in invariants.NAMES")
    cause: int = constant("fault_id, -1: null")
    broker: int = constant("broker id of the witness")
    leader: int = constant("broker id of the leader it is held against, -1: none")
    leader_epoch: int = constant("")
    leader_leo: int = constant("")
    leader_hw: int = constant("")
    leo: int = constant("")
    hw: int = constant("")
    agreed_to: int = constant("both logs are alike below it")
    from_offset: int = constant("of elections: records that are lacking")
    to_offset: int = constant("")
    records_epoch: int = constant("their epoch")
    heard_round: int = constant("at the end: round of its last fetch")
    epochs: int = constant("entries of its epoch cache, in Told.witness_epochs")
    leader_epochs: int = constant("entries of the leader's, behind those")
    group: int = constant("of reads: number of the group among the scenario's, -1 of others")
    is_suspect: int = constant("1: something excuses it for which no rule of the real system is known")


class Traffic(Record):
    """What a broker carried in a time bucket, and how it stood at its end."""

    bytes_in: int = counter("bytes fetched by it")
    bytes_produced: int = counter("bytes produced to it")
    bytes_out: int = counter("bytes fetched from it")
    cross_rack_bytes_out: int = counter("of these, by brokers of other racks")
    leader_count: int = counter("partitions that it leads at the end")
    follower_count: int = counter("partitions that it follows at the end")
    local_bytes: int = counter("bytes of its logs at the end")


class Spans(Record):
    """How far the arrays of outputs are filled."""

    events: List = part_of(List, "rows of events")
    trace_rows: List = part_of(List, "rows of trace")
    trace_epochs: List = part_of(List, "epoch caches of traced rows, one after the other")
    trace_segments: List = part_of(List, "segments of traced rows, one after the other")
    trace_partitions: List = part_of(List, "rows of trace_partitions")
    violations: List = part_of(List, "rows of violations")
    witness_epochs: List = part_of(List, "epoch caches of witnesses, one after the other")
    held: List = part_of(List, "in Lists.work: records that a leader held")
    lost: List = part_of(List, "in Lists.work: records that are lost")
    expired: List = part_of(List, "in Lists.expired: remote segments that go")
    reads: List = part_of(List, "in ReaderLists.reads: remote reads of this round")
    unread: List = part_of(List, "in ReaderLists.unread: rows of unread")


class Lists(NamedTuple):
    """Scratch arrays that hold one partition's lists, and the arrays that a block writes to."""

    runs: Rows[Run]
    epochs: Rows[EpochEntry]
    segments: Rows[Segment]
    ranges: Rows[RecordRange]
    sent: Rows[Sent]
    news: Rows[News]
    work: Rows[RecordRange]
    events: Rows[Event]
    trace: Rows[TraceRow]
    trace_epochs: Rows[EpochEntry]
    trace_segments: Rows[Segment]
    trace_partitions: Rows[PartitionTraceRow]
    violations: Rows[Violation]
    witness_epochs: Rows[EpochEntry]
    traffic: Rows[Traffic]
    filled: Rows[Spans]


class TierLists(NamedTuple):
    """Scratch arrays of what one partition has of tiered storage; without it none has any room."""

    whole: Rows[TierPartition]
    replicas: Rows[TierReplica]
    remote: Rows[RemoteSegment]
    remote_epochs: Rows[EpochEntry]
    remote_events: Rows[RemoteEvent]
    pins: Rows[Pin]
    starts: Rows[StartedCopy]
    aux_epochs: Rows[EpochEntry]
    known: Rows[Known]
    known_states: Rows[KnownState]
    reaches: Rows[Reach]
    expired: Rows[Chosen]
