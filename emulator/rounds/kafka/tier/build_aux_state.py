"""Followers whose next record is only in remote storage build the state before it, and go on from there (step 7).

ReplicaFetcherTierStateMachine, TierStateMachine; KIP-405's options 1 (ask the leader for its epochs) and 2 (read the remote
segment), KIP-1023.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import bytes_at, bytes_below
from emulator.rounds.kafka.constants import AUX_STATE_BUILT, BUILDING, BUILT, MOVED_AWAY, NO_EPOCH, NOBODY, NOT_RUNNING, UNKNOWN
from emulator.rounds.kafka.epochs import cut_epochs_below, end_of_epoch
from emulator.rounds.kafka.fetch import message_passes
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.respond import starts_at_upload
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.segments import base_of_first, close_segment, start_segment_at
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.duties import can_use_metadata, store_is_up
from emulator.rounds.kafka.tier.lineage import epoch_of_offset
from emulator.rounds.kafka.tier.metadata import look_up
from emulator.rounds.lists import append, clear, last
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def begin_to_build(tiers: TierLists, part: Partition, replicas: Rows[Replica], slot: int) -> None:
    """What comes next is in remote storage: from the next round on the follower builds its state, and sends no fetch."""
    follower, tier = replicas[slot], tiers.replicas[slot]
    follower.builds = 1
    tiers.whole[0].moved += 1
    tier.aux_next = part.now + 1
    tier.aux_leader = follower.believed_leader
    tier.aux_leader_epoch = follower.believed_epoch
    tier.aux_start = UNKNOWN
    clear(tier.aux_epochs)


@compiled_into_callers
def build_aux_states(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> None:
    """Every follower that builds asks its leader, as it would fetch from it."""
    if not part.tiered:
        return
    for slot in range(part.slots):
        follower, tier = replicas[slot], tiers.replicas[slot]
        if follower.fetch_state == MOVED_AWAY:
            begin_to_build(tiers, part, replicas, slot)
        if not follower.builds or follower.fetch_state == MOVED_AWAY:
            continue
        believed = follower.believed_leader
        if follower.status & NOT_RUNNING or slot == part.leader or believed in (NOBODY, slot):
            continue
        if not has(part.assigned, slot):
            continue
        follower.fetch_state = BUILDING
        leader = replicas[believed]
        passes = message_passes(follower, leader, believed) and message_passes(leader, follower, slot)
        leads = not leader.status & NOT_RUNNING and leader.leading_epoch == follower.believed_epoch
        if part.now < tier.aux_next:
            continue
        if not (passes and leads):  # an error as any other: the fetcher thread delays the partition
            tier.aux_next = part.now + inputs.settings[part.settings].backoff_rounds
        elif inputs.scenarios[part.scenario].from_leader:
            ask_leader(lists, tiers, inputs, part, replicas, slot, rules)
        else:
            read_remote(lists, tiers, inputs, part, replicas, slot, rules)


@compiled
def start_from(inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int) -> int:
    """Where a leader tells a follower to start; UNKNOWN: it does not know."""
    follower = replicas[slot]
    leader = replicas[follower.believed_leader]
    if not starts_at_upload(inputs, part, follower):
        return leader.local_start
    pending = earliest_pending_upload(leader, leader.highest_remote)
    return UNKNOWN if pending == UNKNOWN else max(pending, leader.local_start)


@compiled
def earliest_pending_upload(leader: Replica, highest_remote: int) -> int:
    """The first offset that is yet to be copied (KIP-1023); UNKNOWN: the leader knows of nothing remote, and lacks some."""
    if highest_remote >= 0:
        return max(highest_remote + 1, leader.log_start)
    return leader.log_start if leader.local_start == leader.log_start else UNKNOWN


@compiled
def ask_leader(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, rules: Rules
) -> None:
    """Option 1: one epoch after the other, a round each, from that before the start down to the leader's log start."""
    follower, tier = replicas[slot], tiers.replicas[slot]
    leader = replicas[follower.believed_leader]
    tiers.whole[0].aux_requests += 1
    if tier.aux_start == UNKNOWN:
        start = start_from(inputs, part, replicas, slot)
        if start == UNKNOWN:
            tier.aux_next = part.now + inputs.settings[part.settings].backoff_rounds
        elif start <= leader.log_start:
            start_at(lists, tiers, inputs, part, replicas, slot, start, start, False, rules)
        else:
            tier.aux_start = start
            entry = tiers.aux_epochs[append(tier.aux_epochs)]
            entry.epoch = epoch_of_offset(lists.epochs, leader.epochs, start - 1)
            entry.start_offset = start
        return
    oldest = tiers.aux_epochs[tier.aux_epochs.start + tier.aux_epochs.count - 1]
    epoch, begins = end_of_epoch(lists.epochs, leader, leader.epochs.count, leader.leo, oldest.epoch - 1)
    oldest.start_offset = begins
    tier.aux_epochs.changes += 1
    if begins > leader.log_start and epoch >= 0:
        entry = tiers.aux_epochs[append(tier.aux_epochs)]
        entry.epoch = epoch
        entry.start_offset = begins
        return
    start_at(lists, tiers, inputs, part, replicas, slot, tier.aux_start, leader.log_start, True, rules)


