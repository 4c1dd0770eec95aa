"""The copy task: leaders copy closed segments to remote storage (RLMCopyTask; KIP-405, KIP-956, KIP-1241).

Whose turn it is among partitions of a broker is settled before the round (engine/budgets/copy_turns.py): `copy_starts`.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import COPY_FAILED_EVENT, COPY_FINISHED_EVENT, COPY_STARTED_EVENT, NOBODY, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.log import raise_log_start
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.segments import end_of_segment
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.check_tiers import check_begun_copy
from emulator.rounds.kafka.tier.duties import (
    can_use_metadata,
    count_copied,
    give_up_copy,
    last_stable_offset,
    learn_highest_remote,
    next_run,
    next_try,
    runs_tasks,
    store_is_up,
)
from emulator.rounds.kafka.tier.lineage import add_epochs
from emulator.rounds.kafka.tier.metadata import remote_log_start, write_event
from emulator.rounds.kafka.tier.records import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_STARTED,
    LEADER_DUTY,
    NO_SEGMENT,
    NO_STATE,
    NOT_DELETED,
    NOT_LOOKED_UP,
    TierReplica,
)
from emulator.rounds.kafka.tier.within_quota import within_quota
from emulator.rounds.lists import append
from emulator.rounds.records import Rows


@compiled_into_callers
def run_copy_tasks(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> None:
    """Leaders copy what is due; a copy under way goes on, whenever the task is due."""
    settings = inputs.settings[part.settings]
    for slot in range(part.slots):
        tier = tiers.replicas[slot]
        if not runs_tasks(part, replicas, slot):
            continue
        if tier.copying != NO_SEGMENT and not tier.orphaned and not settings.copies:
            give_up_copy(tiers, tier)
        if tier.copying != NO_SEGMENT or (tier.duty == LEADER_DUTY and part.now * settings.round_ms >= tier.copy_next_ms):
            before_bytes = tier.uploaded_bytes
            copy_segments(lists, tiers, inputs, part, replicas, slot, rules)
            tier.most_uploaded_bytes = max(tier.most_uploaded_bytes, tier.uploaded_bytes - before_bytes)


@compiled
def copy_segments(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, rules: Rules
) -> None:
    """One round of a copy task: as many segments as it has bytes for."""
    replica, tier, settings = replicas[slot], tiers.replicas[slot], inputs.settings[part.settings]
    share_bytes = tier.copy_from_bytes if part.now == tier.copy_from else tier.copy_share_bytes
    budget_bytes = bytes_of_round(inputs.store[tiers.whole[0].store].copy_bytes, share_bytes)
    budget_bytes = bytes_of_round(budget_bytes, tier.network_bytes)
    while not is_tier_full(tiers, slot):
        if tier.copying == NO_SEGMENT:
            at = next_segment(lists, tiers, inputs, part, replica, tier, settings, rules)
            if at == NOBODY:
                return
            start_copy(lists, tiers, inputs, part, replicas, slot, at, rules)
        if not store_is_up(tiers, inputs) or not can_use_metadata(tiers, inputs, part, replica):
            fail_copy(lists, tiers, inputs, part, replica, slot, settings, rules)
            return
        moved = tier.left_bytes if budget_bytes == UNKNOWN else min(tier.left_bytes, budget_bytes)
        tier.left_bytes -= moved
        tier.uploaded_bytes += moved
        if budget_bytes != UNKNOWN:
            budget_bytes -= moved
        if tier.left_bytes > 0:
            return
        finish_copy(lists, tiers, part, replica, slot, rules)


@compiled_into_callers
def bytes_of_round(store_bytes: int, share_bytes: int) -> int:
    """What a copy moves in a round: as the store is fast, its broker's other copies, or its network, leave it; UNKNOWN: any."""
    if store_bytes == UNKNOWN or share_bytes == UNKNOWN:
        return max(store_bytes, share_bytes)
    return min(store_bytes, share_bytes)


@compiled_into_callers
def is_tier_full(tiers: TierLists, slot: int) -> bool:
    """Whether a list has no room: the partition is played again with more."""
    whole, tier = tiers.whole[0], tiers.replicas[slot]
    full = whole.segments.full | whole.epochs.full | whole.events.full | whole.pins.full | tier.starts.full
    return (full | tier.known.full | tier.states.full | tier.reaches.full | tier.aux_epochs.full) != 0


