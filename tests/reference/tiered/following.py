"""A follower whose next record its leader has only in remote storage: BUILDING_REMOTE_LOG_AUX (TierStateMachine).

Choices where docs/tiered_rounds.md is silent:

* Who is elected while it builds, and cannot be told, asks for nothing any more, as it fetches nothing.
* A question about the state passes and is answered as a fetch would be, in the leader's epoch only.
* A question that comes to nothing is asked anew after replica.fetch.backoff.ms; the follower keeps its log meanwhile.
* A follower that learns of another leader or epoch, or begins to lead, forgets what it was building, and fetches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..fetching import answering_leader, can_send
from ..log import Log
from ..partition import Replica
from .metadata import RemoteSegment

if TYPE_CHECKING:
    from .partition import TieredPartition

MOVED, BUILDING, BUILT = "moved_to_tiered_storage", "building_remote_log_aux", "aux_state_built"


@dataclass
class AuxState:
    """What a follower builds: whom it asks, and when again; option 1: where it will start, and epochs, newest first."""

    leader: int
    epoch: int
    next_round: int
    start: int | None = None
    epochs: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Start:
    """Where a leader tells a follower to start, and whether it is for remote storage to say what lies before."""

    offset: int
    log_start: int
    epoch_before: int | None


def is_empty(log: Log) -> bool:
    """Tell whether a follower has nothing at all."""
    return log.leo == log.local_log_start


def has_to_build(partition: TieredPartition, follower: Replica, leader: Replica) -> bool:
    """Whether the offset has moved to remote storage, or (KIP-1023) an empty follower starts behind that at once."""
    if not partition.settings.is_tiered:
        return False
    moved = leader.log.log_start <= follower.log.leo
    return moved or (partition.settings.starts_at_pending_upload(follower.broker) and is_empty(follower.log))


def begin(partition: TieredPartition, follower: Replica) -> str:
    """OFFSET_MOVED_TO_TIERED_STORAGE has come: from the next round on the follower asks instead of fetching."""
    tier = partition.tier_of(follower.broker)
    tier.aux = AuxState(follower.believed_leader, follower.believed_epoch, partition.now + 1)
    partition.ledger.counts["moved_to_tiered_storage"] += 1
    return MOVED


def forget_stale(partition: TieredPartition) -> None:
    """What was asked of another leader, or in another epoch, is of no use; nor what a leader asked."""
    for replica in partition.replicas.values():
        aux = partition.tier_of(replica.broker).aux
        if aux is None:
            continue
        if replica.leading_epoch is not None or (aux.leader, aux.epoch) != (replica.believed_leader, replica.believed_epoch):
            partition.tier_of(replica.broker).aux = None
            partition.coverage["aux_forgotten"] += 1


def build(partition: TieredPartition) -> None:
    """Followers that build ask their leader, and start where it says as soon as they know the epochs before."""
    for broker, replica in partition.replicas.items():
        aux = partition.tier_of(broker).aux
        if aux is None or not partition.status(broker).running or partition.fetch_states.get(broker) == MOVED:
            continue
        if broker == partition.controller.leader:
            continue
        partition.fetch_states[broker] = BUILDING
        if partition.now < aux.next_round:
            continue
        aux.next_round = partition.now + partition.settings.fetch_backoff_rounds
        leader = _answering(partition, replica)
        if leader is None:
            continue
        partition.ledger.counts["aux_state_requests"] += 1
        if partition.store.aux_state == "leader":
            _ask_leader(partition, replica, leader, aux)
        else:
            partition.ledger.counts["aux_state_errors"] += not _ask_store(partition, replica, leader)


def _answering(partition: TieredPartition, follower: Replica) -> Replica | None:
    """The leader whose answer to a question comes back."""
    if not can_send(partition, follower):
        return None
    leader = answering_leader(partition, follower)
    if leader is None or leader.leading_epoch != follower.believed_epoch:
        return None
    return leader if partition.message_passes(leader.broker, follower.broker) else None


def where_to_start(partition: TieredPartition, follower: Replica, leader: Replica) -> Start | None:
    """The leader's earliest local offset, or (KIP-1023) its earliest pending upload; None: it doesn't know yet."""
    log = leader.log
    offset = log.local_log_start
    if partition.settings.starts_at_pending_upload(follower.broker) and is_empty(follower.log):
        pending = earliest_pending_upload(partition, leader)
        if pending is None:
            return None
        offset = max(pending, offset) if pending >= log.log_start else offset
    before = log.cache.epoch_of(offset - 1) if offset > log.log_start else None
    return Start(offset, log.log_start, before)


def earliest_pending_upload(partition: TieredPartition, leader: Replica) -> int | None:
    """ListOffsets -6: the first offset that the leader has yet to copy; None: it doesn't know what is copied."""
    log, highest = leader.log, partition.tier_of(leader.broker).highest_remote
    if highest < 0:
        return log.log_start if log.local_log_start == log.log_start else None
    return max(highest + 1, log.log_start)


