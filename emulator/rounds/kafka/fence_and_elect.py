"""Step 2, fence and elect: fenced brokers leave the ISR, a partition whose leader is gone gets another, commands are carried out.

The controller decides, so nothing happens while it is down. Sources: ReplicationControlManager, PartitionChangeBuilder.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled, compiled_into_callers
from emulator.rounds.kafka.constants import (
    ELECTION,
    LEADER_LOST,
    NEVER,
    NO_EPOCH,
    NO_STRATEGY,
    NOBODY,
    NOT_RUNNING,
    PREFERRED_ELECTION,
    UNCLEAN_ELECTION,
    UNKNOWN,
    UNTOLD,
)
from emulator.rounds.kafka.eligible_leaders import fence_one_by_one, recovered_leader, register_unclean
from emulator.rounds.kafka.epochs import assign_epoch
from emulator.rounds.kafka.input_records import Inputs, Rules, Settings
from emulator.rounds.kafka.leaderships import begin_leadership
from emulator.rounds.kafka.reassign import reassign
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.local_leaders import may_take_over, preferred
from emulator.rounds.kafka.traffic import settle_traffic
from emulator.rounds.leaps import is_due
from emulator.rounds.lists import append, clear
from emulator.rounds.records import Rows
from emulator.rounds.slots import first_in_order, has, size, slot_at


@compiled
def fence_and_elect(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """Step 2, with the controller up."""
    settings, scenario = inputs.settings[part.settings], inputs.scenarios[part.scenario]
    part.leader_at_start = part.leader
    part.epoch_at_start = part.epoch
    if settings.clears_elr:
        part.elr = 0
        part.last_known_elr = 0
    if not part.controller_down:
        was_in_sync, order, target, adding = part.isr, part.order, part.target, part.adding
        fence(part, replicas, settings, rules, scenario.elr)
        part.fenced_out = was_in_sync & ~part.isr
        part.isr_shrinks += size(part.fenced_out)
        is_unclean = elect_if_needed(lists, part, replicas, settings, scenario.elr)
        elect_preferred(lists, inputs, part, replicas, settings)
        is_unclean |= reassign(lists, inputs, part, replicas, settings, scenario.elr)
        announce(lists, part, scenario.late_news)
        if part.isr != was_in_sync or part.order != order or part.target != target or part.adding != adding:
            part.asked_in_vain |= (part.pending_joins | part.pending_shrinks) != 0  # INVALID_UPDATE_VERSION
        if part.leader != NOBODY and part.epoch != part.epoch_at_start:
            begin_leading(lists, inputs, part, replicas, rules, is_unclean)
    part.pending_joins &= part.assigned
    part.pending_shrinks &= part.assigned


@compiled
def fence(part: Partition, replicas: Rows[Replica], settings: Settings, rules: Rules, has_elr: int) -> None:
    """Fenced members leave the ISR; a returning broker counts as fenced here. Without ELR the last one stays."""
    blocked = ~part.unfenced | part.returning
    if has_elr:
        fence_one_by_one(part, settings, blocked)
        register_unclean(part, replicas, settings, rules)
        return
    if part.isr == 0 or part.isr & blocked == 0:
        return
    kept = part.isr & ~blocked
    if kept == 0:
        kept = 1 << (part.leader if has(part.isr, part.leader) else first_in_order(part.order, part.isr))
    part.isr = kept


@compiled
def elect_if_needed(lists: Lists, part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int) -> int:
    """A leader that is gone is followed by another, in two stages. Returns 1 for an unclean election."""
    first_unfenced = part.unfenced & ~part.returning
    if has(first_unfenced & part.assigned, part.leader):
        return 0
    slot, is_unclean = candidate(part, replicas, settings, has_elr, first_unfenced)
    if slot == NOBODY and part.leader != NOBODY:
        lose_leader(lists, part, replicas)
        if has_elr and settings.recovery == NO_STRATEGY and part.isr == 0:
            part.last_known_elr = 1 << part.leader_at_start
    if slot == NOBODY and part.returning & part.assigned:
        slot, is_unclean = candidate(part, replicas, settings, has_elr, part.unfenced)
    if slot == NOBODY:
        return 0
    if is_unclean or part.isr == 0:
        part.isr = 1 << slot
    if has_elr:
        part.elr = 0 if is_unclean else part.elr & ~part.isr
        if is_unclean or settings.recovery == NO_STRATEGY:
            part.last_known_elr = 0
    change_leader(lists, part, replicas, slot, UNCLEAN_ELECTION if is_unclean else ELECTION, cause_of_leader(part, replicas))
    part.unclean_elections += is_unclean
    return is_unclean


@compiled
def candidate(part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int, unfenced: int) -> tuple[int, int]:
    """(who is to lead, 1 if uncleanly): of the ISR, the ELR, the last known leader, what recovery finds, anybody; or NOBODY."""
    able = part.assigned & unfenced
    if part.isr & able:
        return first_in_order(part.order, preferred(part, settings, part.isr & able)), 0
    if has_elr and part.isr == 0 and part.elr & able:
        return first_in_order(part.order, preferred(part, settings, part.elr & able)), 0
    if has_elr and settings.recovery == NO_STRATEGY and part.isr == 0 and part.elr == 0 and part.last_known_elr & able:
        return first_in_order(part.order, part.last_known_elr & able), 1
    if has_elr and settings.recovery != NO_STRATEGY:
        return recovered_leader(part, replicas, settings, unfenced), 1
    if settings.unclean_election:
        return first_in_order(part.order, able), 1
    return NOBODY, 0


@compiled
def cause_of_leader(part: Partition, replicas: Rows[Replica]) -> int:
    """The fault behind an election: T's."""
    return -1 if part.client_leader == NOBODY else replicas[part.client_leader].cause