@compiled
def next_segment(
    lists: Lists,
    tiers: TierLists,
    inputs: Inputs,
    part: Partition,
    replica: Replica,
    tier: TierReplica,
    settings: Settings,
    rules: Rules,
) -> int:
    """Where the closed segment stands that is copied now; NOBODY: the task's run is over, failed, or waits for its turn."""
    if part.now * settings.round_ms < tier.copy_next_ms:
        return NOBODY
    if tier.duty != LEADER_DUTY or not settings.copies:
        tier.copy_failures = 0
        tier.copy_next_ms = next_run(part.now, settings, tier.copy_next_ms)
        return NOBODY
    if not can_use_metadata(tiers, inputs, part, replica) or not is_prepared(lists, tiers, replica, tier, rules):
        tier.copy_failures += 1
        tier.copy_next_ms = next_try(part.now, settings, tier.copy_next_ms, tier.copy_failures)
        return NOBODY
    at = candidate(lists, tiers, part, replica, settings, max(tier.copied + 1, replica.log_start), rules)
    if at == NOBODY:
        tier.copy_failures = 0
        tier.copy_next_ms = next_run(part.now, settings, tier.copy_next_ms)
    elif not may_start(tiers, inputs, part, replica, tier, settings):
        return NOBODY  # it is due as before
    return at


@compiled
def may_start(tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, tier: TierReplica, settings: Settings) -> bool:
    """Whether the broker's threads and its quota let one more segment begin."""
    if tier.copy_starts != UNKNOWN:
        return tier.copy_starts > 0 and part.now >= tier.copy_from
    return within_quota(tiers, inputs, part, replica, tier, settings)


@compiled
def is_prepared(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica, rules: Rules) -> bool:
    """First of all a new leader finds its log start and how far it is tiered; whether it could."""
    if not tier.knows_log_start:
        start = remote_log_start(lists, tiers, tier, replica.epochs, replica.local_start)
        if start > replica.hw:
            return False
        if start > replica.log_start:
            raise_log_start(lists, replica, start)
            replica.compares = 1
        tier.knows_log_start = 1
    if tier.copied == NOT_LOOKED_UP:
        tier.copied = learn_highest_remote(lists, tiers, replica, tier, rules)
    return True


@compiled
def candidate(
    lists: Lists, tiers: TierLists, part: Partition, replica: Replica, settings: Settings, from_offset: int, rules: Rules
) -> int:
    """Where the closed segment with an offset stands, or the next, if it ends below the last stable offset and has waited."""
    stable = last_stable_offset(tiers, replica) if rules.below_last_stable else replica.leo
    at = next_closed(lists, replica, from_offset)
    if at == NOBODY or end_of_segment(lists.segments, replica, at) > stable:
        return NOBODY
    return at if has_waited(lists, part, replica, settings, at) or not rules.wait_for_lag else NOBODY


@compiled
def next_closed(lists: Lists, replica: Replica, from_offset: int) -> int:
    """Where the closed segment with an offset stands, or the next; NOBODY: there is none. Most lie below it."""
    found = NOBODY
    at = replica.segments.start + replica.segments.count - 1
    while at >= replica.segments.start and end_of_segment(lists.segments, replica, at) > from_offset:
        found = at
        at -= 1
    return found


@compiled
def has_waited(lists: Lists, part: Partition, replica: Replica, settings: Settings, at: int) -> bool:
    """Whether a closed segment has waited for its lag, by age or by what lies behind it (KIP-1241)."""
    if settings.copy_lag_rounds == 0 or settings.copy_lag_bytes == 0:
        return True
    if settings.copy_lag_rounds > 0 and part.now - lists.segments[at].newest_round >= settings.copy_lag_rounds:
        return True
    return 0 < settings.copy_lag_bytes <= bytes_behind(lists, replica, at)


@compiled
def bytes_behind(lists: Lists, replica: Replica, at: int) -> int:
    """Bytes of the log on disk behind a closed segment."""
    behind = replica.active_bytes
    for later in range(at + 1, replica.segments.start + replica.segments.count):
        behind += lists.segments[later].size_bytes
    return behind


