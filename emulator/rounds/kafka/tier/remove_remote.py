"""Remote storage is turned off, or the topic goes: all that the partition has there is removed (KIP-405, KIP-950)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import NO_EPOCH, NOBODY, REMOTE_DELETE, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs
from emulator.rounds.kafka.log import raise_log_start
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.duties import retry_rounds, runs_tasks, store_is_up
from emulator.rounds.kafka.tier.metadata import forget_events
from emulator.rounds.kafka.tier.records import DELETE_FINISHED, DELETE_STARTED, NOT_LOOKED_UP
from emulator.rounds.lists import clear
from emulator.rounds.records import Rows


@compiled
def watch_disabling(lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """Step 1: where remote storage was turned off, running leaders raise their log start to their local log start.

    TopicConfigHandler. Turned on again, it begins anew.
    """
    tier, is_tiered = tiers.whole[0], inputs.settings[part.settings].tiered
    if tier.was_tiered and not is_tiered:
        for slot in range(part.slots):
            replica = replicas[slot]
            leads = replica.leading_epoch != NO_EPOCH and runs_tasks(part, replicas, slot)
            if leads and replica.log_start < replica.local_start <= replica.hw:
                raise_log_start(lists, replica, replica.local_start)
                replica.compares = 1
        mark_remote(tiers, part, replicas)
    tier.was_tiered = is_tiered


@compiled
def mark_remote(tiers: TierLists, part: Partition, replicas: Rows[Replica]) -> None:
    """All of the partition's remote data has to go, and nobody knows of it any more but who removes it."""
    tier = tiers.whole[0]
    for at in range(tier.segments.start, tier.segments.start + tier.segments.count):
        if tiers.remote[at].state != DELETE_FINISHED:
            tier.removes = 1
            tier.removal_next = part.now
            tier.removal_failures = 0
    tier.first_segment = tier.segments.count
    tier.removed_round = part.now
    clear(tier.events)
    tier.changes += 1
    tier.losses += 1
    for slot in range(part.slots):
        replica = tiers.replicas[slot]
        replicas[slot].highest_remote = UNKNOWN
        replica.copied = NOT_LOOKED_UP
        replica.read_to = 0
        replica.last_own = -1
        forget_events(replica)


@compiled
def remove_remote(lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition) -> None:
    """Last of a round: what was marked is deleted, one segment after the other; while the store is away again with back-off."""
    tier = tiers.whole[0]
    if not tier.removes or part.now < tier.removal_next:
        return
    tier.segments.changes += 1
    marked = range(tier.segments.start, tier.segments.start + tier.first_segment)
    for at in marked:
        if tiers.remote[at].state != DELETE_FINISHED:
            tiers.remote[at].state = DELETE_STARTED
    for at in marked:
        segment = tiers.remote[at]
        if segment.state == DELETE_FINISHED:
            continue
        tier.delete_requests += 1
        if not store_is_up(tiers, inputs):
            tier.delete_errors += 1
            tier.removal_failures += 1
            tier.removal_next = part.now + retry_rounds(inputs.settings[part.settings], tier.removal_failures)
            return
        tier.deleted_bytes += segment.stored_bytes
        segment.stored_bytes = 0
        segment.state = DELETE_FINISHED
        segment.deleted_round = part.now
        end = segment.end_offset + 1
        tell(lists, part, REMOTE_DELETE, NOBODY, segment.leader_epoch, segment.base_offset, end, -1)
    tier.removes = 0
