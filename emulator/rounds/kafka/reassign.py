"""Reassignments, of step 2: a partition gets other replicas, and lets go of the old ones when the new ones are in the ISR.

Sources: ReplicationControlManager (changePartitionReassignment, cancelPartitionReassignment), PartitionReassignmentReplicas,
PartitionReassignmentRevert, PartitionChangeBuilder; KIP-455.
"""

from __future__ import annotations

from emulator.rounds.compiled import compiled
from emulator.rounds.kafka.constants import (
    ELECTION,
    LEADER_LOST,
    NEVER,
    NO_EPOCH,
    NO_STRATEGY,
    NOBODY,
    REASSIGN,
    REASSIGNMENT_COMPLETED,
    UNCLEAN_ELECTION,
    UNKNOWN,
)
from emulator.rounds.kafka.eligible_leaders import change_isr
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.log import empty_log
from emulator.rounds.kafka.records import Partition, Replica
from emulator.rounds.kafka.scratch_lists import Lists
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.local_leaders import preferred
from emulator.rounds.kafka.traffic import settle_traffic
from emulator.rounds.records import Rows
from emulator.rounds.slots import ORDER_BITS, first_in_order, has, order_within, size, slots_in


@compiled
def reassign(lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int) -> int:
    """The commands of this round in turn, each to its end if it has come to it. Returns 1 for an unclean election."""
    part.adds_replicas = 0
    is_unclean = 0
    for at in range(part.command - part.commands_now, part.command):
        command = inputs.commands[at]
        if command.kind == REASSIGN and command.order:
            begin_reassignment(lists, part, replicas, settings, has_elr, command.order)
            complete_reassignment(lists, inputs, part, replicas, settings, has_elr)
        elif command.kind == REASSIGN:
            is_unclean |= cancel_reassignment(lists, inputs, part, replicas, settings, has_elr)
    complete_reassignment(lists, inputs, part, replicas, settings, has_elr)
    return is_unclean


@compiled
def begin_reassignment(
    lists: Lists, part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int, wanted_order: int
) -> None:
    """Replicas are those wanted, then those to be removed by broker id; who is added starts empty, out of the ISR.

    What there is nobody of stays as the reassignment under way has it: who is added, who is removed. Without either it is
    another order of the same replicas, which holds at once.
    """
    wanted = slots_in(wanted_order)
    adding, removing = wanted & ~part.assigned, part.assigned & ~wanted
    if removing == 0 and part.target:
        removing = part.assigned & ~slots_in(part.target)
    if adding:
        part.adding = adding
        part.adds_replicas |= adding
    part.assigned |= wanted
    part.order = order_with_rest(wanted_order, part.assigned & ~wanted, replicas)
    part.target = order_within(part.order, part.assigned & ~removing) if removing or part.adding else 0
    if part.target == 0:
        change_isr(part, settings, has_elr, part.isr, part.assigned)
        tell_completed(lists, part, replicas)


@compiled
def order_with_rest(wanted_order: int, rest: int, replicas: Rows[Replica]) -> int:
    """The slots of an order, then those of the mask `rest` by broker id."""
    order = wanted_order
    place = size(slots_in(wanted_order))
    while rest:
        least = NOBODY
        for slot in range(len(replicas)):
            if has(rest, slot) and (least == NOBODY or replicas[slot].broker < replicas[least].broker):
                least = slot
        rest &= ~(1 << least)
        order |= (least + 1) << (place * ORDER_BITS)
        place += 1
    return order


@compiled
def complete_reassignment(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int
) -> None:
    """All that are to stay are in the ISR (KAFKA-15665): they hold, the others lose their logs at once.

    A new epoch if that drops a replica or changes the leader (PartitionChangeBuilder).
    """
    if part.target == 0:
        return
    wanted = slots_in(part.target)
    if wanted & ~part.isr:
        return
    is_kept = has(wanted, part.leader)
    leader = part.leader if is_kept else first_in_order(part.target, preferred(part, settings, part.isr & part.unfenced & wanted))
    keep_replicas(lists, inputs, part, replicas, settings, has_elr, wanted, part.isr & wanted, leader, ELECTION)
    tell_completed(lists, part, replicas)


