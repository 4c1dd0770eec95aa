"""The expiry task: leaders delete what retention, or the log start, lets go of remote storage (RLMExpirationTask)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NOBODY, REMOTE_DELETE, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.log import raise_log_start
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.duties import (
    can_use_metadata,
    learn_highest_remote,
    next_run,
    next_try,
    runs_tasks,
    store_is_up,
)
from emulator.rounds.kafka.tier.known import place_of_known
from emulator.rounds.kafka.tier.lineage import is_in_lineage
from emulator.rounds.kafka.tier.metadata import remote_log_start, write_event
from emulator.rounds.kafka.tier.records import (
    COPY_FINISHED,
    DELETE_FINISHED,
    DELETE_STARTED,
    LEADER_DUTY,
    NO_SEGMENT,
    RemoteSegment,
    TierReplica,
)
from emulator.rounds.lists import append, clear, every
from emulator.rounds.records import Rows


@compiled_into_callers
def run_expiry_tasks(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> None:
    """Leaders of a tiered topic, copying or not, whose task is due."""
    settings = inputs.settings[part.settings]
    for slot in range(part.slots):
        tier = tiers.replicas[slot]
        is_due = part.now * settings.round_ms >= tier.expiry_next_ms
        if tier.duty == LEADER_DUTY and is_due and runs_tasks(part, replicas, slot):
            if expire(lists, tiers, inputs, part, replicas[slot], slot, settings, rules):
                tier.expiry_failures = 0
                tier.expiry_next_ms = next_run(part.now, settings, tier.expiry_next_ms)
            else:
                tier.expiry_failures += 1
                tier.expiry_next_ms = next_try(part.now, settings, tier.expiry_next_ms, tier.expiry_failures)


@compiled
def is_of_log(lists: Lists, tiers: TierLists, segment: RemoteSegment, replica: Replica) -> bool:
    """Whether a remote segment is in the lineage of a replica's log."""
    first = tiers.whole[0].epochs.start + segment.first_epoch
    cache, end_offset = lists.epochs, segment.end_offset
    return is_in_lineage(tiers.remote_epochs, first, segment.epochs, end_offset, cache, replica.epochs, replica.leo)


@compiled
def note_lineage(lists: Lists, tiers: TierLists, part: Partition, replicas: Rows[Replica]) -> None:
    """At the run's end: which remote segments are of T's log, or of the last leader's."""
    for at in every(tiers.whole[0].segments):
        segment = tiers.remote[at]
        segment.in_lineage = 0
        if part.client_leader != NOBODY and is_of_log(lists, tiers, segment, replicas[part.client_leader]):
            segment.in_lineage = 1


@compiled
def expire(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, slot: int, settings: Settings, rules: Rules
) -> bool:
    """One run; whether it ended well."""
    tier = tiers.replicas[slot]
    if not can_use_metadata(tiers, inputs, part, replica):
        return False
    if tier.living == 0:
        return True
    if replica.highest_remote == UNKNOWN and rules.know_remote_first:
        learn_highest_remote(lists, tiers, replica, tier, rules)
    work = lists.filled[0].expired
    clear(work)
    log_start = choose(lists, tiers, part, replica, tier, settings)
    if not rules.log_start_first:  # a mutant's: when nothing goes, to what is left
        is_done = work.count == 0
        log_start = remote_log_start(lists, tiers, tier, replica.epochs, replica.local_start) if is_done else replica.log_start
    if work.full or log_start > replica.hw:
        return False
    if log_start > replica.log_start:
        raise_log_start(lists, replica, log_start)
        replica.compares = 1
    if not delete_chosen(lists, tiers, inputs, part, replica, slot, rules):
        return False
    choose_older(lists, tiers, replica, tier)  # by what it has read by now: who writes has read all before
    return delete_chosen(lists, tiers, inputs, part, replica, slot, rules)


