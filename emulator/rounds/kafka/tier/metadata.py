"""The events of remote segments, and what brokers make of those they read (RemoteLogLeaderEpochState).

Events are one log a partition. Who writes one knows it at once, and has read what was written in all rounds before; what others
write is read in a later round.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import NO_NEWS, UNKNOWN
from emulator.rounds.kafka.input_records import Inputs, Rules, ScenarioRow
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists, TierLists
from emulator.rounds.kafka.tier.known import add_known, place_of_reach, serve, set_aside
from emulator.rounds.kafka.tier.lineage import end_of_cached
from emulator.rounds.kafka.tier.records import (
    COPY_FINISHED,
    COPY_STARTED,
    DELETE_FINISHED,
    DELETE_STARTED,
    NO_STATE,
    TierReplica,
)
from emulator.rounds.lists import List, append, clear, every


@compiled
def is_allowed(before: int, after: int) -> bool:
    """Whether a segment's state may follow another (RemoteLogSegmentState)."""
    if before == after:
        return before != NO_STATE
    if before == COPY_STARTED:
        return after in (COPY_FINISHED, DELETE_STARTED)
    return after == before + 1


@compiled
def write_event(tiers: TierLists, part: Partition, number: int, state: int, slot: int, rules: Rules) -> None:
    """Somebody says that a segment enters a state; -1: who removes a whole partition."""
    tier = tiers.whole[0]
    segment = tiers.remote[tier.segments.start + number]
    event = tiers.remote_events[append(tier.events)]
    event.at_round = part.now
    event.segment = number
    event.state = state
    event.slot = slot
    if is_allowed(segment.state, state) or not rules.check_transitions:
        tier.segments.changes += 1
        tier.changes += state != COPY_STARTED
        tier.losses += state in (DELETE_STARTED, DELETE_FINISHED)
        segment.state = state
        if state == DELETE_STARTED and slot >= 0 and segment.deleted_epoch == UNKNOWN:
            segment.deleted_epoch = tiers.replicas[slot].duty_epoch
        if state == COPY_FINISHED:
            segment.was_finished = 1
            segment.copied_round = part.now
        if state == DELETE_FINISHED:
            segment.deleted_round = part.now
    if slot < 0:
        return
    replica = tiers.replicas[slot]
    read_events(tiers, slot, part.now, rules)
    learn_event(tiers, replica, number, state, rules)
    replica.last_own = tier.events.count - 1
    if replica.read_to == replica.last_own:
        replica.read_to += 1


@compiled_into_callers
def metadata_lag(inputs: Inputs, scenario: ScenarioRow, replica: Replica) -> int:
    """Rounds by which a broker reads events late, NO_NEWS: none get through."""
    if scenario.by_list:
        return 0
    lag = inputs.spans[replica.span].metadata_lag
    return NO_NEWS if lag == NO_NEWS else max(lag, scenario.metadata_lag)


@compiled_into_callers
def has_news(tiers: TierLists, slot: int, before_round: int) -> bool:
    """Whether there is an event of a round before one that a broker has not read."""
    events, read_to = tiers.whole[0].events, tiers.replicas[slot].read_to
    return read_to < events.count and tiers.remote_events[events.start + read_to].at_round < before_round


@compiled
def read_events(tiers: TierLists, slot: int, before_round: int, rules: Rules) -> None:
    """A broker learns what was written in rounds before one; what it wrote after that, it takes in again behind it."""
    tier, replica = tiers.whole[0], tiers.replicas[slot]
    anew = False
    while replica.read_to < tier.events.count:
        event = tiers.remote_events[tier.events.start + replica.read_to]
        if event.at_round >= before_round:
            break
        if event.slot != slot:
            if replica.last_own > replica.read_to:
                anew = True
            else:
                learn_event(tiers, replica, event.segment, event.state, rules)
        replica.read_to += 1
    if anew:
        forget_events(replica)
        for at in range(tier.events.count):
            event = tiers.remote_events[tier.events.start + at]
            if at < replica.read_to or event.slot == slot:
                learn_event(tiers, replica, event.segment, event.state, rules)


@compiled
def forget_events(replica: TierReplica) -> None:
    """A broker knows of nothing remote."""
    replica.living = 0
    clear(replica.known)
    clear(replica.states)
    clear(replica.reaches)


@compiled
def learn_event(tiers: TierLists, replica: TierReplica, number: int, state: int, rules: Rules) -> None:
    """Take one event into what a broker knows; one that the segment's state does not allow changes nothing."""
    while replica.states.count <= number and not replica.states.full:
        tiers.known_states[append(replica.states)].state = NO_STATE
    if replica.states.full:
        return
    known = tiers.known_states[replica.states.start + number]
    before = known.state
    if rules.check_transitions and not is_allowed(before, state):
        return
    if before == state and state != DELETE_STARTED:
        return
    known.state = state
    replica.states.changes += 1
    if before in (NO_STATE, DELETE_FINISHED):
        replica.living += 1
    if state == DELETE_FINISHED:
        replica.living -= 1
    tier = tiers.whole[0]
    segment = tiers.remote[tier.segments.start + number]
    first = tier.epochs.start + segment.first_epoch
    for at in range(first, first + segment.epochs):
        epoch, start = tiers.remote_epochs[at].epoch, tiers.remote_epochs[at].start_offset
        end = tiers.remote_epochs[at + 1].start_offset - 1 if at + 1 < first + segment.epochs else segment.end_offset
        if state == COPY_STARTED:
            add_known(tiers.known, replica.known, segment, number, epoch, start, end, 0)
        elif state == COPY_FINISHED:
            serve(tiers, replica, segment, number, epoch, start, end)
        else:
            set_aside(tiers.known, replica.known, segment, number, epoch, start, end, state == DELETE_STARTED)


@compiled
def look_up(tiers: TierLists, replica: TierReplica, epoch: int, offset: int, rules: Rules) -> int:
    """The number of the copied segment that serves an offset of an epoch, -1 if there is none."""
    if not rules.lookup_by_epoch:  # a mutant's: any that has the offset
        for number in range(replica.states.count):
            if tiers.known_states[replica.states.start + number].state == COPY_FINISHED:
                segment = tiers.remote[tiers.whole[0].segments.start + number]
                if segment.base_offset <= offset <= segment.end_offset:
                    return number
        return -1
    best = -1
    for at in every(replica.known):
        entry = tiers.known[at]
        serves = entry.epoch == epoch and entry.served and entry.start_offset <= offset
        if serves and (best < 0 or entry.start_offset > tiers.known[best].start_offset):
            best = at
    return tiers.known[best].segment if best >= 0 and offset <= tiers.known[best].end_offset else -1


@compiled
def highest_remote_of(lists: Lists, tiers: TierLists, replica: TierReplica, log: List, leo: int) -> int:
    """How far a log is tiered: the newest of its epochs of which anything was ever copied decides (findHighestRemoteOffset)."""
    for at in range(log.start + log.count - 1, log.start - 1, -1):
        reach = place_of_reach(tiers, replica, lists.epochs[at].epoch)
        if reach >= 0:
            return min(tiers.reaches[reach].offset, end_of_cached(lists.epochs, log, at, leo) - 1)
    return UNKNOWN


@compiled
def remote_log_start(lists: Lists, tiers: TierLists, replica: TierReplica, log: List, local_start: int) -> int:
    """The base of the first segment of the oldest epoch that has any, else the local log start (findLogStartOffset)."""
    for at in every(log):
        for place in every(replica.known):
            if tiers.known[place].epoch == lists.epochs[at].epoch:
                return tiers.known[place].base_offset
    return local_start
