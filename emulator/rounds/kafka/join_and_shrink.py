"""Step 5, join and shrink: who joins the ISR, who is to leave it, and so who holds the high watermark back."""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.advance_high_watermark import advance_high_watermark
from emulator.rounds.kafka.constants import NEVER, UNKNOWN, UNTOLD
from emulator.rounds.kafka.eligible_leaders import change_isr
from emulator.rounds.kafka.input_records import Rules, ScenarioRow, Settings
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.leaps import is_due
from emulator.rounds.records import Rows
from emulator.rounds.slots import first_in_order, has, size


@compiled_into_callers
def join_and_shrink(part: Partition, replicas: Rows[Replica], scenario: ScenarioRow, settings: Settings, rules: Rules) -> None:
    """Steps 5 and 6, for a T that is ready: the high watermark is taken with who joins, and again without who leaves.

    Changes of the ISR are confirmed in this round if the controller is up and T in touch with it. Else one of them is pending, a
    joiner or those who are to leave, and as long as it is nobody else joins or leaves (KIP-497, Partition.canAddReplicaToIsr). If
    the controller refuses it then, nothing is pending any more (Partition.handleAlterPartitionError).
    """
    confirms = not part.controller_down and not replicas[part.client_leader].status & UNTOLD
    if confirms and part.asked_in_vain:
        part.pending_joins = 0
        part.pending_shrinks = 0
    pending = part.pending_joins
    joiners = joiners_of(part, replicas, rules, part.known_isr | pending | part.pending_shrinks)
    shrunk = 0
    if is_due(part.now, settings.round_ms, settings.isr_check_ms):
        shrunk = laggards_of(part, replicas, settings, part.known_isr | joiners)
    if confirms:
        joins = (pending | joiners) & part.unfenced & part.assigned
        leaving = part.pending_shrinks | shrunk
    else:
        joins, leaving = 0, 0
        if pending | part.pending_shrinks:
            joiners, shrunk = 0, 0
        elif joiners:
            joiners, shrunk = 1 << first_in_order(part.order, joiners), 0
    caught_up = caught_up_outside(part, replicas, settings, part.known_isr & ~leaving)
    entering = joiners | pending & (part.unfenced if confirms else -1)
    isr_joined = part.isr | joins if confirms else part.known_isr
    isr_after = isr_joined & ~leaving if confirms else part.known_isr
    held, held_after = part.known_isr, part.known_isr & ~leaving
    if rules.wait_for_maximal_isr:
        held |= caught_up | entering
        held_after |= caught_up | entering & ~leaving
    if not confirms:
        held_after = held
    part.held = held_after & part.assigned | 1 << part.client_leader
    advance_high_watermark(part, replicas, settings, rules, isr_joined, held, isr_after, held_after)
    if confirms:
        confirm(part, settings, scenario.elr, isr_joined, isr_after)
    else:
        part.pending_joins = pending | joiners
        part.pending_shrinks |= shrunk


@compiled
def confirm(part: Partition, settings: Settings, has_elr: int, isr_joined: int, isr_after: int) -> None:
    """The controller takes the changes: first the joins, then the shrinks."""
    part.pending_joins = 0
    part.pending_shrinks = 0
    part.asked_in_vain = 0
    part.joined = isr_joined & ~part.isr
    part.lagged_out = isr_joined & ~isr_after
    if part.joined:
        part.isr_expands += size(part.joined)
        change_isr(part, settings, has_elr, isr_joined, part.assigned)
    if part.lagged_out:
        part.isr_shrinks += size(part.lagged_out)
        change_isr(part, settings, has_elr, isr_after, part.assigned)


@compiled_into_callers
def joiners_of(part: Partition, replicas: Rows[Replica], rules: Rules, members: int) -> int:
    """Who was noted in this round, is no member, and has reached T's high watermark and the start of its epoch."""
    others = part.noted & part.unfenced & part.assigned & ~members
    if others == 0:
        return 0
    joiners = 0
    leader = replicas[part.client_leader]
    for slot in range(part.slots):
        if not has(others, slot):
            continue
        if rules.join_at_high_watermark and replicas[slot].leo < leader.hw_at_start:
            continue
        if rules.join_at_epoch_start and replicas[slot].leo < part.epoch_start:
            continue
        joiners |= 1 << slot
    return joiners


@compiled_into_callers
def laggards_of(part: Partition, replicas: Rows[Replica], settings: Settings, members: int) -> int:
    """Members that are not at T's LEO and were not caught up for longer than replica.lag.time.max.ms."""
    laggards = 0
    for slot in range(part.slots):
        is_member = slot != part.client_leader and has(members & part.assigned, slot)
        if is_member and not is_caught_up(part, replicas, settings, slot):
            laggards |= 1 << slot
    return laggards


@compiled_into_callers
def is_caught_up(part: Partition, replicas: Rows[Replica], settings: Settings, slot: int) -> bool:
    """Whether a follower is at T's LEO, or was caught up within the lag time."""
    replica = replicas[slot]
    if replica.remote_leo != UNKNOWN and replica.remote_leo == replicas[part.client_leader].leo:
        return True
    return replica.caught_up != NEVER and part.now - replica.caught_up <= settings.lag_rounds


@compiled_into_callers
def caught_up_outside(part: Partition, replicas: Rows[Replica], settings: Settings, members: int) -> int:
    """Unfenced replicas that are about to join: they hold the high watermark back as `members`, who stay, do."""
    outside = part.unfenced & part.assigned & ~(members | 1 << part.client_leader)
    if outside == 0:
        return 0
    mask = 0
    for slot in range(part.slots):
        if has(outside, slot) and is_caught_up(part, replicas, settings, slot):
            mask |= 1 << slot
    return mask
