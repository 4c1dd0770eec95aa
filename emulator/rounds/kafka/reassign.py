"""Reassignments, of step 2: a partition gets other replicas, and lets go of the old ones when the new ones are in the ISR."""

from __future__ import annotations

from emulator.compiled import compiled
from emulator.rounds.kafka.constants import (
    ELECTION,
    LEADER_LOST,
    NEVER,
    NO_EPOCH,
    NOBODY,
    REASSIGN,
    REASSIGNMENT_COMPLETED,
    UNKNOWN,
)
from emulator.rounds.kafka.eligible_leaders import change_isr
from emulator.rounds.kafka.input_records import Inputs, Settings
from emulator.rounds.kafka.log import empty_log
from emulator.rounds.kafka.records import Lists, Partition, Replica
from emulator.rounds.kafka.tell import tell
from emulator.rounds.kafka.tier.local_leaders import preferred
from emulator.rounds.kafka.traffic import settle_traffic
from emulator.rounds.records import Rows
from emulator.rounds.slots import first_in_order, has, order_with_rest, slots_in


@compiled
def begin_reassignment(inputs: Inputs, part: Partition) -> None:
    """A `reassign` command of this round, the last if there are several: what it adds starts empty, out of the ISR."""
    part.adds_replicas = 0
    target = 0
    for at in range(part.command - part.commands_now, part.command):
        if inputs.commands[at].kind == REASSIGN:
            target = inputs.commands[at].order
    if target == 0:
        return
    wanted = slots_in(target)
    part.adding = wanted & ~(part.assigned & ~part.adding)
    part.adds_replicas = part.adding
    part.target = target
    part.assigned |= wanted
    part.order = order_with_rest(target, part.order)


@compiled
def complete_reassignment(
    lists: Lists, inputs: Inputs, part: Partition, replicas: Rows[Replica], settings: Settings, has_elr: int
) -> None:
    """All that is added is in the ISR: the new list holds, who is not on it loses its log at once.

    A new epoch if that drops a replica or changes the leader (PartitionChangeBuilder).
    """
    wanted = slots_in(part.target)
    if part.target == 0 or part.adding & ~part.isr or not part.isr & wanted:
        return
    dropped = part.assigned & ~wanted
    is_kept = has(wanted, part.leader)
    leader = part.leader if is_kept else first_in_order(part.target, preferred(part, settings, part.isr & part.unfenced & wanted))
    change_isr(part, settings, has_elr, part.isr & wanted, wanted)
    part.assigned = wanted
    part.order = part.target
    part.target = 0
    part.adding = 0
    if dropped or not is_kept:
        part.epoch += 1
        if leader != NOBODY:
            part.elections += 1
            tell(lists, part, ELECTION, replicas[leader].broker, part.epoch, replicas[leader].leo, UNKNOWN, -1)
        elif part.leader != NOBODY and part.leader_at_start != NOBODY:
            lost = replicas[part.leader_at_start]
            tell(lists, part, LEADER_LOST, lost.broker, part.epoch, UNKNOWN, UNKNOWN, lost.cause)
        part.leader = leader
    if leader != NOBODY:
        tell(lists, part, REASSIGNMENT_COMPLETED, replicas[leader].broker, part.epoch, UNKNOWN, UNKNOWN, -1)
    for slot in range(part.slots):
        if has(dropped, slot):
            settle_traffic(lists, inputs, part, replicas, slot)
            drop_replica(replicas[slot])


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
