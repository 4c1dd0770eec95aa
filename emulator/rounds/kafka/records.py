"""The records of Kafka's roles: a partition and its replicas; what their lists hold is in list_records.py.

Offsets count records, `leo`, `hw` and `..._to` are exclusive ends. Slots are places in the partition's masks (rounds/slots.py).
T is the client leader: the replica elected last.
"""

from __future__ import annotations

from emulator.rounds.lists import List
from emulator.rounds.records import (
    Record,
    apart,
    aside,
    compared,
    constant,
    counter,
    due,
    part_aside,
    part_of,
    restarts,
    sample,
    scratch,
    total,
)


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
    highest_remote: int = aside("the last offset that it knows to be tiered, UNKNOWN: none")
    builds: int = compared("1: it builds the state before its next record, which is in remote storage, and does not fetch")
    truncating: int = compared("1: it has to ask where to cut its log before it fetches (KIP-101, KIP-279)")
    # Its log
    log_start: int = apart("log start offset")
    local_start: int = aside("first offset on its own disk; the log start but in topics that copy")
    leo: int = counter("log end offset")
    hw: int = counter("high watermark")
    log_bytes: int = counter("bytes of the log from offset 0 on")
    checkpoint: int = sample("high watermark on disk")
    flushed: int = sample("records below it survive a power loss")
    active_base: int = aside("base offset of the active segment")
    active_bytes: int = restarts("bytes in it")
    active_round: int = aside("round of its first chunk")
    quota_bytes: int = compared("bytes per round that shared budgets leave it until the next quota edge, UNKNOWN: any")
    credit_bytes: int = compared("allowance of slow links, slow disks and quotas left from the round before")
    credit_unsure: int = compared("1: under a quota that held nothing back it would have another credit")
    runs: List = part_of(List, "its records")
    epochs: List = part_of(List, "its leader epoch cache")
    segments: List = part_aside(List, "its closed segments, where they are kept")
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
    fetched_bytes: int = restarts("bytes fetched from the believed leader in this time bucket")
    produced_bytes: int = restarts("bytes appended as a leader in this time bucket")
    # What shared budgets are held against; all rounds up to the one at which it was looked at last
    lacked_bytes: int = scratch("most bytes that it lacked of T's log at a round's start; UNKNOWN: it never could ask")
    needed_bytes: int = scratch("the least quota that would have held none of its fetches back")
    most_fetched_bytes: int = scratch("most bytes that its fetches of a round brought")
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
    first_leader: int = constant("broker id of who leads at the start, NOBODY")
    tiered: int = constant("1: the topic has remote storage in some round")
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
    asked_in_vain: int = compared("1: the controller will refuse what is pending")
    isr_is_forced: int = compared("1: a cancelled reassignment left nobody of the ISR, and made it the first replica, away")
    leader_hw: int = counter("T's high watermark after step 6")
    epoch_start: int = compared("start of T's epoch; UNKNOWN: T was elected unawares")
    owes_from: int = compared("start of the epoch in which T's broker began to lead: it owes answers since; UNKNOWN likewise")
    owes_in_run: int = compared("likewise, without the initial log")
    committed_before: int = compared("highest high watermark of the leaders before T; 0 after an unclean election")
    # T's leadership
    lead_broker: int = compared("T's broker id")
    lead_epoch: int = compared("T's epoch")
    lead_round: int = compared("round of T's election, BEFORE_THE_RUN")
    lead_cause: int = compared("fault behind it")
    lead_unclean: int = compared("1: it was elected uncleanly")
    lead_runs: int = compared("1: it ran when it was elected")
    lead_log_start: int = compared("its log start then")
    lead_acked_before: int = compared("up to there the initial log was acknowledged")
    lead_hw: int = counter("high watermark that it reached")
    lead_deleted_to: int = aside("up to there delete_records and retention took records from its log, 0: none")
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
    # What producers could not send, as budgets of T's broker held it back
    produce_quota_bytes: int = compared("bytes a round that they may append until the next quota edge, UNKNOWN: any")
    produce_credit_bytes: int = compared("of that, what is left from the round before")
    waiting_rounds: int = compared("rounds whose records wait, this one's last")
    waiting_workload: int = compared("place of the workload of the oldest")
    expired_bytes: int = compared("bytes that they gave up in this time bucket, as they waited for delivery.timeout.ms")
    expired_to: int = compared("highest log start of any leader so far, where remote storage is: what lies below may be gone")
    # What all leaderships before T's acknowledged and committed
    acked: List = part_of(List, "ranges, disjoint, by epoch and offset; those with acks=0 are in them")
    committed: List = part_of(List, "likewise")
    acked_for_all: List = part_of(List, "likewise, committed by the leader that had appended them")
    sent: List = part_of(List, "stretches of records with acks=0, by epoch and offset, without the latest")
    # Outcomes
    appended: int = counter("records appended by leaders")
    acked_records: int = compared("records acknowledged by the leaderships before T's, those with acks=0 among them")
    sent_unacknowledged: int = counter("records with acks=0 that leaders appended")
    refused: int = counter("records refused")
    given_up_records: int = counter("records that producers gave up, as they waited for delivery.timeout.ms")
    truncated: int = compared("records cut")
    replicated_bytes: int = counter("bytes fetched by followers")
    local_deleted_bytes: int = aside("bytes that retention took from disks")
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
    quiet_until: int = scratch("rounds before this one are quiet, and what followers lack stays the same; set where it is played")
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
