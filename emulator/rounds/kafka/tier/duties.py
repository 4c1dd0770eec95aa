"""Who leads copies and expires, who follows keeps an eye on how far it is tiered; a new duty begins at once (step 9)."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import ISOLATED, NO_EPOCH, NOT_RUNNING, OFFLINE, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.metadata import highest_remote_of
from emulator.rounds.kafka.tier.records import (
    COPY_FINISHED,
    DELETE_FINISHED,
    FOLLOWER_DUTY,
    LEADER_DUTY,
    NO_DUTY,
    NO_SEGMENT,
    NOT_LOOKED_UP,
    TierReplica,
)
from emulator.rounds.lists import every
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def runs_tasks(part: Partition, replicas: Rows[Replica], slot: int) -> bool:
    """Whether a slot's broker runs and is a replica."""
    return has(part.assigned, slot) and not replicas[slot].status & NOT_RUNNING


@compiled_into_callers
def store_is_up(tiers: TierLists, inputs: Inputs) -> bool:
    """Whether the remote store answers in this round."""
    return inputs.store[tiers.whole[0].store].is_up != 0


@compiled_into_callers
def can_use_metadata(tiers: TierLists, inputs: Inputs, part: Partition, replica: Replica) -> bool:
    """Whether a broker can write metadata, and ask for it: the store's own (`list`) only while it is up."""
    if inputs.scenarios[part.scenario].by_list:
        return store_is_up(tiers, inputs)
    return not replica.status & ISOLATED