@compiled
def start_copy(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, at: int, rules: Rules
) -> None:
    """COPY_STARTED: a remote segment with the epochs inside it, and the checkpoint: all epochs of the log up to its end."""
    replica, tier, whole = replicas[slot], tiers.replicas[slot], tiers.whole[0]
    local, end = lists.segments[at], end_of_segment(lists.segments, replica, at)
    number = whole.segments.count
    segment = tiers.remote[append(whole.segments)]
    segment.base_offset = local.base_offset
    segment.end_offset = end - 1
    segment.first_epoch = whole.epochs.count
    segment.epochs = add_epochs(lists.epochs, replica.epochs, local.base_offset, end, tiers.remote_epochs, whole.epochs)
    segment.first_checkpoint = whole.epochs.count
    segment.checkpoints = add_epochs(lists.epochs, replica.epochs, -1, end, tiers.remote_epochs, whole.epochs)
    segment.size_bytes = local.size_bytes
    segment.newest_round = local.newest_round
    segment.slot = slot
    segment.leader_epoch = tier.duty_epoch
    segment.state = NO_STATE
    segment.was_finished = 0
    segment.stored_bytes = 0
    segment.moved_bytes = 0
    segment.started_round = part.now
    segment.copied_round = UNKNOWN
    segment.deleted_round = NOT_DELETED
    segment.deleted_epoch = UNKNOWN
    segment.was_unreferenced = 0
    start = tiers.starts[append(tier.starts)]
    start.at_round = part.now
    start.size_bytes = local.size_bytes
    if tier.copy_starts > 0:
        tier.copy_starts -= 1
    if whole.segments.full or tier.starts.full:
        return
    check_begun_copy(lists, tiers, inputs, part, replica, slot, inputs.settings[part.settings], number)
    write_event(tiers, part, number, COPY_STARTED, slot, rules)
    whole.copy_requests += 1
    tell(lists, part, COPY_STARTED_EVENT, replica.broker, tier.duty_epoch, local.base_offset, end, -1)
    tier.copying = number
    tier.left_bytes = local.size_bytes
    if not rules.finished_counts:
        replica.highest_remote = max(replica.highest_remote, end - 1)


@compiled
def finish_copy(lists: Lists, tiers: TierLists, part: Partition, replica: Replica, slot: int, rules: Rules) -> None:
    """COPY_FINISHED; nothing else comes of an orphaned copy."""
    tier = tiers.replicas[slot]
    number, orphaned = tier.copying, tier.orphaned
    segment = tiers.remote[tiers.whole[0].segments.start + number]
    segment.stored_bytes = segment.size_bytes
    tiers.whole[0].segments.changes += 1
    write_event(tiers, part, number, COPY_FINISHED, slot, rules)
    count_copied(tiers, number, segment.size_bytes)
    end = segment.end_offset + 1
    tell(lists, part, COPY_FINISHED_EVENT, replica.broker, segment.leader_epoch, segment.base_offset, end, -1)
    tier.copying = NO_SEGMENT
    tier.orphaned = 0
    if not orphaned:
        tier.copied = segment.end_offset
        replica.highest_remote = max(replica.highest_remote, segment.end_offset)


@compiled
def fail_copy(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica, slot: int, settings: Settings, rules: Rules
) -> None:
    """The store fails a copy: its deletion is begun if that can be written, and left to expiry."""
    tier = tiers.replicas[slot]
    number = tier.copying
    segment = tiers.remote[tiers.whole[0].segments.start + number]
    give_up_copy(tiers, tier)
    if can_use_metadata(tiers, inputs, part, replica):
        write_event(tiers, part, number, DELETE_STARTED, slot, rules)
    tiers.whole[0].copy_errors += 1
    end = segment.end_offset + 1
    tell(lists, part, COPY_FAILED_EVENT, replica.broker, segment.leader_epoch, segment.base_offset, end, -1)
    tier.copy_failures += 1
    tier.copy_next_ms = next_try(part.now, settings, tier.copy_next_ms, tier.copy_failures)