@compiled
def cancel_reassignment(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int
) -> int:
    """Who was added goes, who was to be removed stays. Returns 1 for an unclean election.

    If none of those who stay is in the ISR it needs unclean elections; the first of them is the ISR then
    (PartitionReassignmentRevert), and gives up what it lacks whenever it leads.
    """
    kept = part.assigned & ~part.adding
    isr = part.isr & kept
    if part.target == 0 or (isr == 0 and not settings.unclean_election):
        return 0
    is_forced = isr == 0
    if is_forced:
        isr = 1 << first_in_order(part.order, kept)
    leader, is_anybody = part.leader, False
    if not has(isr & part.unfenced, leader):
        leader = first_in_order(part.order, preferred(part, settings, isr & part.unfenced))
        if leader == NOBODY and settings.unclean_election and (not has_elr or settings.recovery == NO_STRATEGY):
            leader = first_in_order(part.order, part.unfenced & kept)
            is_anybody = leader != NOBODY
            if is_anybody:
                isr = 1 << leader
    is_unclean = leader not in (NOBODY, part.leader) and (is_forced or is_anybody)
    part.target = order_within(part.order, kept)
    kind = UNCLEAN_ELECTION if is_unclean else ELECTION
    keep_replicas(lists, inputs, part, replicas, settings, has_elr, kept, isr, leader, kind)
    if is_anybody:
        part.elr = 0
    if leader != NOBODY and settings.recovery == NO_STRATEGY:
        part.last_known_elr = 0
    part.unclean_elections += is_unclean
    if is_forced and leader == NOBODY:
        part.isr_is_forced = 1
    return int(is_unclean)


@compiled
def keep_replicas(
    lists: Lists,
    inputs: Inputs,
    part: Partition,
    replicas: Rows[Replica],
    settings: Settings,
    has_elr: int,
    kept: int,
    isr: int,
    leader: int,
    kind: int,
) -> None:
    """The reassignment is over: these replicas hold in the order of `target`, with this ISR and leader."""
    dropped = part.assigned & ~kept
    change_isr(part, settings, has_elr, isr, kept)
    part.assigned = kept
    part.order = part.target
    part.target = 0
    part.adding = 0
    part.pending_joins &= kept
    part.pending_shrinks &= kept
    if dropped or leader != part.leader:
        part.epoch += 1
        if leader != NOBODY:
            part.elections += 1
            tell(lists, part, kind, replicas[leader].broker, part.epoch, replicas[leader].leo, UNKNOWN, -1)
        elif part.leader != NOBODY:
            lost = replicas[part.leader]
            tell(lists, part, LEADER_LOST, lost.broker, part.epoch, UNKNOWN, UNKNOWN, lost.cause)
        part.leader = leader
    for slot in range(part.slots):
        if has(dropped, slot):
            settle_traffic(lists, inputs, part, replicas, slot, part.now)
            drop_replica(replicas[slot])


@compiled
def tell_completed(lists: Lists, part: Partition, replicas: Rows[Replica]) -> None:
    """The partition has its new replicas."""
    if part.leader != NOBODY:
        tell(lists, part, REASSIGNMENT_COMPLETED, replicas[part.leader].broker, part.epoch, UNKNOWN, UNKNOWN, -1)


@compiled
def drop_replica(replica: Replica) -> None:
    """The broker is no replica any more: its log goes, and what anybody knew of it."""
    empty_log(replica)
    replica.leading_epoch = NO_EPOCH
    replica.believed_leader = NOBODY
    replica.believed_epoch = NO_EPOCH
    replica.truncating = 0
    replica.remote_leo = UNKNOWN
    replica.in_line = 0
    replica.caught_up = NEVER
    replica.noted_round = NEVER
    replica.noted_leader_leo = UNKNOWN
    replica.impaired = 0
    replica.compares = 1