@compiled
def retry_rounds(settings: Settings, failures: int) -> int:
    """Rounds until a task runs again that failed so often in a row: twice as many each time."""
    wait = settings.retry_ms
    for _ in range(failures - 1):
        if wait >= settings.retry_most_ms:
            break
        wait *= 2
    return max(1, min(settings.retry_most_ms, wait) // settings.round_ms)


@compiled
def end_of_run(now: int, settings: Settings, due_ms: int) -> int:
    """The ms at which a run of this round ended: when it was due, or with the round if it took longer, or had to wait."""
    return due_ms if due_ms > (now - 1) * settings.round_ms else now * settings.round_ms


@compiled
def task_interval_ms(settings: Settings) -> int:
    """Ms from the end of a task to its next run: a round at least."""
    return max(settings.task_ms, settings.round_ms)


@compiled
def next_run(now: int, settings: Settings, due_ms: int) -> int:
    """The ms at which a task is due again that ended well in this round."""
    return end_of_run(now, settings, due_ms) + task_interval_ms(settings)


@compiled
def next_try(now: int, settings: Settings, due_ms: int, failures: int) -> int:
    """Likewise, one that failed so often in a row."""
    return end_of_run(now, settings, due_ms) + retry_rounds(settings, failures) * settings.round_ms


@compiled_into_callers
def follow_truncation(part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """What was cut off a log is not tiered any more, as far as this log goes; Kafka to 4.3 never lowers it (a mutant)."""
    if not rules.forget_on_truncation:
        return
    for slot in range(part.slots):
        if has(part.assigned, slot) and replicas[slot].highest_remote >= replicas[slot].leo:
            replicas[slot].highest_remote = replicas[slot].leo - 1


@compiled_into_callers
def assign_duties(tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """Duties follow beliefs; who leads again in another epoch goes on with its tasks (doHandleLeaderPartition)."""
    settings = inputs.settings[part.settings]
    for slot in range(part.slots):
        replica, tier = replicas[slot], tiers.replicas[slot]
        if not runs_tasks(part, replicas, slot):
            continue
        epoch = replica.leading_epoch if settings.tiered else NO_EPOCH
        duty = NO_DUTY
        if settings.tiered:
            duty = FOLLOWER_DUTY if epoch == NO_EPOCH else LEADER_DUTY
        if duty == tier.duty:
            tier.duty_epoch = epoch
            continue
        if tier.copying != NO_SEGMENT:
            if inputs.scenarios[part.scenario].finishes and settings.tiered:
                tier.orphaned = 1
            else:
                give_up_copy(tiers, tier)
        tier.duty = duty
        tier.duty_epoch = epoch
        tier.copied = NOT_LOOKED_UP
        tier.knows_log_start = 0
        tier.copy_next_ms = tier.expiry_next_ms = tier.follower_next_ms = part.now * settings.round_ms
        tier.copy_failures = tier.expiry_failures = tier.follower_failures = 0


@compiled
def forget_tasks(tier: TierReplica) -> None:
    """A process that ends knows nothing of its tasks any more; what it read of the metadata stays."""
    tier.duty = NO_DUTY
    tier.duty_epoch = NO_EPOCH
    tier.copied = NOT_LOOKED_UP
    tier.knows_log_start = 0
    tier.copy_next_ms = tier.expiry_next_ms = tier.follower_next_ms = 0
    tier.copy_failures = tier.expiry_failures = tier.follower_failures = 0
    tier.copying = NO_SEGMENT
    tier.left_bytes = 0
    tier.orphaned = 0


@compiled_into_callers
def forget_on_restart(tiers: TierLists, part: Partition, replicas: Rows[Replica]) -> None:
    """Tasks of brokers that are down, and of who is no replica any more, end; nobody goes on with their copies."""
    for slot in range(part.slots):
        if replicas[slot].status & OFFLINE or not has(part.assigned, slot):
            give_up_copy(tiers, tiers.replicas[slot])
            forget_tasks(tiers.replicas[slot])
            replicas[slot].highest_remote = UNKNOWN
            replicas[slot].builds = 0


@compiled
def give_up_copy(tiers: TierLists, tier: TierReplica) -> None:
    """The task lets go of its copy; what it moved lies in the store until expiry finds it."""
    if tier.copying == NO_SEGMENT:
        return
    segment = tiers.remote[tiers.whole[0].segments.start + tier.copying]
    if segment.state != DELETE_FINISHED:
        segment.stored_bytes = segment.size_bytes - tier.left_bytes
        tiers.whole[0].segments.changes += 1
    count_copied(tiers, tier.copying, segment.size_bytes - tier.left_bytes)
    tier.copying = NO_SEGMENT
    tier.left_bytes = 0
    tier.orphaned = 0


@compiled
def count_copied(tiers: TierLists, number: int, moved_bytes: int) -> None:
    """Bytes of an attempt that is over; *again* when an earlier one that moved any has some of the same records.

    Those that were in the store before the run are not of the run.
    """
    whole = tiers.whole[0]
    segment = tiers.remote[whole.segments.start + number]
    of_run_bytes = moved_bytes - segment.moved_bytes
    segment.moved_bytes = moved_bytes
    whole.copy_bytes += of_run_bytes
    whole.segments.changes += 1
    for at in range(whole.segments.start, whole.segments.start + number):
        other = tiers.remote[at]
        if not (other.was_finished or other.moved_bytes > 0):
            continue
        if other.base_offset > segment.end_offset or segment.base_offset > other.end_offset:
            continue
        for one in range(whole.epochs.start + segment.first_epoch, whole.epochs.start + segment.first_epoch + segment.epochs):
            for two in range(whole.epochs.start + other.first_epoch, whole.epochs.start + other.first_epoch + other.epochs):
                if tiers.remote_epochs[one].epoch == tiers.remote_epochs[two].epoch:
                    whole.copied_again_bytes += of_run_bytes
                    return


@compiled
def learn_highest_remote(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica, rules: Rules) -> int:
    """Look up how far the replica's log is tiered; what it knows only rises by that."""
    found = found_remote(lists, tiers, replica, tier, rules)
    replica.highest_remote = max(replica.highest_remote, found)
    return found


@compiled
def found_remote(lists: Lists, tiers: TierLists, replica: Replica, tier: TierReplica, rules: Rules) -> int:
    """How far a replica finds its log tiered."""
    if rules.within_lineage:
        return highest_remote_of(lists, tiers, tier, replica.epochs, replica.leo)
    found = UNKNOWN
    for number in range(tier.states.count):
        if tiers.known_states[tier.states.start + number].state == COPY_FINISHED:
            found = max(found, tiers.remote[tiers.whole[0].segments.start + number].end_offset)
    return found


@compiled_into_callers
def run_follower_tasks(
    lists: Lists, tiers: TierLists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules
) -> None:
    """Followers look up how far their own log is tiered (RLMFollowerTask)."""
    settings = inputs.settings[part.settings]
    for slot in range(part.slots):
        replica, tier = replicas[slot], tiers.replicas[slot]
        if tier.duty != FOLLOWER_DUTY or not runs_tasks(part, replicas, slot):
            continue
        if part.now * settings.round_ms < tier.follower_next_ms:
            continue
        if not can_use_metadata(tiers, inputs, part, replica):
            tier.follower_failures += 1
            tier.follower_next_ms = next_try(part.now, settings, tier.follower_next_ms, tier.follower_failures)
            continue
        learn_highest_remote(lists, tiers, replica, tier, rules)
        tier.follower_failures = 0
        tier.follower_next_ms = next_run(part.now, settings, tier.follower_next_ms)


@compiled
def last_stable_offset(tiers: TierLists, replica: Replica) -> int:
    """The high watermark, or where an open transaction began if that is lower."""
    stable = replica.hw
    for at in every(tiers.whole[0].pins):
        stable = min(stable, tiers.pins[at].offset)
    return stable
