"""The records of quorums' rounds: a group, its servers and leaderships, what logs hold, what rounds tell.

`slot`: the place of a server in the replica list, and its bit in masks. `..._to` and `end` are exclusive ends. A *leadership* is
one leader in one term; an entry is known by its number and the leadership in which it was appended.
"""

from __future__ import annotations

from typing import NamedTuple

from emulator.rounds.lists import List
from emulator.rounds.records import Record, Rows, compared, constant, counter, part_of, sample, scratch, total


class Run(Record):
    """Entries of a log from one leadership; they end where the next run starts, or the log does."""

    first_entry: int = constant("first entry")
    leadership: int = constant("number of the leadership that appended them")
    term: int = constant("its term")


class Leadership(Record):
    """A server that leads, or led, in a term. Its place in the list is its number."""

    term: int = constant("term")
    slot: int = constant("who")
    first_entry: int = constant("its first entry")
    first_record: int = constant("its first entry that is a record: one more where a leader begins with an empty entry")
    cause: int = constant("fault behind its election")
    committed_to: int = counter("its entries below are committed")
    acked_to: int = counter("its records below were acknowledged by itself")
    known_to: int = compared("committed_to when a leader was last elected")
    had_from: int = compared("its first entry in the log of the leader elected last")
    had_to: int = compared("the end of its entries there")


class Configuration(Record):
    """Raft, KRaft: an entry that says who the members are; of a joint one who they were, and who they are to be."""

    leadership: int = constant("number of the leadership that appended it")
    entry: int = constant("its entry")
    before: int = constant("mask of the members until then, of a joint one; else as members")
    members: int = constant("mask of the members")
    is_committed: int = compared("1: a leader committed it, and it was told")


class Peer(Record):
    """What a leader knows of another server: rows leader x server."""

    next_entry: int = counter("next entry to send")
    match_to: int = counter("their logs agree below")
    answered_round: int = counter("round in which it answered last")
    joined_round: int = counter("Zab: round in which it acknowledged the leader's epoch, NEVER")
    catch_up_to: int = counter("Raft: end that a new server has to get to in its present catch-up; KRaft: at its last fetch")
    catch_up_from: int = compared("round in which that began")
    caught_up: int = compared("KRaft: 1: a new server has once fetched from where the log ended at its fetch before")
    in_sync: int = compared("Zab: 1: it has answered NEWLEADER; HDFS: OUT_OF_SYNC, IN_SYNC or WAITING")
    took: int = counter("HDFS: end of the edits that it has taken; above match_to its answer is late")
    delay: int = compared("rounds that a request to it takes with its answer, before what is drawn")


class Message(Record):
    """A request under way from a leader to another server; to itself: what waits for its own disk. KRaft: a follower's fetch."""

    sender: int = compared("slot of who sent it")
    receiver: int = compared("of who gets it")
    leadership: int = compared("number of the leadership in which it was sent, NOBODY: a fetch")
    epoch: int = compared("the sender's term when it was sent")
    given_up: int = compared("1: its sender waits for no answer any more")
    sent_round: int = counter("round in which it was sent")
    arrives: int = counter("round in which it arrives and is answered")
    previous: int = counter("its first entry: the end of what comes before")
    to_entry: int = counter("end of its entries; of a fetch that of its sender's log")
    commit: int = counter("the sender's commit")


class Appends(Record):
    """Records of a leadership, the same number a round from a round on; up to the next of this leadership, or its last record."""

    leadership: int = constant("number of the leadership")
    first_entry: int = constant("its first entry")
    at_round: int = constant("round in which that was appended")
    records: int = constant("records a round")


class Latency(Record):
    """How many records were acknowledged so many rounds after they were appended."""

    rounds: int = constant("rounds, or the least of a bucket")
    records: int = counter("so many")


