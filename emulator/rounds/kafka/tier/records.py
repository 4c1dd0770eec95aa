"""The records of tiered storage: remote segments, their events, and what each replica's broker does and knows of them.

A partition has them while it is played in scratch arrays: `Lists.tier` one TierPartition, `Lists.tiers` a TierReplica by slot.
`end_offset`, `highest_remote` and `copied` are inclusive, as Kafka's own are (docs/tiered_rounds.md, Words).
"""

from __future__ import annotations

from emulator.rounds.lists import List
from emulator.rounds.records import (
    Record,
    aside,
    compared,
    constant,
    counter,
    due,
    flow,
    part_aside,
    part_of,
    scratch,
    tally,
    tick,
)

NO_SEGMENT = -1
NOT_DELETED = -2
NOT_LOOKED_UP = -2
"""`copied` of a leader that has not run its copy task yet."""
NO_DUTY, LEADER_DUTY, FOLLOWER_DUTY = range(3)
NO_STATE, COPY_STARTED, COPY_FINISHED, DELETE_STARTED, DELETE_FINISHED = range(5)
STATE_NAMES = ("", "COPY_STARTED", "COPY_FINISHED", "DELETE_STARTED", "DELETE_FINISHED")


class StoreSpan(Record):
    """What the faults say of a partition's remote store from a round on. A partition's last one is at FOREVER."""

    from_round: int = constant("its first round")
    is_up: int = constant("1: the store answers")
    copy_bytes: int = constant("bytes that one copy moves in a round; UNKNOWN: any number")
    first_transaction: int = constant("place of the first open transaction")
    transactions: int = constant("open transactions")
    read_bytes: int = constant("bytes that one read gets in a round; UNKNOWN: any number")


class Transaction(Record):
    """A transaction that a fault leaves open."""

    number: int = constant("fault_id")


class RemoteSegment(Record):
    """One attempt to copy a segment."""

    base_offset: int = constant("its first offset")
    end_offset: int = constant("its last offset")
    first_epoch: int = constant("place of its first epoch among the partition's remote epochs; those inside it")
    epochs: int = constant("so many")
    first_checkpoint: int = constant("likewise of all epochs of its log up to its end")
    checkpoints: int = constant("so many")
    size_bytes: int = constant("bytes")
    newest_round: int = constant("round of its newest record")
    slot: int = constant("who copies it")
    leader_epoch: int = constant("epoch in which its copier led")
    state: int = compared("of its last event, whoever knows of it")
    was_finished: int = compared("1: it was copied")
    stored_bytes: int = compared("bytes in the store")
    moved_bytes: int = compared("bytes that got there; while it is copied, those of before the run")
    started_round: int = constant("round; UNKNOWN: before the run")
    copied_round: int = compared("round; UNKNOWN: null")
    deleted_round: int = compared("round; NOT_DELETED: not yet")
    in_lineage: int = scratch("1: it is of T's log; set at the run's end")
    deleted_epoch: int = compared("epoch of the leader that first began to delete it; UNKNOWN: none did")
    was_unreferenced: int = compared("1: that leader deleted it because all its epochs are older than its log's first")


class RemoteEvent(Record):
    """A segment enters a state."""

    at_round: int = constant("round")
    segment: int = constant("number of the segment")
    state: int = constant("what it enters")
    slot: int = constant("who says so; -1: nobody, it was so before the run")


class Known(Record):
    """What a broker knows of one epoch of one segment (RemoteLogLeaderEpochState), by epoch, base, served first."""

    epoch: int = constant("leader epoch")
    base_offset: int = constant("the segment's first offset")
    served: int = constant("1: it is looked up; 0: it is unreferenced")
    start_offset: int = constant("first offset of the epoch in it")
    end_offset: int = constant("last offset of the epoch in it")
    segment: int = constant("number of the segment")


class KnownState(Record):
    """By number of the segment the state that a broker knows."""

    state: int = constant("NO_STATE: none")


class Chosen(Record):
    """A remote segment that an expiry task is about to delete."""

    segment: int = constant("its number")


class Reach(Record):
    """How far an epoch was ever tiered, as far as a broker knows; deletions do not lower it."""

    epoch: int = constant("leader epoch")
    offset: int = constant("last offset")


class StartedCopy(Record):
    """A copy that counts for the quota (KIP-956)."""

    at_round: int = constant("round in which it started")
    size_bytes: int = constant("bytes")


class Pin(Record):
    """An open transaction, and the offset that it begins at."""

    number: int = constant("fault_id")
    offset: int = constant("T's LEO when it was opened")


