"""Whom a reader asks: T, or a follower that T named because it is in the reader's rack (KIP-392)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import CLIENTS_CUT, NOBODY, NOT_RUNNING, UNTOLD
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.reading.place_reader import committed_end, reset
from emulator.rounds.kafka.reading.records import (
    FOLLOWER_AWAY,
    FOLLOWER_EPOCH,
    FOLLOWER_OUT_OF_RANGE,
    LEADERLESS,
    NO_RACK,
    Reader,
    ReaderLists,
)
from emulator.rounds.kafka.reading.stretches import end_stretch, wait
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def choose_replica(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader, serves: bool
) -> int:
    """The slot that is asked for records in this round, NOBODY if there is none. `serves`: T does."""
    if reader.replica == NOBODY or reader.replica == reader.leader:
        if not serves:
            wait(lists, readers, inputs, part, replicas, reader, LEADERLESS, NOBODY, committed_end(part, replicas))
            return NOBODY
        if reader.replica == NOBODY and inputs.wants[reader.want].rack != NO_RACK:
            named = preferred_follower(readers, inputs, part, replicas, reader)
            if named != NOBODY:
                end_stretch(lists, readers, inputs, part, replicas, reader)
                reader.replica = named
                reader.replica_until = part.now + 1 + inputs.wants[reader.want].max_age_rounds
                return NOBODY
        return part.client_leader
    slot = reader.replica
    follower = replicas[slot]
    if not has(part.assigned, slot) or follower.status & (NOT_RUNNING | CLIENTS_CUT):
        leave_follower(lists, readers, inputs, part, replicas, reader, FOLLOWER_AWAY)
        return NOBODY
    if follower.believed_epoch != reader.leader_epoch:
        leave_follower(lists, readers, inputs, part, replicas, reader, FOLLOWER_EPOCH)
        return NOBODY
    return slot


@compiled
def preferred_follower(readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader) -> int:
    """Whom T names: of the in-sync replicas in the reader's rack that have its position, the one that is furthest.

    NOBODY: T serves itself (RackAwareReplicaSelector, ReplicaManager.findPreferredReadReplica, ReplicaView.comparator).
    """
    rack = inputs.wants[reader.want].rack
    leader = replicas[part.client_leader]
    if not inputs.settings[part.settings].followers_serve or leader.rack == rack:
        return NOBODY
    in_sync = part.known_isr if leader.status & UNTOLD else part.isr
    best = NOBODY
    for slot in range(part.slots):
        follower = replicas[slot]
        if slot == part.client_leader or not has(in_sync & part.assigned, slot) or follower.rack != rack:
            continue
        has_position = readers.served[slot].log_start_before <= reader.position <= max(follower.remote_leo, 0)
        if has_position and (best == NOBODY or is_further(follower, replicas[best])):
            best = slot
    return best


@compiled
def is_further(one: Replica, other: Replica) -> bool:
    """By what T knows: the larger LEO, then who was caught up last, then the higher id."""
    if max(one.remote_leo, 0) != max(other.remote_leo, 0):
        return one.remote_leo > other.remote_leo
    if one.caught_up != other.caught_up:
        return one.caught_up > other.caught_up
    return one.broker > other.broker


@compiled
def leave_follower(
    lists: Lists, readers: ReaderLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], reader: Reader, cause: int
) -> None:
    """The reader asks T from the next round on, and nobody else for metadata.max.age.ms."""
    wait(lists, readers, inputs, part, replicas, reader, cause, reader.replica, committed_end(part, replicas))
    reader.replica = reader.leader
    reader.replica_until = part.now + inputs.wants[reader.want].max_age_rounds


@compiled
def out_of_range(
    lists: Lists,
    tiers: TierLists,
    readers: ReaderLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    reader: Reader,
    slot: int,
    serves: bool,
    cause: int,
    rules: Rules,
) -> None:
    """The replica that was asked has not the position: at T that is a reset, a follower sends its readers back to T."""
    if slot != reader.leader and rules.follower_keeps_position:
        leave_follower(lists, readers, inputs, part, replicas, reader, FOLLOWER_OUT_OF_RANGE)
    elif serves:
        reset(lists, tiers, readers, inputs, part, replicas, reader, cause, rules)