def _ask_store(partition: TieredPartition, follower: Replica, leader: Replica) -> bool:
    """Option 2: the remote segment before the start has the epochs, and says where exactly to start."""
    start = where_to_start(partition, follower, leader)
    if start is None:
        partition.coverage["pending_upload_unknown"] += 1
        return False
    if start.offset <= start.log_start:
        return _start_at(partition, follower, start.offset, start.log_start, [])
    if start.epoch_before is None or not partition.can_use_metadata(follower.broker):
        return False
    segment = _segment_before(partition, follower, start)
    if segment is None:
        partition.coverage["aux_segment_unknown"] += 1
        return False
    if not partition.store_up:
        partition.coverage["aux_store_away"] += 1
        return False
    partition.ledger.counts["aux_state_downloads"] += 1
    epochs = list(segment.checkpoint) if partition.tier_rules.build_epochs else []
    return _start_at(partition, follower, segment.end_offset + 1, start.log_start, epochs)


def _segment_before(partition: TieredPartition, follower: Replica, start: Start) -> RemoteSegment | None:
    assert start.epoch_before is not None
    return partition.index_of(follower.broker).lookup(start.epoch_before, start.offset - 1)


def _ask_leader(partition: TieredPartition, follower: Replica, leader: Replica, aux: AuxState) -> None:
    """Option 1: the leader is asked for one epoch after the other, from the one at the start down to its log start."""
    aux.next_round = partition.now + 1
    if aux.start is None:
        start = where_to_start(partition, follower, leader)
        if start is None:
            aux.next_round = partition.now + partition.settings.fetch_backoff_rounds
        elif start.epoch_before is None:
            _start_at(partition, follower, start.offset, start.log_start, [])
        else:
            aux.start, aux.epochs = start.offset, [(start.epoch_before, start.offset)]
        return
    oldest = aux.epochs[-1][0]
    epoch, begins = leader.log.cache.end_offset_for(oldest - 1, leader.log.leo)
    aux.epochs[-1] = (oldest, begins)
    if begins > leader.log.log_start and epoch >= 0:
        aux.epochs.append((epoch, begins))
    else:
        _start_at(partition, follower, aux.start, leader.log.log_start, list(reversed(aux.epochs)))


def _start_at(partition: TieredPartition, follower: Replica, offset: int, log_start: int, epochs: list[tuple[int, int]]) -> bool:
    """Drop the log, start anew, and fetch from the next round on."""
    log = partition.log_of(follower)
    partition.ledger.counts["truncated"] += log.restart_at(offset, min(log_start, offset))
    log.cache.entries = [entry for entry in epochs if entry[1] < offset]
    log.cache.truncate_from_start(log.log_start)
    follower.hw = offset
    partition.tier_of(follower.broker).aux = None
    partition.fetch_states[follower.broker] = BUILT
    partition.ledger.event(partition.now, "aux_state_built", follower.broker, follower.believed_epoch, log.log_start, offset)
    return True