@compiled
def delete_chosen(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, slot: int, rules: Rules
) -> bool:
    """Delete what is in `expired`, one after the other; the first that the store fails ends it. Returns whether all went."""
    work = lists.filled[0].expired
    for at in every(work):
        if not delete_remote(lists, tiers, inputs, part, replica, slot, tiers.expired[at].segment, rules):
            return False
    clear(work)
    return True


@compiled
def size_of_log(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica) -> int:
    """Bytes of the whole log: local segments from the highest remote offset on, and copied ones in lineage, as its epochs list
    them (RLMExpirationTask.buildRetentionSizeData).
    """
    total = replica.active_bytes if replica.active_base >= replica.highest_remote else 0
    for at in every(replica.segments):
        if lists.segments[at].base_offset >= replica.highest_remote:
            total += lists.segments[at].size_bytes
    for at in every(tier.known):
        number = tiers.known[at].segment
        if tiers.known_states[tier.states.start + number].state != COPY_FINISHED or not is_listed_here(
            lists, tiers, replica, tier, at
        ):
            continue
        segment = tiers.remote[tiers.whole[0].segments.start + number]
        if is_of_log(lists, tiers, segment, replica):
            total += segment.size_bytes
    return total


@compiled
def is_listed_here(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica, at: int) -> bool:
    """Whether an entry is the first, of the epochs of a replica's cache, to list its segment."""
    known = tiers.known[at]
    if place_in_cache(lists, replica, known.epoch) < 0:
        return False
    segment = tiers.remote[tiers.whole[0].segments.start + known.segment]
    first = tiers.whole[0].epochs.start + segment.first_epoch
    for place in range(first, first + segment.epochs):
        epoch = tiers.remote_epochs[place].epoch
        if epoch >= known.epoch:
            return True
        if place_in_cache(lists, replica, epoch) >= 0 and is_known(tiers, tier, epoch, known.segment):
            return False
    return True


@compiled
def is_known(tiers: TierLists, tier: TierReplica, epoch: int, number: int) -> bool:
    """Whether an epoch lists a segment."""
    served = place_of_known(tiers.known, tier.known, epoch, number, 1)
    return served >= 0 or place_of_known(tiers.known, tier.known, epoch, number, 0) >= 0


@compiled
def place_in_cache(lists: Lists, replica: Replica, epoch: int) -> int:
    """Where an epoch stands in a replica's cache, -1 if it does not."""
    for at in every(replica.epochs):
        if lists.epochs[at].epoch == epoch:
            return at
    return -1


@compiled
def is_chosen(lists: Lists, tiers: TierLists, number: int) -> bool:
    """Whether a segment is to be deleted already: it may stand in several epochs."""
    found = False
    for at in every(lists.filled[0].expired):
        found = found or tiers.expired[at].segment == number
    return found


@compiled
def choose(lists: Lists, tiers: TierLists, part: Partition, replica: Replica, tier: TierReplica, settings: Settings) -> int:
    """Into `expired` the segments that go, epoch by epoch, oldest first, up to one that stays. Returns the new log start."""
    log_start = replica.log_start
    breached = 0
    if settings.retention_bytes != UNKNOWN:
        breached = size_of_log(lists, tiers, replica, tier) - settings.retention_bytes
    work = lists.filled[0].expired
    first_epoch = lists.epochs[replica.epochs.start].epoch if replica.epochs.count else UNKNOWN
    for place in every(replica.epochs):
        for at in every(tier.known):
            known = tiers.known[at]
            if known.epoch > lists.epochs[place].epoch:
                break  # entries stand by epoch
            if known.epoch != lists.epochs[place].epoch or is_chosen(lists, tiers, known.segment):
                continue
            if known.segment == tier.copying:
                return log_start
            segment = tiers.remote[tiers.whole[0].segments.start + known.segment]
            state = tiers.known_states[tier.states.start + known.segment].state
            is_below = last_epoch_of(tiers, known.segment) <= first_epoch and segment.end_offset < replica.log_start
            if state == DELETE_STARTED or is_below:
                tiers.expired[append(work)].segment = known.segment
                continue
            if not is_of_log(lists, tiers, segment, replica):
                continue
            is_old = settings.retention_rounds != UNKNOWN and part.now - segment.newest_round >= settings.retention_rounds
            if not is_old and (breached <= 0 or segment.size_bytes > breached):
                return log_start
            breached -= segment.size_bytes
            log_start = max(log_start, segment.end_offset + 1)
            tiers.expired[append(work)].segment = known.segment
    return log_start