@compiled
def read_remote(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, rules: Rules
) -> None:
    """Option 2: the segment before the start, as the follower knows it, has the epochs; the log starts behind it."""
    follower, tier, whole = replicas[slot], tiers.replicas[slot], tiers.whole[0]
    leader, settings = replicas[follower.believed_leader], inputs.settings[part.settings]
    start = start_from(inputs, part, replicas, slot)
    whole.aux_requests += 1
    if start == UNKNOWN:
        whole.aux_errors += 1
        tier.aux_next = part.now + settings.backoff_rounds
        return
    if start <= leader.log_start:
        start_at(lists, tiers, inputs, part, replicas, slot, start, start, False, rules)
        return
    number = segment_before(lists, tiers, inputs, part, replicas, slot, start, rules)
    if number < 0 or not store_is_up(tiers, inputs):
        whole.aux_errors += 1
        tier.aux_next = part.now + settings.backoff_rounds
        return
    whole.aux_downloads += 1
    segment = tiers.remote[whole.segments.start + number]
    clear(tier.aux_epochs)
    first = whole.epochs.start + segment.first_checkpoint
    for at in range(first + segment.checkpoints - 1, first - 1, -1):
        entry = tiers.aux_epochs[append(tier.aux_epochs)]
        entry.epoch = tiers.remote_epochs[at].epoch
        entry.start_offset = tiers.remote_epochs[at].start_offset
    start, with_epochs = segment.end_offset + 1, rules.build_epochs != 0
    start_at(lists, tiers, inputs, part, replicas, slot, start, leader.log_start, with_epochs, rules)


@compiled
def segment_before(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, start: int, rules: Rules
) -> int:
    """The number of the segment before an offset of the leader's log, as a follower knows it; -1: it knows of none."""
    follower = replicas[slot]
    if not can_use_metadata(tiers, inputs, part, follower):
        return -1
    epoch = epoch_of_offset(lists.epochs, replicas[follower.believed_leader].epochs, start - 1)
    return look_up(tiers, tiers.replicas[slot], epoch, start - 1, rules)


@compiled
def start_at(
    lists: Lists,
    tiers: TierLists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    slot: int,
    offset: int,
    log_start: int,
    with_epochs: bool,
    rules: Rules,
) -> None:
    """Drop the log, start anew with the epochs told, newest first, and fetch from the next round on."""
    follower, tier = replicas[slot], tiers.replicas[slot]
    leader = replicas[follower.believed_leader]
    part.truncated += follower.leo - follower.local_start
    follower.log_start = min(log_start, offset)
    if not rules.drop_log and follower.runs.count and follower.leo < offset:
        keep_log(lists, inputs, part, follower, offset)
    else:
        clear(follower.runs)
        start_segment_at(follower, offset)
        follower.local_start = offset
        follower.log_bytes = bytes_at(lists.runs, inputs, leader, offset)  # it has none of them, as its leader counts
    clear(follower.epochs)
    follower.leo = offset
    follower.hw = offset
    follower.flushed = offset
    if with_epochs:
        for at in range(tier.aux_epochs.start + tier.aux_epochs.count - 1, tier.aux_epochs.start - 1, -1):
            if tiers.aux_epochs[at].start_offset < offset:
                entry = lists.epochs[append(follower.epochs)]
                entry.epoch = tiers.aux_epochs[at].epoch
                entry.start_offset = tiers.aux_epochs[at].start_offset
        cut_epochs_below(lists.epochs, follower, follower.log_start)
    clear(tier.aux_epochs)
    follower.builds = 0
    follower.compares = 1
    follower.fetch_state = BUILT
    tell(lists, part, AUX_STATE_BUILT, follower.broker, follower.believed_epoch, follower.log_start, offset, -1)


@compiled
def keep_log(lists: Lists, inputs: Inputs, part: Partition, follower: Replica, offset: int) -> None:
    """A mutant's: what the follower had stays on its disk, with a hole behind it."""
    if follower.active_bytes > 0:
        close_segment(lists, inputs, part, follower)
    follower.log_bytes = bytes_below(inputs, lists.runs[last(follower.runs)], offset)
    follower.local_start = max(follower.log_start, base_of_first(lists.segments, follower))
    follower.active_base = offset


@compiled_into_callers
def forget_stale_builds(tiers: TierLists, part: Partition, replicas: Rows[Replica]) -> None:
    """Who restarts, learns of another leader or epoch, or leads, forgets what it was building."""
    for slot in range(part.slots):
        follower, tier = replicas[slot], tiers.replicas[slot]
        same = follower.believed_leader == tier.aux_leader and follower.believed_epoch == tier.aux_leader_epoch
        if follower.builds and (not same or follower.leading_epoch != NO_EPOCH or not has(part.assigned, slot)):
            follower.builds = 0
            clear(tier.aux_epochs)
