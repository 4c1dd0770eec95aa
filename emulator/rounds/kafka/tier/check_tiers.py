"""What must hold between a partition's two tiers at the end of a round (docs/tiered_rounds.md, Invariants).

Each replica's `tier_broken` is the mask of what its row breaks; check_invariants.py writes it down. Both tiers change in few
rounds only: what was seen by then holds until one of them does.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.batches import bytes_at
from emulator.rounds.kafka.constants import NO_EPOCH, NOBODY, OFFLINE, UNKNOWN
from emulator.rounds.kafka.fence_and_elect import is_ready
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.invariants import (
    COPY_WAITS_FOR_ITS_LAG,
    LOCAL_LOG_IN_ORDER,
    LOCAL_LOG_IS_WHOLE,
    NO_GAP_BETWEEN_TIERS,
    NO_LOCAL_DELETE_BEFORE_COPY,
    REMOTE_BELOW_LAST_STABLE,
    REMOTE_SERVES_LINEAGE,
    REMOTE_STATE_MACHINE,
    SUSPECTED,
)
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.segments import disk_bytes
from emulator.rounds.kafka.tier.coverage import IN_STORE, WAS_COPIED, WAS_GIVEN_UP, WAS_REMOVED, WAS_UNREFERENCED, covered_to
from emulator.rounds.kafka.tier.lineage import end_of_cached, epoch_of_offset
from emulator.rounds.kafka.tier.metadata import is_allowed
from emulator.rounds.kafka.tier.records import COPY_FINISHED, COPY_STARTED, NO_STATE
from emulator.rounds.lists import every, last
from emulator.rounds.records import Rows


@compiled_into_callers
def check_tiers(lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """Look at T's log and remote storage, and at each replica's disk."""
    follow_expiry(part, replicas)
    settings = inputs.settings[part.settings]
    of_leader = broken_of_leader(lists, tiers, inputs, part, replicas, rules)
    wrong_states = broken_states(tiers, part) if says_something(tiers, part) else 0
    for slot in range(part.slots):
        replica, tier = replicas[slot], tiers.replicas[slot]
        broken = tier.copy_broken | wrong_states
        if slot == part.client_leader:
            broken |= of_leader
        if not replica.log_start <= replica.local_start <= replica.hw:
            broken |= 1 << LOCAL_LOG_IN_ORDER
        if settings.copies and tier.start_before < replica.local_start:  # (J)
            broken |= broken_by_retention(lists, tiers, part, replicas, slot)
        if tier.seen_segments == replica.segments.changes and tier.seen_start == replica.local_start:
            broken |= replica.tier_broken & (1 << LOCAL_LOG_IS_WHOLE)
        elif replica.leo > replica.local_start and has_hole(lists, inputs, replica):
            broken |= 1 << LOCAL_LOG_IS_WHOLE
        tier.seen_segments = replica.segments.changes
        tier.seen_start = replica.local_start
        replica.tier_broken = broken


@compiled_into_callers
def follow_expiry(part: Partition, replicas: Rows[Replica]) -> None:
    """What any leader expired, a superseded one too, may be gone before T's log start is behind it."""
    expired_to = part.expired_to
    for slot in range(part.slots):
        if replicas[slot].leading_epoch != NO_EPOCH and not replicas[slot].status & OFFLINE:
            expired_to = max(expired_to, replicas[slot].log_start)
    if expired_to > part.expired_to:
        part.expired_to = expired_to
        for slot in range(part.slots):
            replicas[slot].compares = 1


@compiled
def has_hole(lists: Lists, inputs: Inputs, replica: Replica) -> bool:
    """Whether the segments on a replica's disk have fewer bytes than its log from its local log start on."""
    log_bytes = replica.log_bytes - bytes_at(lists.runs, inputs, replica, replica.local_start)
    return disk_bytes(lists.segments, replica) < log_bytes


@compiled
def check_begun_copy(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, slot: int, settings: Settings, number: int
) -> None:
    """A copy begins: what it copies was committed, lies below every open transaction, and had waited (KIP-1241)."""
    tier, segment = tiers.replicas[slot], tiers.remote[tiers.whole[0].segments.start + number]
    is_stable = segment.end_offset < replica.hw
    for at in every(tiers.whole[0].pins):
        is_stable = is_stable and segment.end_offset < tiers.pins[at].offset
    if not is_stable:
        tier.copy_broken |= 1 << REMOTE_BELOW_LAST_STABLE
    is_old = settings.copy_lag_rounds != UNKNOWN and part.now - segment.newest_round >= settings.copy_lag_rounds
    behind_bytes = replica.log_bytes - bytes_at(lists.runs, inputs, replica, segment.end_offset + 1)
    is_long = settings.copy_lag_bytes != UNKNOWN and behind_bytes >= settings.copy_lag_bytes
    if not (is_old or is_long):
        tier.copy_broken |= 1 << COPY_WAITS_FOR_ITS_LAG