class Server(Record):
    """A replica of the group."""

    broker: int = constant("its id")
    place: int = constant("its place among the scenario's brokers")
    span: int = compared("place of what is in force of the faults on it")
    status: int = compared("bits")
    cause: int = compared("fault behind what happens to it")
    island: int = compared("number of the rack with which it is isolated, if nothing else isolates it, NO_ISLAND")
    cut_to: int = compared("mask of servers that its messages don't reach, for links that are cut")
    # On its disk
    term: int = compared("term")
    voted_for: int = compared("slot of who has its vote in this term, of the primary of its configuration, NOBODY")
    members: int = compared("PacificA: mask of the configuration that it knows; `term` is its version")
    log_term: int = compared("Zab: epoch of the last NEWLEADER that it took, HDFS: of its last writer; `term`: the last promised")
    segment: int = compared("HDFS: first entry of its last segment")
    finalized: int = compared("HDFS: 1: that is closed for good")
    accepted: int = compared("HDFS: epoch in which it accepted a recovery of it, 0")
    end: int = counter("end of its log")
    flushed_to: int = sample("entries below are on disk")
    runs: List = part_of(List, "its log")
    # In memory
    role: int = compared("FOLLOWER, CANDIDATE or LEADER")
    leader: int = compared(
        "Zab, KRaft: slot of whom it follows, its own if it leads, NOBODY: it knows none; of KRaft on its disk; "
        "HDFS: of the writer that has a segment open here"
    )
    leadership: int = compared("number of the leadership in which it leads, or led last, NOBODY")
    commit: int = counter("entries below are committed, as it knows")
    stage: int = compared("HDFS: the call with which a new writer goes on")
    chosen: int = compared("HDFS: slot of whom it recovers the last segment from")
    segment_round: int = compared("HDFS: round in which the segment that it writes began")
    waited_round: int = counter("HDFS: round since which it has waited for a majority to have its edits")
    joining: int = compared("PacificA: mask of candidates that commits wait for; Raft: of new servers that are no members yet")
    hands_over: int = compared("Raft: 1: it hands over to server 0, and takes no records")
    transfer_round: int = compared("Raft: round in which that began")
    told_term: int = compared("Raft: term of the leader that told it to stand at once, 0")
    heard_round: int = counter("round in which its timer began anew")
    heard_leader: int = counter("round in which it heard from a leader, NEVER")
    stood: int = compared("how often it has stood for election")
    # Of its failover controller
    has_ended: int = compared("HDFS: 1: it stopped as a writer since it got the lock")
    lock_round: int = compared("HDFS: round in which it got the lock")
    to_fence: int = compared("HDFS: slot of whom it has to fence, NOBODY: it has done with that")
    fence_rounds: int = compared("HDFS: rounds for which it waits for a sign of that one")
    # Of one round
    puts_off: int = scratch("HDFS: 1: it has put its next segment off")
    is_told: int = scratch("Raft: 1: it stands since a leader told it to")
    asked_term: int = scratch("term for which it stands in this round, 0")
    changes: int = scratch("VR: mask of whose DOVIEWCHANGE it has")
    votes: int = scratch("mask of who votes for it")
    checked_commit: int = scratch("its commit at the last look at StateMachineSafety")