@compiled
def lose_leader(lists: Lists, part: Partition, replicas: Rows[Replica]) -> None:
    """Nobody leads any more."""
    lost = replicas[part.leader]
    part.leader = NOBODY
    part.epoch += 1
    tell(lists, part, LEADER_LOST, lost.broker, part.epoch, UNKNOWN, UNKNOWN, lost.cause)


@compiled
def change_leader(lists: Lists, part: Partition, replicas: Rows[Replica], slot: int, kind: int, cause: int) -> None:
    """Somebody leads with a new epoch."""
    part.leader = slot
    part.epoch += 1
    part.elections += 1
    tell(lists, part, kind, replicas[slot].broker, part.epoch, replicas[slot].leo, UNKNOWN, cause)


@compiled
def elect_preferred(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings) -> None:
    """preferred_leader_election, also by auto.leader.rebalance.enable: the first of the replica list leads if it can."""
    wanted = settings.rebalance_ms > 0 and part.now > 0 and is_due(part.now, settings.round_ms, settings.rebalance_ms)
    for at in range(part.command - part.commands_now, part.command):
        wanted = wanted or inputs.commands[at].kind == PREFERRED_ELECTION
    first = slot_at(part.order, 0)
    is_able = part.leader != first and has(part.isr & part.unfenced & part.assigned, first)
    if wanted and part.leader != NOBODY and is_able and may_take_over(part, settings, first, part.leader):
        change_leader(lists, part, replicas, first, ELECTION, -1)


@compiled
def announce(lists: Lists, part: Partition, is_late: int) -> None:
    """What the controller holds, for those who learn of it late; a reassignment that adds replicas makes all before old."""
    if not is_late:
        return
    news = part.news
    if part.adds_replicas:
        clear(news)
    elif news.count:
        entry = lists.news[news.start + news.count - 1]
        if entry.leader == part.leader and entry.epoch == part.epoch:
            return
    add_news(lists, part)


@compiled
def begin_leading(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules, is_unclean: int) -> None:
    """The elected replica becomes T; what a new leader knows of the others begins anew (Partition.makeLeader).

    One that goes on in another epoch keeps their LEOs (Replica.resetReplicaState), and whom it owes an answer.
    """
    before, is_kept = part.client_leader, goes_on_leading(part, replicas)
    cause = cause_of_leader(part, replicas)
    gives_up = is_unclean | part.isr_is_forced
    part.isr_is_forced = 0
    if gives_up:
        part.committed_before = 0
    elif before != NOBODY:
        part.committed_before = max(part.committed_before, part.leader_hw)
    begin_leadership(lists, inputs, part, replicas, part.leader, cause, gives_up, part.epoch)
    part.client_leader = part.leader
    part.client_epoch = part.epoch
    part.known_isr = part.isr
    part.pending_joins = 0
    part.pending_shrinks = 0
    part.asked_in_vain = 0
    part.epoch_start = UNKNOWN
    if not is_kept:
        part.owes_from = UNKNOWN
    for slot in range(part.slots):
        replica = replicas[slot]
        if rules.forget_followers or slot == part.leader:
            replica.remote_leo = replica.remote_leo if is_kept else UNKNOWN
            replica.in_line = 0
        replica.caught_up = part.now if has(part.isr, slot) else NEVER
        replica.noted_round = NEVER
        replica.noted_leader_leo = UNKNOWN
        replica.compares = 1
    if not replicas[part.leader].status & UNTOLD:
        take_lead(lists, inputs, part, replicas, rules)


@compiled
def goes_on_leading(part: Partition, replicas: Rows[Replica]) -> bool:
    """Whether the controller's new leader is the one before, whose broker did not stop to lead meanwhile."""
    return part.leader == part.leader_at_start and replicas[part.leader].leading_epoch != NO_EPOCH


@compiled
def take_lead(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], rules: Rules) -> None:
    """T knows that it leads: it is ready."""
    slot = part.client_leader
    replica = replicas[slot]
    settle_traffic(lists, inputs, part, replicas, slot, part.now)
    if rules.entry_at_election:
        assign_epoch(lists.epochs, replica, part.client_epoch, replica.leo)
    if part.owes_from == UNKNOWN or replica.leading_epoch == NO_EPOCH:
        part.owes_from = part.owes_in_run = replica.leo
    replica.leading_epoch = part.client_epoch
    replica.believed_leader = slot
    replica.believed_epoch = part.client_epoch
    replica.truncating = 0
    part.epoch_start = replica.leo
    part.lead_hw = replica.hw


@compiled_into_callers
def is_ready(part: Partition, replicas: Rows[Replica]) -> bool:
    """Whether T runs and knows that it leads."""
    if part.client_leader == NOBODY:
        return False
    replica = replicas[part.client_leader]
    return not replica.status & NOT_RUNNING and replica.leading_epoch == part.client_epoch


@compiled_into_callers
def know_isr(part: Partition, replicas: Rows[Replica]) -> None:
    """T knows the controller's ISR unless it is untold."""
    if part.client_leader != NOBODY and not replicas[part.client_leader].status & UNTOLD:
        part.known_isr = part.isr


@compiled
def add_news(lists: Lists, part: Partition) -> None:
    """From this round on the controller has this leader."""
    entry = lists.news[append(part.news)]
    entry.at_round = part.now
    entry.leader = part.leader
    entry.epoch = part.epoch
