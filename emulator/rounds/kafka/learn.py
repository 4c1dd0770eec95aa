"""Steps 8 and 9: who hears the controller learns what it says; then checkpoints and flushes."""

from __future__ import annotations

from emulator.rounds.compiled import compiled_into_callers
from emulator.rounds.kafka.constants import BEFORE_THE_RUN, DEAF, NO_EPOCH, NOBODY, NOT_RUNNING
from emulator.rounds.kafka.epochs import assign_epoch
from emulator.rounds.kafka.fence_and_elect import take_lead
from emulator.rounds.kafka.follow import begin_to_follow
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.late_response import keep_response
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.traffic import settle_traffic
from emulator.rounds.leaps import is_due
from emulator.rounds.lists import every
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled_into_callers
def learn(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules, ready: bool) -> None:
    """Step 8: whoever is not deaf believes the controller; who leads by that is ready, the others follow.

    What T committed up to now stays committed if it steps down; `ready`: of T, in this round.
    """
    if ready:
        part.lead_hw = replicas[part.client_leader].hw
    if not rules.response_in_leader_epoch:
        for slot in range(part.slots):
            leader, epoch = told(lists, part, replicas, slot)
            if epoch != NO_EPOCH:
                keep_response(lists, inputs, part, replicas, slot, leader, epoch)
    for slot in range(part.slots):
        leader, epoch = told(lists, part, replicas, slot)
        if epoch != NO_EPOCH:
            believe(lists, inputs, part, replicas, slot, leader, epoch, rules)
    if part.client_leader == NOBODY:
        return
    replica = replicas[part.client_leader]
    if not replica.status & DEAF:
        part.known_isr = part.isr


@compiled_into_callers
def told(lists: Lists, part: Partition, replicas: Rows[Replica], slot: int) -> tuple[int, int]:
    """(leader, epoch) that a replica learns now: the controller's, or late news above what it believes; NO_EPOCH: none."""
    replica = replicas[slot]
    if not has(part.assigned, slot):
        return NOBODY, NO_EPOCH
    if not replica.status & DEAF:
        return part.leader, part.epoch
    if replica.news_lag < 0:
        return NOBODY, NO_EPOCH
    leader, epoch = NOBODY, NO_EPOCH
    for at in every(part.news):
        entry = lists.news[at]
        if entry.at_round <= max(part.now - replica.news_lag, BEFORE_THE_RUN):
            leader, epoch = entry.leader, entry.epoch
    return (leader, epoch) if epoch > replica.believed_epoch else (NOBODY, NO_EPOCH)


@compiled_into_callers
def believe(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    slot: int,
    leader: int,
    epoch: int,
    rules: Rules,
) -> None:
    """A replica is told of a leader and an epoch."""
    replica = replicas[slot]
    is_new = replica.believed_leader != leader or replica.believed_epoch != epoch
    if slot != leader:
        replica.leading_epoch = NO_EPOCH
        if is_new:
            settle_traffic(lists, inputs, part, replicas, slot, part.now)
            replica.believed_leader = leader
            replica.believed_epoch = epoch
            begin_to_follow(lists, inputs, part, replica, rules)
        return
    if replica.leading_epoch == epoch:
        return
    if slot == part.client_leader and epoch == part.client_epoch:
        take_lead(lists, inputs, part, replicas, rules)
    else:  # late news of a leadership that is over: it leads all the same, until it learns more
        settle_traffic(lists, inputs, part, replicas, slot, part.now)
        if rules.entry_at_election:
            assign_epoch(lists.epochs, replica, epoch, replica.leo)
        replica.leading_epoch = epoch
        replica.believed_leader = slot
        replica.believed_epoch = epoch
        replica.truncating = 0
    replica.compares = 1


@compiled_into_callers
def checkpoint_and_flush(part: Partition, replicas: Rows[Replica], settings: Settings) -> None:
    """Step 9: in rounds in which they are due running replicas write the high watermark checkpoint, and flush."""
    checkpoints = is_due(part.now, settings.round_ms, settings.checkpoint_ms)
    flushes = settings.flush_ms > 0 and is_due(part.now, settings.round_ms, settings.flush_ms)
    if not (checkpoints or flushes):
        return
    for slot in range(part.slots):
        replica = replicas[slot]
        if replica.status & NOT_RUNNING:
            continue
        if checkpoints:
            replica.checkpoint = replica.hw
        if flushes:
            replica.flushed = replica.leo
