"""Step 1, inputs: what begins in this round takes effect; damage, clean stops, restarts."""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import (
    CHANGES_LOG,
    CLEAN_STOP,
    CONTROLLER_DOWN,
    DISK_LOSS,
    FENCED,
    NO_EPOCH,
    NO_NEWS,
    NOBODY,
    NOT_COVERED,
    OUT_OF_TOUCH,
    POWER_LOSS,
    RESTARTED,
    RETURNING,
    STALE,
    STALE_BEFORE,
)
from emulator.rounds.kafka.epochs import cut_epochs_from
from emulator.rounds.kafka.follow import begin_to_follow, cut_to_high_watermark
from emulator.rounds.kafka.input_records import Inputs, Rules
from emulator.rounds.kafka.log import cut_log, empty_log, follow_high_watermark
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.traffic import settle_traffic
from emulator.rounds.records import Rows
from emulator.rounds.slots import has


@compiled
def take_inputs(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """Step 1 behind `follow_inputs`; only in rounds in which an input of the partition changes, or the run begins."""
    for slot in range(part.slots):
        replica = replicas[slot]
        if replica.status & CHANGES_LOG:
            damage(lists, inputs, part, replica)
            if replica.status & RESTARTED and has(part.assigned, slot):
                restart(lists, inputs, part, replicas, slot, rules)


@compiled
def cut_at_start(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """Before KIP-101 followers begin the run by cutting their logs."""
    for slot in range(part.slots):
        if slot != part.leader and has(part.assigned, slot):
            cut_to_high_watermark(lists, inputs, part, replicas[slot], replicas[slot].believed_epoch)


@compiled
def follow_inputs(inputs: Inputs, part: Partition, replicas: Rows[Replica]) -> None:
    """Bring all that comes from outside up to this round, and note when it changes next."""
    while inputs.settings[part.settings + 1].from_round <= part.now:
        part.settings += 1
    while inputs.workload[part.workload + 1].from_round <= part.now:
        part.workload += 1
    part.commands_now = 0
    while inputs.commands[part.command].at_round <= part.now:
        part.command += 1
        part.commands_now += 1
    change = min(inputs.settings[part.settings + 1].from_round, inputs.workload[part.workload + 1].from_round)
    change = min(change, inputs.commands[part.command].at_round)
    if part.commands_now:
        change = part.now + 1
    part.unfenced = 0
    part.returning = 0
    for slot in range(part.slots):
        replica = replicas[slot]
        at = replica.span
        while inputs.spans[at + 1].from_round <= part.now:
            at += 1
        if at != replica.span or part.now == 0:
            replica.span = at
            read_span(inputs, part, replicas, slot)
        change = min(change, inputs.spans[at + 1].from_round)
        if not replica.status & FENCED:
            part.unfenced |= 1 << slot
        if replica.status & RETURNING:
            part.returning |= 1 << slot
        if replica.status & RESTARTED and has(part.pending_joins, slot):
            part.asked_in_vain = 1  # KIP-903: INELIGIBLE_REPLICA, for it asked to join as another broker
    part.controller_down = replicas[0].status & CONTROLLER_DOWN
    part.next_change = change


@compiled
def read_span(inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int) -> None:
    """What is so of a replica's broker from this round on."""
    replica = replicas[slot]
    span = inputs.spans[replica.span]
    lag = inputs.stale[span.stale, part.stale_class]
    replica.status = span.status
    if lag != NOT_COVERED:
        replica.status |= STALE
    if inputs.stale[span.stale_before, part.stale_class] != NOT_COVERED:
        replica.status |= STALE_BEFORE
    replica.news_lag = NO_NEWS if lag == NOT_COVERED or span.status & OUT_OF_TOUCH else lag
    replica.cause = span.cause
    replica.disk_bytes = span.disk_bytes
    replica.fetch_max_bytes = span.fetch_max_bytes
    replica.response_max_bytes = span.response_max_bytes
    replica.no_wait = span.no_wait
    replica.cuts = 0
    replica.slow_to = 0
    replica.far_to = 0
    for other in range(part.slots):
        place = replicas[other].broker_place
        for at in range(span.first_cut, span.first_cut + span.cut_count):
            if inputs.links[at].peer == place:
                replica.cuts |= 1 << other
        for at in range(span.first_slow, span.first_slow + span.slow_count):
            if inputs.links[at].peer == place:
                replica.slow_to |= 1 << other
        for at in range(span.first_far, span.first_far + span.far_count):
            if inputs.links[at].peer == place:
                replica.far_to |= 1 << other


@compiled
def damage(lists: Lists, inputs: Inputs, part: Partition, replica: Replica) -> None:
    """What power_loss and disk_loss take from a log, and what a controlled shutdown saves."""
    leo = replica.leo
    if replica.status & CLEAN_STOP:
        replica.checkpoint = replica.hw
        replica.flushed = leo
    if replica.status & DISK_LOSS:
        empty_log(replica)
    elif replica.status & POWER_LOSS:
        kept = max(min(leo, replica.flushed), replica.local_start)
        cut_log(lists, inputs, part, replica, kept)
        cut_epochs_from(lists.epochs, replica, kept)
    if replica.leo < leo:
        replica.damaged_from = replica.leo
        replica.damaged_to = leo
        replica.damaged_round = min(replica.damaged_round, part.now)
        replica.impaired = 1
    replica.compares = 1


@compiled
def restart(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], slot: int, rules: Rules) -> None:
    """A broker that starts again replays the metadata before it registers: it follows whom the controller has as leader."""
    replica = replicas[slot]
    follow_high_watermark(replica, replica.checkpoint)
    settle_traffic(lists, inputs, part, replicas, slot, part.now)
    replica.leading_epoch = NO_EPOCH
    replica.believed_leader = part.leader
    replica.believed_epoch = part.epoch
    replica.late_leader = NOBODY
    begin_to_follow(lists, inputs, part, replica, rules)