class Group(Record):
    """A partition under a protocol of quorums."""

    number: int = constant("partition_id within its scenario")
    place: int = constant("its place in the block")
    scenario: int = constant("place of its scenario")
    settings: int = constant("place of its settings")
    protocol: int = constant("QUORUM, RAFT, ...")
    copies: int = constant("N, its servers")
    acks: int = constant("servers that must have a record, the leader among them, if its members stay those of the start")
    workload_records: int = constant("records of its workload in all")
    workload_bytes: int = constant("their bytes")
    queue_limit: int = constant("HDFS: dfs.qjournal.queued-edits.limit.mb: entries that a node's queue holds")
    first_server: int = constant("place of its first server in the block")
    first_peer: int = constant("place of its first Peer in the block")
    end: int = constant("round at which to stop")
    initial: int = constant("Raft: mask of the servers that are members at the start; else all")
    changes: int = constant("Raft: 1: other members are asked for some time")
    # What is in force
    now: int = counter("round")
    next_change: int = compared("the next round in which an input changes")
    workload: int = compared("place of the workload in force")
    wanted: int = compared("Raft: place of the members that are asked for")
    elector_span: int = compared("place of what is in force of the elector")
    elector_up: int = compared("1: the elector is there")
    elector_heard: int = counter("round in which the elector heard the leader last")
    version: int = compared("PacificA: of the configuration in force, as the manager has it")
    members: int = compared("mask of its replicas")
    primary: int = compared("slot of its primary; HDFS: of who is to write")
    high_watermark: int = counter("KRaft: the highest one that a leader had")
    leaderships: List = part_of(List, "in the order of their elections")
    configurations: List = part_of(List, "Raft: in the order in which they were appended")
    messages: List = part_of(List, "requests under way, in the order in which they were sent")
    appends: List = part_of(List, "when records were appended, in that order")
    latencies: List = part_of(List, "how long they waited to be acknowledged")
    damaged: int = compared("1: a disk lost entries, a term or a vote")
    served: int = compared("slot of the leader that clients reached at the end of the last round, NOBODY")
    log_changes: int = compared("changes of all logs' runs when LogMatching was last looked at")
    broken: int = compared("mask of invariants that did not hold and still may not")
    # Outcomes
    appended: int = counter("records appended by any leader")
    acked: int = counter("records acknowledged")
    refused: int = counter("records that a leader's disk had no time for")
    truncated: int = compared("entries cut from logs, summed over servers")
    elections: int = compared("elections")
    campaigns: int = compared("servers that stood and were not elected")
    leaderless_rounds: int = counter("rounds whose end finds no leader that clients reach")
    unwritable_rounds: int = counter("rounds with something to write in which nothing was acknowledged")
    unacked: int = counter("records that wait to be acknowledged")
    unacked_rounds: int = total("sum of `unacked` at the ends of all rounds")
    isr_shrinks: int = compared("replicas that left a configuration")
    isr_expands: int = compared("replicas that joined one")
    under_replicated_rounds: int = counter("rounds whose end finds a configuration without some server")
    sent_entries: int = counter("entries that leaders sent to others, and that got there")
    # Of one round
    acked_before: int = scratch("acked at its start")
    sent_records: int = scratch("records that clients had to send")
    # At the run's end
    acked_lost: int = scratch("acknowledged records that the last leader's log lacks")
    committed_lost: int = scratch("committed records that it lacks")
    voters: int = scratch("Raft: mask of the members as the last leader's log has them")


class Event(Record):
    """A row of `events`."""

    group: int = constant("place of the group in the block")
    at_round: int = constant("round")
    kind: int = constant("place in EVENT_KINDS")
    broker: int = constant("broker id, NOBODY")
    term: int = constant("term, NO_TERM")
    from_entry: int = constant("entry, NO_ENTRY")
    to_entry: int = constant("end, NO_ENTRY")
    cause: int = constant("fault_id of the fault behind it, NO_FAULT")


class Violation(Record):
    """An invariant that broke."""

    group: int = constant("place of the group in the block")
    at_round: int = constant("round")
    invariant: int = constant("place in INVARIANTS")
    broker: int = constant("id of the server that shows it")
    other: int = constant("id of another one that does, NOBODY")
    term: int = constant("term of that server")
    entry: int = constant("the first entry that shows it, NO_ENTRY")


class Spans(Record):
    """How far the arrays of outputs are filled."""

    events: List = part_of(List, "rows of events")
    violations: List = part_of(List, "rows of violations")


class Lists(NamedTuple):
    """Scratch arrays that hold one group's servers and lists, and the arrays that a block writes to.

    `peers`: of leader a and server b at a * copies + b.
    """

    servers: Rows[Server]
    peers: Rows[Peer]
    runs: Rows[Run]
    leaderships: Rows[Leadership]
    configurations: Rows[Configuration]
    messages: Rows[Message]
    appends: Rows[Appends]
    latencies: Rows[Latency]
    events: Rows[Event]
    violations: Rows[Violation]
    filled: Rows[Spans]