@compiled_into_callers
def broken_of_leader(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> int:
    """What T breaks: a gap between its tiers, and what a lookup by its epochs finds; anew where something has changed."""
    whole = tiers.whole[0]
    if not is_ready(part, replicas) or not inputs.settings[part.settings].tiered:
        return 0
    leader = replicas[part.client_leader]
    begin = max(leader.log_start, part.expired_to)
    known = tiers.replicas[part.client_leader].known.changes
    is_seen = whole.seen_changes == whole.changes and whole.seen_epoch == part.client_epoch and whole.seen_known == known
    if not is_seen or whole.seen_from != begin or whole.seen_to != leader.local_start or whole.leader_broken:
        look_at_leader(lists, tiers, part, replicas, rules, begin)
    return whole.leader_broken


@compiled
def look_at_leader(lists: Lists, tiers: TierLists, part: Partition, replicas: Rows[Replica], rules: Rules, begin: int) -> None:
    """Set what T breaks. Below where nothing was missing nothing is, unless a copy went or T's log is another one."""
    whole, leader = tiers.whole[0], replicas[part.client_leader]
    is_whole = whole.seen_losses == whole.losses and whole.seen_epoch == part.client_epoch and not whole.leader_broken
    whole_to = whole.seen_to if is_whole and whole.seen_cache == leader.epochs.changes and whole.seen_from <= begin else begin
    whole.seen_changes = whole.changes
    whole.seen_losses = whole.losses
    whole.seen_epoch = part.client_epoch
    whole.seen_cache = leader.epochs.changes
    whole.seen_from = begin
    whole.seen_to = leader.local_start
    whole.seen_known = tiers.replicas[part.client_leader].known.changes
    whole.leader_broken = 0
    if begin < leader.local_start:
        whole.leader_broken |= gap_of(lists, tiers, part, leader, max(begin, whole_to))
    if rules.lookup_by_epoch:
        is_other = serves_other_record(lists, tiers, leader, part.client_leader, begin)
    else:
        is_other = finds_other_record(lists, tiers, leader, begin)
    if is_other:
        whole.leader_broken |= 1 << REMOTE_SERVES_LINEAGE


@compiled
def gap_of(lists: Lists, tiers: TierLists, part: Partition, leader: Replica, begin: int) -> int:
    """The bit of NoGapBetweenTiers if T lacks a record from an offset on that is not in the store either.

    What a leader that does not continue T's log deleted as unreferenced is gone by a rule (H), what went with remote storage by
    another one if T was not yet elected then (T). Suspect is what went otherwise: with remote storage, where T led and its log
    start stayed (S3), or by such a leader for another reason (S4).
    """
    cache, found = leader.epochs, 0
    was_elected_since = part.lead_round >= tiers.whole[0].removed_round
    if cache.count == 0 or lists.epochs[cache.start].start_offset > begin:
        return 1 << NO_GAP_BETWEEN_TIERS
    for at in every(cache):
        epoch = lists.epochs[at].epoch
        offset = max(begin, lists.epochs[at].start_offset)
        end = min(leader.local_start, end_of_cached(lists.epochs, cache, at, leader.leo))
        while offset < end:
            there = covered_to(lists, tiers, part, leader, epoch, offset, IN_STORE)
            there = max(there, covered_to(lists, tiers, part, leader, epoch, offset, WAS_UNREFERENCED))
            if was_elected_since:
                there = max(there, covered_to(lists, tiers, part, leader, epoch, offset, WAS_REMOVED))
            if there == offset:
                there = max(there, covered_to(lists, tiers, part, leader, epoch, offset, WAS_GIVEN_UP))
                there = max(there, covered_to(lists, tiers, part, leader, epoch, offset, WAS_REMOVED))
                if there == offset:
                    return 1 << NO_GAP_BETWEEN_TIERS
                found = 1 << (NO_GAP_BETWEEN_TIERS + SUSPECTED)
            offset = there
    return found


@compiled
def broken_by_retention(lists: Lists, tiers: TierLists, part: Partition, replicas: Rows[Replica], slot: int) -> int:
    """What local retention took in this round was copied once, or expired (F), or is not of T's lineage (G).

    An attempt that a leader of another lineage deletes while it is made is for its copier as good as finished (H).
    """
    replica = replicas[slot]
    if part.client_leader == NOBODY:
        return 0
    leader = replicas[part.client_leader]
    found = 0
    begin = max(tiers.replicas[slot].start_before, replica.log_start, part.expired_to)
    for at in every(replica.epochs):
        epoch = lists.epochs[at].epoch
        own_end = min(end_of_cached(lists.epochs, replica.epochs, at, replica.leo), replica.local_start)
        for place in every(leader.epochs):
            if lists.epochs[place].epoch != epoch:
                continue
            offset = max(begin, lists.epochs[at].start_offset, lists.epochs[place].start_offset)
            end = min(own_end, end_of_cached(lists.epochs, leader.epochs, place, leader.leo))
            while offset < end:
                there = covered_to(lists, tiers, part, leader, epoch, offset, WAS_COPIED)
                there = max(there, covered_to(lists, tiers, part, leader, epoch, offset, WAS_UNREFERENCED))
                if there == offset:
                    there = covered_to(lists, tiers, part, leader, epoch, offset, WAS_GIVEN_UP)
                    if there == offset:
                        return 1 << NO_LOCAL_DELETE_BEFORE_COPY
                    found = 1 << (NO_LOCAL_DELETE_BEFORE_COPY + SUSPECTED)
                offset = there
    return found


@compiled
def serves_other_record(lists: Lists, tiers: TierLists, leader: Replica, slot: int, begin: int) -> bool:
    """Whether a lookup by T's epochs finds a segment that has not the record: at an end of what both say is of the epoch."""
    known = tiers.replicas[slot].known
    for at in every(known):
        entry = tiers.known[at]
        if not entry.served:
            continue
        for place in every(leader.epochs):
            if lists.epochs[place].epoch != entry.epoch:
                continue
            first = max(begin, entry.start_offset, lists.epochs[place].start_offset)
            end = min(leader.local_start, entry.end_offset + 1, end_of_cached(lists.epochs, leader.epochs, place, leader.leo))
            if first < end and not (
                has_record(tiers, entry.segment, entry.epoch, first) and has_record(tiers, entry.segment, entry.epoch, end - 1)
            ):
                return True
    return False


@compiled
def finds_other_record(lists: Lists, tiers: TierLists, leader: Replica, begin: int) -> bool:
    """Whether a lookup of any copied segment (a mutant's) finds one that has another record than T's epochs say."""
    whole = tiers.whole[0]
    for number in range(whole.first_segment, whole.segments.count):
        segment = tiers.remote[whole.segments.start + number]
        if segment.state != COPY_FINISHED:
            continue
        for offset in range(max(begin, segment.base_offset), min(leader.local_start, segment.end_offset + 1)):
            if found_first(tiers, offset) == number and not has_record(
                tiers, number, epoch_of_offset(lists.epochs, leader.epochs, offset), offset
            ):
                return True
    return False


@compiled
def found_first(tiers: TierLists, offset: int) -> int:
    """The first copied segment that has an offset, whatever its epochs."""
    whole = tiers.whole[0]
    for number in range(whole.first_segment, whole.segments.count):
        segment = tiers.remote[whole.segments.start + number]
        if segment.state == COPY_FINISHED and segment.base_offset <= offset <= segment.end_offset:
            return number
    return -1


@compiled_into_callers
def has_record(tiers: TierLists, number: int, epoch: int, offset: int) -> bool:
    """Whether a remote segment has the record of an epoch at an offset."""
    segment = tiers.remote[tiers.whole[0].segments.start + number]
    first, found = tiers.whole[0].epochs.start + segment.first_epoch, UNKNOWN
    for at in range(first, first + segment.epochs):
        if tiers.remote_epochs[at].start_offset <= offset:
            found = tiers.remote_epochs[at].epoch
    return found == epoch and segment.base_offset <= offset <= segment.end_offset


@compiled_into_callers
def says_something(tiers: TierLists, part: Partition) -> bool:
    """Whether an event was written in this round."""
    events = tiers.whole[0].events
    return events.count > 0 and tiers.remote_events[last(events)].at_round == part.now


@compiled
def broken_states(tiers: TierLists, part: Partition) -> int:
    """Whether a segment of which something was said in this round has another state than what was said of it allows."""
    whole = tiers.whole[0]
    for newest in range(last(whole.events), whole.events.start - 1, -1):
        if tiers.remote_events[newest].at_round != part.now:
            break
        number, state = tiers.remote_events[newest].segment, NO_STATE
        at = newest
        while at > whole.events.start and not begins(tiers, at, number):
            at -= 1
        while at < whole.events.start + whole.events.count:
            event = tiers.remote_events[at]
            if event.segment == number and is_allowed(state, event.state):
                state = event.state
            at += 1
        if number >= whole.first_segment and tiers.remote[whole.segments.start + number].state != state:
            return 1 << REMOTE_STATE_MACHINE
    return 0


@compiled
def begins(tiers: TierLists, at: int, number: int) -> bool:
    """Whether an event is the first of a segment."""
    return tiers.remote_events[at].segment == number and tiers.remote_events[at].state == COPY_STARTED