class TierPartition(Record):
    """What a partition has in remote storage, and what was counted."""

    segments: List = part_of(List, "all attempts, by number")
    epochs: List = part_of(List, "their epochs and checkpoints")
    events: List = part_of(List, "the log of their metadata")
    pins: List = part_of(List, "open transactions")
    store: int = compared("place of the store span in force")
    was_tiered: int = compared("1: remote storage was on in the round before")
    first_segment: int = compared("the first attempt since remote storage was turned off: all before are to be removed")
    removed_round: int = compared("round in which that was")
    removes: int = compared("1: what is left of those is removed")
    removal_next: int = due("round of the next try")
    removal_failures: int = compared("failures in a row")
    has_transactions: int = constant("1: open transactions matter: it is tiered, or a group reads what is committed")
    copy_requests: int = compared("attempts to copy a segment")
    copy_bytes: int = counter("bytes copied, those of attempts that were given up included")
    copied_again_bytes: int = counter("bytes of these whose records an earlier attempt had")
    copy_errors: int = compared("attempts that failed")
    delete_requests: int = compared("attempts to delete a segment")
    delete_errors: int = compared("attempts that failed")
    deleted_bytes: int = compared("bytes deleted")
    moved: int = compared("fetches answered with OFFSET_MOVED_TO_TIERED_STORAGE")
    aux_requests: int = tally("questions of followers for their auxiliary state")
    aux_errors: int = tally("those that came to nothing")
    aux_downloads: int = compared("auxiliary states read")
    changes: int = compared("states that segments entered, but for COPY_STARTED; removals of all of them")
    losses: int = compared("deletions of a segment that were begun or done; removals of all of them")
    # What invariants were looked at by last
    seen_changes: int = aside("`changes`")
    seen_losses: int = aside("`losses`")
    seen_cache: int = aside("changes of T's epoch cache")
    seen_epoch: int = aside("T's epoch")
    seen_from: int = aside("from where on nothing may be missing")
    seen_to: int = aside("T's local log start")
    seen_known: int = aside("changes of what T's broker knows")
    leader_broken: int = compared("mask of what T broke then")


class TierReplica(Record):
    """What a replica's broker does and knows of remote storage."""

    duty: int = compared("NO_DUTY, LEADER_DUTY, FOLLOWER_DUTY")
    duty_epoch: int = compared("epoch in which it leads")
    copied: int = compared("where its copy task stands")
    knows_log_start: int = compared("1: it has looked up its log start in this leadership")
    copy_next_ms: int = tick("ms at which its copy task's next run is due")
    copy_failures: int = tally("failures in a row")
    expiry_next_ms: int = tick("likewise of its expiry task")
    expiry_failures: int = tally("")
    follower_next_ms: int = tick("likewise of its follower task")
    follower_failures: int = tally("")
    copying: int = compared("number of the segment that it copies, NO_SEGMENT")
    left_bytes: int = flow("bytes of it still to move")
    copy_share_bytes: int = compared("bytes a round that its broker's other copies leave it, UNKNOWN: any")
    copy_starts: int = compared("segments that it may begin, by its broker's threads and quota; UNKNOWN: its own copies decide")
    copy_from: int = compared("round from which it may, UNKNOWN: any")
    copy_from_bytes: int = compared("bytes that its copies may move in that round, as others leave of a thread; UNKNOWN: any")
    network_bytes: int = compared("bytes a round that its broker's network leaves its copies until the next edge, UNKNOWN: any")
    uploaded_bytes: int = flow("bytes that it copied")
    booked_bytes: int = scratch("of these, in time buckets that have ended")
    most_uploaded_bytes: int = scratch("of these, the most in a round since it was looked at last")
    orphaned: int = compared("1: its leadership is lost, the copy goes on by itself")
    starts: List = part_of(List, "its copies of the quota's window")
    listing_rounds: int = counter("rounds in which its broker asked the store itself")
    copy_broken: int = scratch("mask of what copies that began in this round break")
    start_before: int = scratch("its local log start before this round's retention")
    seen_segments: int = aside("changes of its segments when it was last seen whether they have a hole")
    seen_start: int = aside("its local log start then")
    # Auxiliary state
    aux_next: int = tick("round of the next try to build it")
    aux_leader: int = compared("slot of the leader that it is built for")
    aux_leader_epoch: int = compared("its epoch")
    aux_start: int = compared("option 1: where the log will start; UNKNOWN: not asked yet")
    aux_epochs: List = part_of(List, "option 1: epochs told so far, newest first")
    # What it read
    read_to: int = aside("it has read the event log up to here, beside what it wrote itself")
    last_own: int = compared("place of the last event that it wrote, -1: none")
    living: int = aside("segments that it knows and that are not deleted")
    known: List = part_aside(List, "segments by epoch")
    states: List = part_aside(List, "states by number")
    reaches: List = part_aside(List, "how far epochs are tiered")