@compiled
def first_to_stay(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica) -> tuple[bool, int]:
    """As `choose` and `choose_older` go: (whether a segment goes whatever the limits, or may as the log grows; else the number
    of the first one that limits keep, NO_SEGMENT: there is none). Entries stand by epoch.
    """
    if replica.epochs.count == 0:
        return False, NO_SEGMENT
    first_epoch = lists.epochs[replica.epochs.start].epoch
    at, end = tier.known.start, tier.known.start + tier.known.count
    while at < end and tiers.known[at].epoch < first_epoch:
        if last_epoch_of(tiers, tiers.known[at].segment) < first_epoch:
            return True, NO_SEGMENT
        at += 1
    for place in every(replica.epochs):
        epoch = lists.epochs[place].epoch
        while at < end and tiers.known[at].epoch <= epoch:
            number = tiers.known[at].segment
            if tiers.known[at].epoch == epoch:
                if number == tier.copying:
                    return False, NO_SEGMENT
                segment = tiers.remote[tiers.whole[0].segments.start + number]
                state = tiers.known_states[tier.states.start + number].state
                is_below = last_epoch_of(tiers, number) <= first_epoch and segment.end_offset < replica.log_start
                if state == DELETE_STARTED or is_below or segment.end_offset >= replica.leo:
                    return True, NO_SEGMENT
                if is_of_log(lists, tiers, segment, replica):
                    return False, number
            at += 1
    return False, NO_SEGMENT


@compiled
def last_epoch_of(tiers: TierLists, number: int) -> int:
    """The last epoch in a remote segment."""
    segment = tiers.remote[tiers.whole[0].segments.start + number]
    return tiers.remote_epochs[tiers.whole[0].epochs.start + segment.first_epoch + segment.epochs - 1].epoch


@compiled
def choose_older(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica) -> None:
    """Then segments that have only epochs older than the cache's first: unreferenced, left by unclean elections."""
    if replica.epochs.count == 0:
        return
    first_epoch = lists.epochs[replica.epochs.start].epoch
    for at in every(tier.known):
        known = tiers.known[at]
        if known.epoch >= first_epoch:
            return  # entries stand by epoch
        if not is_chosen(lists, tiers, known.segment) and last_epoch_of(tiers, known.segment) < first_epoch:
            tiers.expired[append(lists.filled[0].expired)].segment = known.segment


@compiled
def delete_remote(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, slot: int, number: int, rules: Rules
) -> bool:
    """DELETE_STARTED, the data, DELETE_FINISHED; false if the store is away, with the segment in DELETE_STARTED."""
    whole, segment = tiers.whole[0], tiers.remote[tiers.whole[0].segments.start + number]
    is_first = segment.deleted_epoch == UNKNOWN
    write_event(tiers, part, number, DELETE_STARTED, slot, rules)
    if is_first and replica.epochs.count and last_epoch_of(tiers, number) < lists.epochs[replica.epochs.start].epoch:
        segment.was_unreferenced = 1
    was_deleted = segment.state == DELETE_FINISHED  # another leader was faster
    whole.delete_requests += 1
    if not store_is_up(tiers, inputs):
        whole.delete_errors += 1
        return False
    write_event(tiers, part, number, DELETE_FINISHED, slot, rules)
    whole.deleted_bytes += segment.stored_bytes
    segment.stored_bytes = 0
    whole.segments.changes += 1
    if not was_deleted:
        end = segment.end_offset + 1
        tell(lists, part, REMOTE_DELETE, replica.broker, segment.leader_epoch, segment.base_offset, end, -1)
    return True
